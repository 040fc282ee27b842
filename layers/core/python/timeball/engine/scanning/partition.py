"""A scan's reads about its partition: whether its owner still drives it, and how many shards there are in all."""

from timeball.domain.time.instants import MINUTE_MS
from timeball.engine.context import Context
from timeball.engine.scanning.buckets import Sweeps
from timeball.ports.registers.partitions import Owner

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


def all_shards(context: Context, sweeps: Sweeps, now: int) -> int:
    """Return how many shards may hold entries: the greatest number that any deployment had, read once a minute.

    A job stays in its shard, so a deployment with fewer shards also scans those of earlier deployments.
    """
    if sweeps.shards < context.rules.shards or now >= sweeps.shards_read_at + MINUTE_MS:
        sweeps.shards, sweeps.shards_read_at = context.store.due.most_shards(context.rules.shards), now
    return sweeps.shards
