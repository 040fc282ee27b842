"""Which hours of the due index a scan asks for. Nothing that was ever written there is out of its reach.

An entry stands in the hour of its due time, or of its writing if that is later. The open hours are asked each time,
the closed ones back to a shard's cursor once a minute, or at once if one had more than a page; two days before the
cursor once an hour. A cursor moves only over hours that were found empty and have been over for ten minutes, so an
index that lags loses nothing.

What cannot be worked on stands at the head of its hour, and hides nothing: the next page of that hour is longer by it.
An hour that has more than a page is asked from its other end too: what has only just come near is not behind the rest.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from timeball.domain.instants import HOUR_MS, MINUTE_MS
from timeball.ports.due_index import DuePage, DueQuery, Owned
from timeball.ports.partitions import Owner

PAGE = 250
"""Entries of one shard and hour that one scan takes, beside those that failed before."""

_MAX_PAGE = 2_000
"""How many keys fit into the megabyte of one answer at the least."""

_STILL_OPEN_MS = 2 * MINUTE_MS
_SETTLED_MS = 10 * MINUTE_MS
_BACK_HOURS = 48
_MAX_CLOSED = 96


@dataclass
class Sweeps:
    """What this process remembers of its last looks. A new one remembers nothing, and looks.

    `closed_at` and `back_at`: when it looked at closed hours, by shard (ms). `failed`: what could not be worked on when
    its hour was last asked, by shard and hour. `owned`: the owner for whom it last took a partition, and when (ms).
    """

    closed_at: dict[int, int] = field(default_factory=dict)
    back_at: dict[int, int] = field(default_factory=dict)
    failed: dict[tuple[int, int], frozenset[Owned]] = field(default_factory=dict)
    owned: dict[int, tuple[Owner, int]] = field(default_factory=dict)


@dataclass(frozen=True)
class Look:
    """What to ask of one shard: `open` hours, and `closed` ones in order, if it `sweeps`. `cut`: there are more."""

    shard: int
    open: tuple[DueQuery, ...]
    closed: tuple[DueQuery, ...] = ()
    sweeps: bool = False
    cut: bool = False


def hour_of(at: int) -> int:
    """Return the start of the UTC hour of an instant, in ms."""
    return at - at % HOUR_MS


def needs_cursor(shard: int, sweeps: Sweeps, now: int) -> bool:
    """Say whether it is time to ask for the closed hours of a shard."""
    return now - sweeps.closed_at.get(shard, 0) >= MINUTE_MS


def look(shard: int, oldest_hour_at: int | None, sweeps: Sweeps, now: int, horizon_at: int) -> Look:
    """Decide which hours of a shard to ask for now; a shard without a cursor is asked two days back."""
    first_open = hour_of(now - _STILL_OPEN_MS)
    opened = tuple(_queries(shard, first_open, hour_of(horizon_at), horizon_at, sweeps))
    if not needs_cursor(shard, sweeps, now):
        return Look(shard, opened)
    oldest = first_open - _BACK_HOURS * HOUR_MS if oldest_hour_at is None else min(oldest_hour_at, first_open)
    if oldest_hour_at is not None and now - sweeps.back_at.get(shard, 0) >= HOUR_MS:
        oldest -= _BACK_HOURS * HOUR_MS
    closed = tuple(_queries(shard, max(oldest, 0), first_open - HOUR_MS, horizon_at, sweeps))
    return Look(shard, opened, closed[:_MAX_CLOSED], sweeps=True, cut=len(closed) > _MAX_CLOSED)


def looked(look: Look, pages: Sequence[DuePage], oldest_hour_at: int | None, sweeps: Sweeps, now: int) -> int | None:
    """Note that a look's closed hours were answered with `pages`; return where the cursor may move to, or None."""
    if not look.sweeps:
        return None
    if not look.cut:
        if not any(page.full for page in pages):
            sweeps.closed_at[look.shard] = now
        sweeps.back_at[look.shard] = max(sweeps.back_at.get(look.shard, 0), hour_of(now))
    moved: int | None = None
    for query, page in zip(look.closed, pages, strict=True):
        if oldest_hour_at is not None and query.hour_at < oldest_hour_at and not page.candidates:
            continue
        if page.candidates or page.full or query.hour_at + HOUR_MS + _SETTLED_MS > now:
            break
        moved = query.hour_at + HOUR_MS
    return moved if oldest_hour_at is None or (moved or 0) > oldest_hour_at else None


def other_ends(queries: Sequence[DueQuery], pages: Sequence[DuePage]) -> list[DueQuery]:
    """Return what to ask of the hours whose first page was full: what is due last there, within the look-ahead."""
    return [replace(query, latest_first=True) for query, page in zip(queries, pages, strict=True) if page.full]


def note_failed(asked: Sequence[tuple[DueQuery, DuePage]], failed: frozenset[Owned], sweeps: Sweeps) -> None:
    """Note which candidates of the hours that were asked could not be worked on."""
    for query, _ in asked:
        sweeps.failed.pop((query.shard, query.hour_at), None)
    for query, page in asked:
        left = failed.intersection(page.candidates)
        if left:
            hour = query.shard, query.hour_at
            sweeps.failed[hour] = sweeps.failed.get(hour, frozenset()) | left


def _queries(shard: int, first_hour_at: int, last_hour_at: int, through_at: int, sweeps: Sweeps) -> Iterator[DueQuery]:
    for hour_at in range(first_hour_at, last_hour_at + 1, HOUR_MS):
        failed = sweeps.failed.get((shard, hour_at), frozenset())
        yield DueQuery(shard, hour_at, through_at, min(PAGE + len(failed), _MAX_PAGE))
