"""A tenant's jobs are counted before they are created, where its quotas bound them: one write, and no read.

① take ② if that is refused as there is too little left: count its jobs, keep what is left, take again. A process that
dies between taking and creating leaves too few left, until the next count.
"""

from dataclasses import replace
from enum import StrEnum

from timeball.domain.sharing.intake import Taking, counted_until, is_refused, may_count, reckoned
from timeball.engine.context import Context

_TRIES = 3


class Refused(StrEnum):
    """Which quota is used up, by the name of its field."""

    SUBMITS = "submits_per_second"
    ACTIVE = "active_jobs"


def take_in(context: Context, taking: Taking) -> Refused | None:
    """Count jobs that are about to be created, all or none; return the quota that does not let them in, if any.

    Raises UnavailableError.
    """
    if not taking.amount or not (taking.per_second or taking.active):
        return None
    for _ in range(_TRIES):
        standing = context.store.intakes.take(taking)
        if standing is None:
            return None
        if is_refused(standing, taking):
            return Refused.SUBMITS
        now = context.clock.now()
        if not may_count(standing, taking.active, now):
            return Refused.ACTIVE
        counted = context.store.jobs.count_open(taking.tenant, counted_until(now), taking.active)
        context.store.intakes.reckon(standing, reckoned(standing, counted, taking.active, now))
    return Refused.ACTIVE


def give_back(context: Context, taking: Taking, amount: int) -> None:
    """Take back so many of what was taken in: they stood already."""
    if amount and (taking.per_second or taking.active):
        context.store.intakes.give_back(replace(taking, amount=amount))
