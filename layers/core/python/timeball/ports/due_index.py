"""The due index: everything that waits for a time, and how far back such entries may lie. It only nominates.

It has partitions, and an execution of the ticker drives each. The newest execution owns a partition for as long as it
ticks. If it stops, an older one that still stands by continues, until a newer one ticks again. Two may do the same work
for some seconds, which is wasted but harmless.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from timeball.domain.model.ids import BackfillKey, JobKey, LimiterKey, OperationKey, RunId
from timeball.domain.time.instants import SECOND_MS

Owned = JobKey | RunId | BackfillKey | OperationKey | LimiterKey
"""The names of rows that may have an entry in the due index."""

MAX_LEFT_OUT = 90
"""The most tenants that a query may leave out."""
BEAT_MS = 5 * SECOND_MS
"""How often an owner notes that it ticks: each note is a write."""
SILENCE_MS = 8 * SECOND_MS
"""How long after its last note an owner counts as dead: one note may be late by a few seconds."""


def tenant_of(owned: Owned) -> str:
    """Return the tenant of a name."""
    return owned.tenant if isinstance(owned, JobKey | OperationKey | LimiterKey) else owned.job.tenant


@dataclass(frozen=True)
class DueCursor:
    """The position after which a page continues. Its entry may be gone by now. Entries of one instant have an order."""

    due_at: int
    """When the entry is due (ms)."""
    owned: Owned
    """The name of the entry."""


@dataclass(frozen=True)
class DueQuery:
    """The due entries of one shard in one UTC day, earliest first."""

    shard: int
    """The shard."""
    day_at: int
    """When the day begins (ms)."""
    through_at: int
    """The latest due time (ms), included."""
    limit: int
    """The most entries that are examined."""
    after: DueCursor | None = None
    """The position after which to begin; None: the beginning of the day."""
    left_out: frozenset[str] = frozenset()
    """Tenants whose entries are examined but not returned."""

    @property
    def bucket(self) -> tuple[int, int]:
        """The shard and the day."""
        return self.shard, self.day_at


@dataclass(frozen=True)
class DuePage:
    """The answer to a due query."""

    candidates: tuple[Owned, ...]
    """The names that it nominates."""
    stopped: DueCursor | None = None
    """The position at which it stopped; None: at the end of the bucket."""


class DueIndex(Protocol):
    """The entries of all shards, the shards' oldest days, and the number of shards."""

    def query(self, queries: Sequence[DueQuery]) -> list[DuePage]:
        """Answer each query. The index may lag: its entries only nominate."""

    def ahead(self, shard: int, first_at: int, last_at: int, most: int) -> list[int]:
        """Return the instants (ms) at which a shard has entries due within a future span, earliest first.

        If there are more than `most`, the later ones may be left out.
        """

    def read_oldest_days(self, shards: Sequence[int]) -> dict[int, int]:
        """Return for each shard the oldest day (ms of its start) that may still hold due entries.

        Shards without a known day are left out. The answer may be some seconds old, which never makes it a later day.
        """

    def move_oldest_day(self, shard: int, oldest_day_at: int) -> None:
        """Move a shard's oldest day to a later one; it never moves back."""

    def most_shards(self, shards: int) -> int:
        """Store a number of shards if it exceeds the stored one; return the greatest, which never decreases.

        The answer may be some seconds old.
        """


@dataclass(frozen=True, order=True)
class Owner:
    """An execution of the ticker: the greater (start, name) owns a partition."""

    started_at: str
    """When it started, as text."""
    name: str
    """Its name."""


@dataclass(frozen=True)
class Tick:
    """The note of an owner."""

    owner: Owner
    """The execution."""
    at: int
    """When it ticked (ms)."""


def next_tick(last: Tick | None, owner: Owner, now: int) -> Tick | None:
    """Return the note that is stored after a tick: the last note while that is fresh. None: a newer owner ticks."""
    if last is not None and last.owner > owner and now < last.at + SILENCE_MS:
        return None
    is_fresh = last is not None and last.owner == owner and now < last.at + BEAT_MS
    return last if is_fresh else Tick(owner, now)


class Partitions(Protocol):
    """The partitions, each of which has one owner."""

    def take(self, partition: int, owner: Owner, now: int) -> bool:
        """Note that `owner` drives a partition (now in ms), unless a newer owner does. Raises UnavailableError."""

    def last_tick(self, partition: int) -> int | None:
        """Return when an owner last noted that it drives a partition (ms), as of some seconds ago; None: never."""
