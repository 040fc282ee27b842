"""A tenant's backfill slots: a limited number of its backfills run at once, and the others wait.

One row for each tenant names its open backfills in the order in which they asked: the first ones hold a slot, and a few
more are next. It is no counter: a process that changes it reads the named backfills and drops those that have ended. So
no slot leaks, wherever a process died.
"""

from collections.abc import Container, Sequence
from dataclasses import dataclass

from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import BackfillKey

MAX_LINE = 10
"""How many waiting backfills the row names: they are woken when a slot is free. The others ask again by themselves."""


@dataclass(frozen=True)
class BackfillSlots:
    """The row of a tenant's slots."""

    tenant: str
    """The tenant."""
    named: tuple[BackfillKey, ...] = ()
    """The backfills that hold a slot, then those that are next, in this order."""
    revision: int = 1
    """Counts the writes of the row."""


def holders(slots: BackfillSlots, most: int) -> tuple[BackfillKey, ...]:
    """Return the backfills that hold a slot, of which there are at `most` so many.

    A backfill never moves back. So it holds its slot until it has ended, unless the tenant may run fewer from now on.
    """
    return slots.named[:most]


def allot(
    slots: BackfillSlots, standing: Container[BackfillKey], asking: Sequence[BackfillKey], most: int
) -> BackfillSlots:
    """Drop the named backfills that have ended, and let those that ask join at the end, as far as the line reaches.

    `standing` has the named and the asking backfills that have not ended.
    """
    kept = [key for key in slots.named if key in standing]
    new = [key for key in dict.fromkeys(asking) if key in standing and key not in kept]
    return evolve(slots, named=(*kept, *new[: max(0, most + MAX_LINE - len(kept))]))
