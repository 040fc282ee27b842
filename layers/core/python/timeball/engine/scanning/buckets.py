"""Which buckets of the due index a scan asks. Nothing that was ever written there is out of its reach.

An entry stands in the bucket of the UTC day of its due time, or of its writing if that is later. The open days are
asked in each scan: today, and around midnight its neighbour. The older ones are asked once a minute, in passes from a
shard's oldest day on, a few in each scan. A day is drained when it is found empty an hour after its end; the oldest day
moves over drained days alone. By then nobody lives who could still write there, and an index that lags has caught up.

While nothing was found for a minute, the open days are asked in every third scan alone, and so much further ahead:
what stands there is found no later for that, and only what is written meanwhile waits up to two seconds more.

What cannot be worked on stands at the head of its bucket, and hides nothing: a pass goes on behind it, and a bucket
that has more than a page is read on (shares.py).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from timeball.domain.time.instants import DAY_MS, HOUR_MS, MINUTE_MS
from timeball.ports.registers.due_index import DuePage, DueQuery, Owned, Place
from timeball.ports.registers.partitions import Owner

PAGE = 250
"""Entries of one bucket that one scan takes, beside those that failed before."""

_STILL_OPEN_MS = 2 * MINUTE_MS
_DRAINED_AFTER_MS = HOUR_MS
"""Longer than an invocation lives, which takes the day from its clock, and the index lags."""
_MAX_DAYS = 4
"""Of one shard, in one scan."""
_IDLE_AFTER_MS = MINUTE_MS
_REST_MS = 2_500
"""So that of scans that come each second, some ms early or late, each third one asks."""
_FURTHER_MS = 2_000
"""How much further such a scan looks: for so long the next ones do not."""
_UNKNOWN_DAYS = 31
"""How far back a shard is asked of which no oldest day is stored: none of its days was ever found drained."""


@dataclass
class Older:
    """A pass over a shard's older days, which are drained before `oldest_at`; it goes on at `next_at` (ms).

    It began at `begun_at`. `is_busy`: it found what may be worked on, so the next one follows at once.
    """

    oldest_at: int
    next_at: int
    begun_at: int
    is_busy: bool = False


@dataclass
class Sweeps:
    """What this process remembers of its scans. A new one remembers nothing, and asks.

    `older`: its passes, by shard. `failed`: what could not be worked on when its bucket was last asked, by shard and
    day. `places`: where it stopped reading buckets on. `turns`: the last tenant that had a turn in a bucket of more
    tenants than a page has room for. `owned`: the owner for whom it last took a partition, and when (ms). `found_at`:
    when it last found anything, or began; `looked_at`: when it last asked the open days. `shards`: the greatest number
    of shards that was ever used, read at `shards_read_at` (ms).
    """

    older: dict[int, Older] = field(default_factory=dict)
    failed: dict[tuple[int, int], frozenset[Owned]] = field(default_factory=dict)
    places: dict[tuple[int, int], Place] = field(default_factory=dict)
    turns: dict[tuple[int, int], str] = field(default_factory=dict)
    owned: dict[int, tuple[Owner, int]] = field(default_factory=dict)
    found_at: int | None = None
    looked_at: int = 0
    shards: int = 0
    shards_read_at: int = 0


def day_of(at: int) -> int:
    """Return the start of the UTC day of an instant, in ms."""
    return at - at % DAY_MS


def begin(sweeps: Sweeps, shard: int, oldest_day_at: int | None, now: int) -> None:
    """Begin a process's first pass over a shard's older days, from the oldest that is stored."""
    oldest_at = day_of(now) - _UNKNOWN_DAYS * DAY_MS if oldest_day_at is None else oldest_day_at
    sweeps.older[shard] = Older(oldest_at, oldest_at, now)


def open_through(sweeps: Sweeps, now: int, horizon_at: int) -> int | None:
    """Return through when (ms) a scan asks the open days; None: it leaves them out, for it found nothing of late."""
    if sweeps.found_at is None:
        sweeps.found_at = now
    is_idle = now >= sweeps.found_at + _IDLE_AFTER_MS
    if is_idle and now < sweeps.looked_at + _REST_MS:
        return None
    sweeps.looked_at = now
    return horizon_at + _FURTHER_MS if is_idle else horizon_at


def to_ask(sweeps: Sweeps, shard: int, now: int, horizon_at: int, through_at: int | None) -> list[DueQuery]:
    """Return what to ask of a shard now: its open days, through an instant or not at all, and the next older ones."""
    first_open = day_of(now - _STILL_OPEN_MS)
    older = sweeps.older[shard]
    if older.next_at >= first_open and (older.is_busy or now >= older.begun_at + MINUTE_MS):
        older = sweeps.older[shard] = Older(older.oldest_at, older.oldest_at, now)
    days = [] if through_at is None else [*range(first_open, through_at + 1, DAY_MS)]
    queries = [DueQuery(shard, day_at, through_at or 0, PAGE) for day_at in days]
    older_days = range(older.next_at, first_open, DAY_MS)[: _MAX_DAYS - len(days)]
    return queries + [DueQuery(shard, day_at, horizon_at, PAGE) for day_at in older_days]


def note_pages(sweeps: Sweeps, asked: Iterable[tuple[DueQuery, DuePage]], now: int) -> dict[int, int]:
    """Note how far the passes have come; return the oldest day of each shard of which days are drained."""
    moved: dict[int, int] = {}
    for query, page in asked:
        if page.candidates:
            sweeps.found_at = now
        shard, day_at, older = query.shard, query.day_at, sweeps.older[query.shard]
        if day_at >= day_of(now - _STILL_OPEN_MS):
            continue
        older.next_at = day_at + DAY_MS
        older.is_busy |= not sweeps.failed.get((shard, day_at), frozenset()).issuperset(page.candidates)
        is_drained = not page.candidates and now >= day_at + DAY_MS + _DRAINED_AFTER_MS
        if is_drained and day_at == older.oldest_at:
            older.oldest_at = moved[shard] = day_at + DAY_MS
    return moved


def note_failed(sweeps: Sweeps, asked: Sequence[tuple[DueQuery, DuePage]], failed: frozenset[Owned]) -> None:
    """Note which candidates of the buckets that were asked could not be worked on."""
    for query, _ in asked:
        sweeps.failed.pop(query.bucket, None)
    for query, page in asked:
        left = failed.intersection(page.candidates)
        if left:
            sweeps.failed[query.bucket] = sweeps.failed.get(query.bucket, frozenset()) | left


def shards_of(partition: int, partitions: int, shards: int) -> range:
    """Return the shards of one of so many partitions, which share all of them."""
    return range(partition, shards, partitions)
