"""Quotas of tenants: a request that exceeds a quota is refused as a whole, with the quota's name.

With a bound, each request that counts against it costs one write, which counts exactly; without a bound nothing is
counted. Fires are never counted.

The defaults of a tenant come the same way as its quotas.
"""

from dataclasses import replace
from typing import Final

from timeball.api.http.body import compact
from timeball.api.http.edge import ApiContext
from timeball.api.http.exchange import Request
from timeball.api.http.problems import FieldError, invalid, over_quota
from timeball.domain.model.jobs.job import Priority
from timeball.domain.model.tenants.tenant import Defaults, Quotas
from timeball.domain.sharing.fairness import MOST_OF_A_REQUEST
from timeball.domain.sharing.submit_budget import Reservation
from timeball.domain.time.instants import SECOND_MS
from timeball.engine import quotas as reservations
from timeball.engine.blackouts.read import read_defaults, read_quotas
from timeball.engine.quotas import Refused, reserve

PAYLOAD: Final = "payloadBytes"
PERIOD: Final = "leastPeriodSeconds"
RUNS: Final = "runsPerRequest"

_ENDS_SECONDS: Final = 10
"""When a caller should try again because some jobs may have ended."""


def quotas_of(edge: ApiContext, request: Request) -> Quotas:
    """Return the quotas of a caller's tenant: from the authorizer, or as the engine reads them."""
    if request.quotas is None:
        return read_quotas(edge.context, [request.tenant])[request.tenant]
    return request.quotas.over(edge.context.rules.quotas)


def defaults_of(edge: ApiContext, request: Request) -> Defaults:
    """Return the defaults of a caller's tenant: from the authorizer, or as the engine reads them."""
    return read_defaults(edge.context, request.tenant) if request.defaults is None else request.defaults


def above_ceiling(defaults: Defaults, priority: Priority | None, before: Priority | None = None) -> list[FieldError]:
    """Return the error for a stated priority above the ceiling; the one that was there `before` is accepted."""
    ceiling = defaults.priority_ceiling
    if priority is None or priority in (before, priority.within(ceiling)):
        return []
    return [FieldError("priority", f"Your tenant's priorityCeiling is {ceiling}; give no priority above it.")]


def count_submits(edge: ApiContext, request: Request, amount: int) -> Reservation:
    """Count jobs at their creation, and return what was counted. Raises ProblemError if there are too many.

    The count uses the present second, not that of the request's arrival, which later counts would no longer include.
    """
    return _count(edge, _taking(edge, request, amount))


def count_again(edge: ApiContext, request: Request, counted: Reservation) -> Reservation:
    """Count jobs anew if a second has passed since, and return what was counted. Raises ProblemError if over quota."""
    if edge.context.clock.now() < counted.at + SECOND_MS:
        return counted
    uncount_submits(edge, counted, counted.amount)
    return count_submits(edge, request, counted.amount)


def count_events(edge: ApiContext, request: Request, amount: int) -> None:
    """Count events that a tenant is about to send, in the same second as jobs. Raises ProblemError if over quota."""
    _count(edge, replace(_taking(edge, request, amount), active=0))


def _count(edge: ApiContext, reservation: Reservation) -> Reservation:
    match reserve(edge.context, reservation):
        case Refused.SUBMITS:
            when = "fewer at once" if reservation.amount > reservation.per_second else "them again a second later"
            raise over_quota(
                "submitsPerSecond", f"You may submit {reservation.per_second} jobs and events a second; send {when}.", 1
            )
        case Refused.ACTIVE:
            raise over_quota(
                "activeJobs",
                f"You may have {reservation.active} open jobs; cancel some, or wait until some have ended.",
                _ENDS_SECONDS,
            )
    return reservation


def uncount_submits(edge: ApiContext, counted: Reservation, amount: int) -> None:
    """Subtract jobs that were counted, because they existed already."""
    reservations.release(edge.context, counted, amount)


def check_product(amount: int, times: int, what: str, jobs: str) -> None:
    """Raise ProblemError if one request would create too many runs: `amount` things for each of `times` jobs."""
    if amount * times > MOST_OF_A_REQUEST:
        most = MOST_OF_A_REQUEST // times
        detail = (
            f"This could create {amount * times} runs: {amount} {what} times {times} {jobs}. A request may create "
            f"{MOST_OF_A_REQUEST}, so send at most {most} {what} at once. Nothing was done."
        )
        raise over_quota(RUNS, detail, 1)


def check_payload(edge: ApiContext, request: Request, payload: object) -> None:
    """Raise ProblemError if a payload exceeds the tenant's quota."""
    errors = large_payload(quotas_of(edge, request), compact(payload))
    if errors:
        raise invalid(errors)


def large_payload(quotas: Quotas, payload: str | None, field: str = "payload") -> list[FieldError]:
    """Return the error for a payload, as it is stored, that exceeds the tenant's quota; empty if it does not."""
    size, most = len((payload or "").encode()), quotas.payload_bytes or 0
    if not most or size <= most:
        return []
    return [FieldError(field, f"The payload has {size} bytes; your quota {PAYLOAD} allows {most}.", PAYLOAD)]


def _taking(edge: ApiContext, request: Request, amount: int) -> Reservation:
    quotas, now = quotas_of(edge, request), edge.context.clock.now()
    return Reservation(request.tenant, amount, now, quotas.submits_per_second or 0, quotas.active_jobs or 0)
