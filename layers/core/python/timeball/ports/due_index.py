"""The due index: what waits for a time, and how far back there may be any of it. It only nominates."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from timeball.domain.model.ids import BackfillKey, JobKey, OperationKey, RunId

Owned = JobKey | RunId | BackfillKey | OperationKey
"""What may stand in the due index."""


@dataclass(frozen=True)
class DueQuery:
    """The entries of one shard in one UTC day (ms of its start) that are due through `through_at`, earliest first.

    `latest_first` turns the order round.
    """

    shard: int
    day_at: int
    through_at: int
    limit: int
    latest_first: bool = False


@dataclass(frozen=True)
class DuePage:
    """What a due query nominates, and whether it stopped at its limit."""

    candidates: tuple[Owned, ...]
    full: bool


class DueIndex(Protocol):
    """The entries of all shards, and the shards' oldest days."""

    def query(self, queries: Sequence[DueQuery]) -> list[DuePage]:
        """Answer each query. The index may lag: what it says only nominates."""

    def read_oldest_days(self, shards: Sequence[int]) -> dict[int, int]:
        """Return the oldest day (ms of its start) that may still hold due entries, of each shard of which one is known.

        It may be that of some seconds ago, which is never a later one.
        """

    def move_oldest_day(self, shard: int, oldest_day_at: int) -> None:
        """Let a shard's oldest day be a later one; it never moves back."""
