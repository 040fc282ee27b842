"""The placement of the due index's keys: DynamoDB hashes each onto a partition, which bounds all of its keys together.

DynamoDB's hash is unknown, so another one replaces it. A key contains the UTC day, so midnight places all keys anew. A
stage is therefore judged by a thousand days, by their fullest partitions.
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
"""The number of placements."""
PROMISED = 998
"""The rank, from 0, of the placement that 999 of the thousand do not exceed; promises hold there."""
MEDIAN = 499

_JOBS = 100_000
"""The number of jobs with which shares of shards, and of the table's partitions, are counted."""
_FIRST_DAY_AT = 20_000 * DAY_MS


def partitions_of(writes: float, reads: float) -> int:
    """Return the fewest partitions that carry so many units a second."""
    return math.ceil(max(writes / PARTITION_WRITES, reads / PARTITION_READS))


@dataclass(frozen=True)
class Placement:
    """The partition of each shard's key on one day, and the share of all units that each partition gets."""

    of_shard: tuple[int, ...]
    shares: tuple[float, ...]

    @property
    def fullest(self) -> float:
        """Return the share of the fullest partition."""
        return max(self.shares)

    def keys(self) -> Mapping[int, int]:
        """Count the keys of each partition."""
        return Counter(self.of_shard)

    def sample(self, part: int) -> Sequence[int]:
        """Return every `part`-th shard, those of the fullest partition first, as a sample of the whole."""
        return sorted(range(len(self.of_shard)), key=lambda shard: -self.shares[self.of_shard[shard]])[::part]


@cache
def placements(shards: int, partitions: int) -> Sequence[Placement]:
    """Return the placements of a thousand days, the fullest last."""
    weights = _weights(shards)
    days = [_placed(day, weights, partitions) for day in range(DAYS)]
    return sorted(days, key=lambda one: one.fullest)


@cache
def fullest_of_table(partitions: int) -> float:
    """Return the share of the table's fullest partition: a job's rows have one partition, and there are many jobs."""
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
    """Return the share of each shard, for many jobs."""
    counts = Counter(shard_of(key, shards) for key in _keys())
    return tuple(counts[shard] / _JOBS for shard in range(shards))


@cache
def _keys() -> tuple[JobKey, ...]:
    return tuple(JobKey("tenant", f"job-{number}") for number in range(_JOBS))
