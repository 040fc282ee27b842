"""Count a tenant's jobs before they are created, if its quotas bound them: one write, and no read.

① Reserve. ② If too little is left, count the tenant's open jobs, store what is left, and reserve again. If a process
dies between the reservation and the creation, too little is left until the next count.
"""

from dataclasses import replace
from enum import StrEnum

from timeball.domain.sharing.submit_budget import Reservation, counted_until, is_refused, may_count, reckoned
from timeball.engine.context import Context

_TRIES = 3


class Refused(StrEnum):
    """The quota that is used up, by the name of its field."""

    SUBMITS = "submits_per_second"
    ACTIVE = "active_jobs"


def reserve(context: Context, reservation: Reservation) -> Refused | None:
    """Reserve jobs that are about to be created, all or none. Return the quota that refuses them, if any.

    Raises UnavailableError.
    """
    if not reservation.amount or not (reservation.per_second or reservation.active):
        return None
    for _ in range(_TRIES):
        standing = context.store.submit_budgets.reserve(reservation)
        if standing is None:
            return None
        if is_refused(standing, reservation):
            return Refused.SUBMITS
        now = context.clock.now()
        if not may_count(standing, reservation.active, now):
            return Refused.ACTIVE
        counted = context.store.jobs.count_open(reservation.tenant, counted_until(now), reservation.active)
        context.store.submit_budgets.reckon(standing, reckoned(standing, counted, reservation.active, now))
    return Refused.ACTIVE


def release(context: Context, reservation: Reservation, amount: int) -> None:
    """Release `amount` reserved jobs, because they existed already."""
    if amount and (reservation.per_second or reservation.active):
        context.store.submit_budgets.release(replace(reservation, amount=amount))
