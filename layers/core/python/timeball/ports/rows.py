"""Rows of one kind, which is what most of the store consists of, and their listing.

Every write of an existing row is a *swap*: it holds only if the row still has the revision that was read, and it raises
that revision; nothing else does. A swap or an insert may be repeated underneath because its answer was lost: it finds
its own write and counts as done. If two calls write exactly the same row, one is refused.

The listing names a tenant's rows by state and in the order of time. Like the due index, it only nominates.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from timeball.domain.model.evolve import evolve
from timeball.domain.time.instants import LATEST


class Revised(Protocol):
    """A row: a dataclass whose revision only the store raises."""

    @property
    def revision(self) -> int:
        """How often it was swapped."""


Row = TypeVar("Row", bound=Revised)
Owner_contra = TypeVar("Owner_contra", contravariant=True)
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
        after: Any = self.after  # of a class whose fields are not known here
        row: Row = evolve(after, revision=self.before.revision + 1)
        return row


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


Id = TypeVar("Id")


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


class NamedRows(Rows[Key_contra, Row], Protocol[Owner_contra, Key_contra, Row]):
    """Rows that belong to an owner, with a name each."""

    def of_owner(self, owner: Owner_contra, after: str = "", limit: int | None = None) -> list[Row]:
        """Return up to `limit` rows of an owner in the order of their names, with names after `after`."""


class ListedRows(Rows[Id, Row], Protocol[Id, Row]):
    """Rows that are listed by their creation. A deleted row stays, but is no longer listed."""

    def listed(self, query: ListQuery[Id]) -> list[tuple[int, Id]]:
        """Return up to `limit` rows in the listing. It may lag."""
