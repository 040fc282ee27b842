"""The due index: what waits for a time, and how far back there may be any of it. It only nominates."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from timeball.domain.model.ids import BackfillKey, JobKey, LimiterKey, OperationKey, RunId

Owned = JobKey | RunId | BackfillKey | OperationKey | LimiterKey
"""What may stand in the due index."""

MAX_LEFT_OUT = 90
"""How many tenants a query may leave out."""


def tenant_of(owned: Owned) -> str:
    """Return whose it is."""
    return owned.tenant if isinstance(owned, JobKey | OperationKey | LimiterKey) else owned.job.tenant


@dataclass(frozen=True)
class Place:
    """Where a page stopped: behind this entry, which may be gone by now. The entries of an instant have an order."""

    due_at: int
    owned: Owned


@dataclass(frozen=True)
class DueQuery:
    """The entries of one shard in one UTC day (ms of its start) that are due through `through_at`, earliest first.

    Examines `limit` of them at most, from `after` on. Those of tenants that are `left_out` are examined, and not told.
    """

    shard: int
    day_at: int
    through_at: int
    limit: int
    after: Place | None = None
    left_out: frozenset[str] = frozenset()

    @property
    def bucket(self) -> tuple[int, int]:
        """Return the shard and the day."""
        return self.shard, self.day_at


@dataclass(frozen=True)
class DuePage:
    """What a due query nominates, and where it stopped; None: at the bucket's end."""

    candidates: tuple[Owned, ...]
    stopped: Place | None = None


class DueIndex(Protocol):
    """The entries of all shards, the shards' oldest days, and how many shards there are."""

    def query(self, queries: Sequence[DueQuery]) -> list[DuePage]:
        """Answer each query. The index may lag: what it says only nominates."""

    def ahead(self, shard: int, first_at: int, last_at: int, most: int) -> list[int]:
        """Return at which instants (ms), of a stretch that is to come, a shard has entries due: earliest first.

        Of some more than `most`, the later ones may be left out.
        """

    def read_oldest_days(self, shards: Sequence[int]) -> dict[int, int]:
        """Return the oldest day (ms of its start) that may still hold due entries, of each shard of which one is known.

        It may be that of some seconds ago, which is never a later one.
        """

    def move_oldest_day(self, shard: int, oldest_day_at: int) -> None:
        """Let a shard's oldest day be a later one; it never moves back."""

    def most_shards(self, shards: int) -> int:
        """Keep a number of shards if it is greater than what is kept; return the greatest, which never falls.

        It may be the number of some seconds ago.
        """
