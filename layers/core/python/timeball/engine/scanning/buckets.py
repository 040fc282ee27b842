"""Decide which buckets of the due index a scan queries. Every entry that was ever written is within its reach.

An entry is in the bucket of the UTC day of its due time, or of its write if that is later. Each scan queries the open
days: today, and around midnight its neighbour. Older days are queried once a minute, in passes from a shard's oldest
day on, a few in each scan. A day is drained when it is found empty an hour after its end; the oldest day moves over
drained days alone. By then no process is left that could still write there, and a lagging index has caught up.

If nothing was found for a minute, a scan queries the open days at most every third second, looks that much further
ahead, and asks the ticker for the next scan three seconds later. Entries that exist are found no later because of that;
only new entries wait up to two seconds more.

Entries that cannot be processed are at the head of their bucket and hide nothing: a pass continues after them, and a
bucket with more than a page is read further (shares.py). A scan reads two more things: whether its owner still drives
the partition, and how many shards there are in all.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from timeball.domain.time.instants import DAY_MS, HOUR_MS, LATEST, MINUTE_MS
from timeball.engine.context import Context
from timeball.ports.due_index import DueCursor, DuePage, DueQuery, Owned, Owner

PAGE = 250
"""How many entries of one bucket one scan takes, beside those that failed before."""

_STILL_OPEN_MS = 2 * MINUTE_MS
_DRAINED_AFTER_MS = HOUR_MS
"""Longer than an invocation, which takes the day from its clock, and longer than the index lags."""

_MAX_DAYS = 4
"""How many days of one shard one scan queries."""

_IDLE_AFTER_MS = MINUTE_MS
_REST_MS = 2_500
"""An idle process queries again after this time at the earliest: at the third tick, which may come some ms early."""

_FURTHER_MS = 2_000
"""How much further such a scan looks ahead, because the next scans do not query."""

_UNKNOWN_DAYS = 31
"""How many days back a shard without a stored oldest day is queried: none of its days was ever found drained."""


@dataclass
class Older:
    """A pass over a shard's older days."""

    oldest_at: int
    """The oldest day that may hold entries (ms): the days before it are drained."""
    next_at: int
    """The day at which the pass continues (ms)."""
    begun_at: int
    """When it began (ms)."""
    is_busy: bool = False
    """It found entries that can be processed, so the next pass follows at once."""


@dataclass
class Sweeps:
    """What this process remembers of its scans. A new process remembers nothing, and queries."""

    older: dict[int, Older] = field(default_factory=dict)
    """Its passes, by shard."""
    failed: dict[tuple[int, int], frozenset[Owned]] = field(default_factory=dict)
    """The entries that could not be processed when their bucket was last queried, by shard and day."""
    cursors: dict[tuple[int, int], DueCursor] = field(default_factory=dict)
    """Where it stopped reading a full bucket."""
    last_served: dict[tuple[int, int], str] = field(default_factory=dict)
    """The last tenant that was served in a bucket with more tenants than fit in a page."""
    owned: dict[int, tuple[Owner, int]] = field(default_factory=dict)
    """The owner for which it last took a partition, and when (ms)."""
    found_at: int | None = None
    """When it last found anything, or began (ms)."""
    queried_at: dict[int, int] = field(default_factory=dict)
    """When it last queried the open days of each partition (ms)."""
    shards: int = 0
    """The greatest number of shards that was ever used."""
    shards_read_at: int = 0
    """When that number was read (ms)."""


def day_of(at: int) -> int:
    """Return the start of the UTC day of an instant, in ms."""
    return at - at % DAY_MS


def begin(sweeps: Sweeps, shard: int, oldest_day_at: int | None, now: int) -> None:
    """Begin a process's first pass over a shard's older days, at the stored oldest day."""
    oldest_at = day_of(now) - _UNKNOWN_DAYS * DAY_MS if oldest_day_at is None else oldest_day_at
    sweeps.older[shard] = Older(oldest_at, oldest_at, now)


def open_through(sweeps: Sweeps, partition: int, now: int, horizon_at: int) -> int | None:
    """Return through when (ms) a scan queries the open days; None to omit them, because it found nothing lately."""
    if sweeps.found_at is None:
        sweeps.found_at = now
    if not is_idle(sweeps, now):
        sweeps.queried_at[partition] = now
        return horizon_at
    if now < sweeps.queried_at.get(partition, 0) + _REST_MS:
        return None
    sweeps.queried_at[partition] = now
    return horizon_at + _FURTHER_MS


def is_idle(sweeps: Sweeps, now: int) -> bool:
    """Return whether this process has found nothing for a minute, so that its scans may be three seconds apart."""
    return sweeps.found_at is not None and now >= sweeps.found_at + _IDLE_AFTER_MS


def may_rest(sweeps: Sweeps, partition: int, now: int) -> bool:
    """Return whether a scan that began now (ms) queried for the next two as well, which may be left out."""
    return sweeps.queried_at.get(partition) == now and is_idle(sweeps, now)


def to_ask(sweeps: Sweeps, shard: int, now: int, horizon_at: int, through_at: int | None) -> list[DueQuery]:
    """Return the queries for a shard now: its open days through `through_at`, if any, and the next older days."""
    first_open = day_of(now - _STILL_OPEN_MS)
    older = sweeps.older[shard]
    if older.next_at >= first_open and (older.is_busy or now >= older.begun_at + MINUTE_MS):
        older = sweeps.older[shard] = Older(older.oldest_at, older.oldest_at, now)
    days = [] if through_at is None else [*range(first_open, through_at + 1, DAY_MS)]
    queries = [DueQuery(shard, day_at, through_at or 0, PAGE) for day_at in days]
    older_days = range(older.next_at, first_open, DAY_MS)[: _MAX_DAYS - len(days)]
    return queries + [DueQuery(shard, day_at, horizon_at, PAGE) for day_at in older_days]


def note_pages(sweeps: Sweeps, asked: Iterable[tuple[DueQuery, DuePage]], now: int) -> dict[int, int]:
    """Note how far the passes have come; return the new oldest day of each shard with drained days."""
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
    """Note which candidates of the queried buckets could not be processed."""
    for query, _ in asked:
        sweeps.failed.pop(query.bucket, None)
    for query, page in asked:
        left = failed.intersection(page.candidates)
        if left:
            sweeps.failed[query.bucket] = sweeps.failed.get(query.bucket, frozenset()) | left


def shards_of(partition: int, partitions: int, shards: int) -> range:
    """Return the shards of a partition, if `partitions` partitions share all shards."""
    return range(partition, shards, partitions)


_OWNED_MS = 2_000
"""How long a process assumes that no newer owner has taken its partition: for so long two may do the same work."""


def is_owner(context: Context, partition: int, owner: Owner, sweeps: Sweeps) -> bool:
    """Take the partition for its owner, unless a newer one ticks. Asks the store at most every two seconds."""
    now = context.clock.now()
    last, taken_at = sweeps.owned.get(partition, (owner, -_OWNED_MS))
    if last >= owner and now < taken_at + _OWNED_MS:
        return last == owner
    if not context.store.partitions.take(partition, owner, now):
        return False
    sweeps.owned[partition] = (owner, now)
    return True


@contextmanager
def noting_ticks(sweeps: Sweeps, partition: int, owner: Owner) -> Iterator[None]:
    """Scan a partition for its owner. While its scans fail, the owner notes no more ticks, so the partition is silent.

    Other loops may then take it over, which is wasted and harmless. The scan after a failed one queries.
    """
    try:
        yield
    except Exception:
        sweeps.owned[partition] = (owner, LATEST)
        sweeps.queried_at.pop(partition, None)
        raise
    if partition in sweeps.owned and sweeps.owned[partition][1] == LATEST:
        del sweeps.owned[partition]


def all_shards(context: Context, sweeps: Sweeps, now: int) -> int:
    """Return how many shards may hold entries: the greatest number that any deployment had, read once a minute.

    A job stays in its shard, so a deployment with fewer shards also scans those of earlier deployments.
    """
    if sweeps.shards < context.rules.shards or now >= sweeps.shards_read_at + MINUTE_MS:
        sweeps.shards, sweeps.shards_read_at = context.store.due.most_shards(context.rules.shards), now
    return sweeps.shards
