"""A collection of rows of one kind, which is what most of the store consists of.

Every write of an existing row is a *swap*: it holds only if the row still has the revision that was read, and it raises
that revision; nothing else does. A swap or an insert may be repeated underneath because its answer was lost: it finds
its own write and counts as done. If two calls write exactly the same row, one is refused.

The listing: a tenant's data by state and in the order of time. Like the due index, it only nominates.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from timeball.domain.attempts.circuit_breaker import Circuit
from timeball.domain.backfill import Backfill
from timeball.domain.backfill_slots import BackfillSlots
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey, OperationKey, RunId, TaskKey
from timeball.domain.model.jobs.freeze import Freezes
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.jobs.task import Task
from timeball.domain.model.runs.limiter import Limiter
from timeball.domain.model.runs.run import Run
from timeball.domain.model.tenants.key import Key
from timeball.domain.model.tenants.tenant import Tenant
from timeball.domain.model.terms.calendar import Calendar
from timeball.domain.model.terms.event import Patterns, Subscription
from timeball.domain.model.terms.flow import UniqueKeyRow
from timeball.domain.operation import Operation
from timeball.domain.time.instants import LATEST

Row = TypeVar(
    "Row",
    Job,
    Run,
    Backfill,
    Circuit,
    BackfillSlots,
    Task,
    Freezes,
    Calendar,
    Tenant,
    Key,
    Operation,
    Limiter,
    Subscription,
    Patterns,
    UniqueKeyRow,
)
Key_contra = TypeVar("Key_contra", contravariant=True)


@dataclass(frozen=True)
class Swap(Generic[Row]):
    """Replace `before` by `after`, on the condition that the stored row still has `before`'s revision."""

    before: Row
    """The row as it was read."""
    after: Row
    """The row to write."""

    @property
    def written(self) -> Row:
        """The row as it is stored if the swap is done."""
        return evolve(self.after, revision=self.before.revision + 1)


@dataclass(frozen=True)
class Swapped(Generic[Row]):
    """The result of a swap."""

    done: bool
    """This call wrote the row."""
    row: Row | None
    """The row as it is stored now; None: there is no such row."""


class Rows(Protocol[Key_contra, Row]):
    """Rows of one kind. They are written one by one: of a list some writes may be done, and others refused."""

    def insert(self, rows: Sequence[Row], now: int) -> list[Row | None]:
        """Insert each row if absent. None: inserted; otherwise the row that was there."""

    def read(self, keys: Sequence[Key_contra], *, strong: bool = True) -> list[Row | None]:
        """Return each row, or None if there is none.

        A read that is not `strong` costs half, and may be some seconds old.
        """

    def swap(self, swaps: Sequence[Swap[Row]], now: int) -> list[Swapped[Row]]:
        """Write each row if it is unchanged since it was read, at the next revision."""


Id = TypeVar("Id", JobKey, RunId, TaskKey, OperationKey)


@dataclass(frozen=True)
class ListQuery(Generic[Id]):
    """A page of a tenant's listing, the newest first. Instants are in ms."""

    tenant: str
    """The tenant."""
    limit: int
    """The most entries on the page."""
    from_at: int = 0
    """The earliest time, included."""
    to_at: int = LATEST
    """The latest time, included."""
    after: tuple[int, Id] | None = None
    """The time and the name of the last entry of the previous page; None: the first page."""
    oldest_first: bool = False
    """The oldest come first instead."""

    @property
    def span(self) -> tuple[int, int]:
        """The earliest and the latest time that an entry of the page may have; empty if the first is later."""
        if self.after is None:
            return self.from_at, self.to_at
        if self.oldest_first:
            return max(self.from_at, self.after[0]), self.to_at
        return self.from_at, min(self.to_at, self.after[0])

    def is_next(self, entry: tuple[int, Id]) -> bool:
        """Return whether an entry comes after the previous page."""
        if self.after is None:
            return True
        return entry > self.after if self.oldest_first else entry < self.after
