"""The due index: what waits for a time, and how far back there may be any of it. It only nominates."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from timeball.domain.ids import BackfillKey, JobKey, RunId

Owned = JobKey | RunId | BackfillKey
"""What may stand in the due index."""


@dataclass(frozen=True)
class DueQuery:
    """The entries of one shard in one UTC hour (ms of its start) that are due through `through_at`, earliest first.

    `latest_first` turns the order round.
    """

    shard: int
    hour_at: int
    through_at: int
    limit: int
    latest_first: bool = False


@dataclass(frozen=True)
class DuePage:
    """What a due query nominates, and whether it stopped at its limit."""

    candidates: tuple[Owned, ...]
    full: bool


class DueIndex(Protocol):
    """The entries of all shards, and the shards' cursors."""

    def query(self, queries: Sequence[DueQuery]) -> list[DuePage]:
        """Answer each query. The index may lag: what it says only nominates."""

    def cursors(self, shards: Sequence[int]) -> dict[int, int]:
        """Return, for each shard that has a cursor, the oldest hour (ms) that may still hold due entries.

        It may be where a cursor stood some seconds ago, which is never further on.
        """

    def move_cursor(self, shard: int, oldest_hour_at: int) -> None:
        """Move a shard's cursor forward; a cursor never moves back."""
