"""Where the keys of the due index stand: DynamoDB hashes each onto a partition, which bounds all of its keys together.

The hash is DynamoDB's own, so another one stands for it. A key holds the UTC day: midnight places all of them anew.
So what a stage carries is judged by a thousand days, of which the fullest partition tells.
"""

import hashlib
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from bench.scale.limits import PARTITION_READS, PARTITION_WRITES
from timeball.aws.dynamodb.table.keys import due_bucket
from timeball.domain.model.ids import JobKey, shard_of
from timeball.domain.time.instants import DAY_MS

DAYS = 1_000
"""How many placements are reckoned."""
PROMISED = 998
"""The rank, from 0, of the placement that 999 of the thousand are no fuller than: what is promised holds there."""
MEDIAN = 499

_JOBS = 100_000
"""Of so many jobs it is counted how they fall on shards, and on the partitions of the table."""
_FIRST_DAY_AT = 20_000 * DAY_MS


def partitions_of(writes: float, reads: float) -> int:
    """Return how many partitions carry so many units a second: the fewest that can."""
    return math.ceil(max(writes / PARTITION_WRITES, reads / PARTITION_READS))


@dataclass(frozen=True)
class Placement:
    """The partition of each shard's key on one day, and the share of all units that each partition has."""

    of_shard: tuple[int, ...]
    shares: tuple[float, ...]

    @property
    def fullest(self) -> float:
        """The share of the fullest partition."""
        return max(self.shares)

    def keys(self) -> Mapping[int, int]:
        """Count the keys of each partition."""
        return Counter(self.of_shard)

    def sample(self, part: int) -> Sequence[int]:
        """Return each so many'th shard, those of the fullest partition first: a part that is like the whole."""
        return sorted(range(len(self.of_shard)), key=lambda shard: -self.shares[self.of_shard[shard]])[::part]


@cache
def placements(shards: int, partitions: int) -> Sequence[Placement]:
    """Return the placements of a thousand days, the fullest last."""
    weights = _weights(shards)
    days = [_placed(day, weights, partitions) for day in range(DAYS)]
    return sorted(days, key=lambda one: one.fullest)


@cache
def fullest_of_table(partitions: int) -> float:
    """Return the share of the table's fullest partition: rows of a job stand together, and jobs are many."""
    counts = Counter(partition_of(key.job_id, partitions) for key in _keys())
    return max(counts.values()) / _JOBS


def partition_of(key: str, partitions: int) -> int:
    """Return the partition of a key, by another hash than that of the shards."""
    return int.from_bytes(hashlib.blake2b(key.encode(), digest_size=8, person=b"partition").digest()) % partitions


def _placed(day: int, weights: Sequence[float], partitions: int) -> Placement:
    at = _FIRST_DAY_AT + day * DAY_MS
    of_shard = tuple(partition_of(due_bucket(shard, at), partitions) for shard in range(len(weights)))
    shares = [0.0] * partitions
    for partition, weight in zip(of_shard, weights, strict=True):
        shares[partition] += weight
    return Placement(of_shard, tuple(shares))


@cache
def _weights(shards: int) -> tuple[float, ...]:
    """Return the share of each shard, of many jobs."""
    counts = Counter(shard_of(key, shards) for key in _keys())
    return tuple(counts[shard] / _JOBS for shard in range(shards))


@cache
def _keys() -> tuple[JobKey, ...]:
    return tuple(JobKey("tenant", f"job-{number}") for number in range(_JOBS))
