"""A collection of rows of one kind, which is all that most of what is stored is.

Every write of a row that exists is a *swap*: it holds only if the row is still at the revision that was read, and it
raises that revision: nobody else does. A swap or an insert whose answer was lost and which was repeated underneath
finds its own write in place and counts as done. Of two calls that write the very same row one is refused.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from timeball.domain.attempts.circuit_breaker import Host
from timeball.domain.backfills.backfill import Backfill
from timeball.domain.backfills.slots import Slots
from timeball.domain.model.evolve import evolve
from timeball.domain.model.jobs.freeze import Freezes
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.jobs.task import Task
from timeball.domain.model.runs.limiter import Limiter
from timeball.domain.model.runs.run import Run
from timeball.domain.model.tenants.key import Key
from timeball.domain.model.tenants.tenant import Tenant
from timeball.domain.model.terms.calendar import Calendar
from timeball.domain.model.terms.event import Subscription
from timeball.domain.model.terms.flow import Named
from timeball.domain.operations.operation import Operation
from timeball.domain.sharing.patterns import Patterns

Row = TypeVar(
    "Row",
    Job,
    Run,
    Backfill,
    Host,
    Slots,
    Task,
    Freezes,
    Calendar,
    Tenant,
    Key,
    Operation,
    Limiter,
    Subscription,
    Patterns,
    Named,
)
Key_contra = TypeVar("Key_contra", contravariant=True)


@dataclass(frozen=True)
class Swap(Generic[Row]):
    """Replace `before` by `after`, on the condition that the stored row still has `before`'s revision."""

    before: Row
    after: Row

    @property
    def written(self) -> Row:
        """The row as it stands if the swap is done."""
        return evolve(self.after, revision=self.before.revision + 1)


@dataclass(frozen=True)
class Swapped(Generic[Row]):
    """Whether a swap was done by this very call, and the row as it now stands; None: there is no such row."""

    done: bool
    row: Row | None


class Rows(Protocol[Key_contra, Row]):
    """Rows of one kind. They are written one by one: of a list some may be done, and others refused."""

    def insert(self, rows: Sequence[Row], now: int) -> list[Row | None]:
        """Insert each row if absent. None: inserted; a row: the one that stood there."""

    def read(self, keys: Sequence[Key_contra], *, strong: bool = True) -> list[Row | None]:
        """Return each row, or None if there is none.

        A reading that is not `strong` costs half, and may be that of some seconds ago.
        """

    def swap(self, swaps: Sequence[Swap[Row]], now: int) -> list[Swapped[Row]]:
        """Write each row if it is as it was read, at the next revision."""
