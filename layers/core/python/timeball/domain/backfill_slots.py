"""A tenant's backfill slots: a limited number of its backfills run at once, and the others wait.

One row for each tenant names the backfills that hold a slot, and a few that are next. It is no counter: a process that
changes it reads the named backfills and drops those that have ended. So no slot leaks, wherever a process died.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from timeball.domain.backfill import Backfill, BackfillStatus
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import BackfillKey

MAX_LINE = 10
"""How many waiting backfills the row names: they are woken when a slot is free. The others ask again by themselves."""


@dataclass(frozen=True)
class BackfillSlots:
    """The row of a tenant's slots."""

    tenant: str
    """The tenant."""
    held: tuple[BackfillKey, ...] = ()
    """The backfills that hold a slot."""
    line: tuple[BackfillKey, ...] = ()
    """The backfills that are next, in this order."""
    revision: int = 1
    """Counts the writes of the row."""


def allot(
    slots: BackfillSlots, standing: Mapping[BackfillKey, Backfill], asking: Sequence[BackfillKey], most: int
) -> BackfillSlots:
    """Give free slots to backfills in line, then to those that ask.

    The others wait in line, as far as the line reaches.

    `standing` holds the backfills that the row names, and those that ask, without those that have ended.
    """
    held = tuple(key for key in slots.held if key in standing)
    line = [
        key
        for key in dict.fromkeys((*slots.line, *asking))
        if key not in held and key in standing and standing[key].status is BackfillStatus.WAITING
    ]
    free = max(most - len(held), 0)
    return evolve(slots, held=(*held, *line[:free]), line=tuple(line[free : free + MAX_LINE]))
