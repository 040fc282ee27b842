"""A tenant's slots: so many of its backfills run at once, and the others wait.

One row for each tenant names those that hold a slot, and a few that are next. It is no count: whoever changes it reads
the backfills that it names, and drops those that are over. So nothing leaks, wherever somebody died.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from timeball.domain.backfills.backfill import Backfill, BackfillStatus
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import BackfillKey

MAX_LINE = 10
"""How many the row names that are next: they are woken when a slot is free. The others find out by looking."""


@dataclass(frozen=True)
class Slots:
    """Who holds a slot, and who is next, in this order."""

    tenant: str
    held: tuple[BackfillKey, ...] = ()
    line: tuple[BackfillKey, ...] = ()
    revision: int = 1


def allot(slots: Slots, standing: Mapping[BackfillKey, Backfill], asking: Sequence[BackfillKey], most: int) -> Slots:
    """Give free slots to those in line, then to those that ask; who is left over waits in line, as far as it reaches.

    `standing` are the backfills that the row names, and those that ask, without those that are over.
    """
    held = tuple(key for key in slots.held if key in standing)
    line = [
        key
        for key in dict.fromkeys((*slots.line, *asking))
        if key not in held and key in standing and standing[key].status is BackfillStatus.WAITING
    ]
    free = max(most - len(held), 0)
    return evolve(slots, held=(*held, *line[:free]), line=tuple(line[free : free + MAX_LINE]))
