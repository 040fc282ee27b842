"""How many jobs a tenant may still create, and how many requests a second it may send.

Each submit reduces the submit budget. Jobs end without an update of it, so it becomes too small over time, and is never
too large for long: before a tenant is refused, its jobs are counted. The count uses the index, which lags, so it covers
jobs older than GRACE_MS. Everything reserved since then is subtracted in full.

A request rate with bursts is one number: the instant until which the rate is used up.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from timeball.domain.model.evolve import evolve
from timeball.domain.time.instants import MINUTE_MS, SECOND_MS

GRACE_MS: Final = 3 * SECOND_MS
"""How long after its request a job is certain to be in the index."""

_COUNTED_PER_SECOND: Final = 10_000
_KEPT_MS: Final = MINUTE_MS


@dataclass(frozen=True)
class SubmitBudget:
    """The submit budget of a tenant."""

    tenant: str
    """The tenant."""
    taken: Mapping[int, int] = field(default_factory=dict)
    """The recent reservations, by the second (the instant at which it began, in ms)."""
    beside: Mapping[int, int] = field(default_factory=dict)
    """The part of `taken` that does not count against the open jobs, such as events."""
    most: int = 0
    """The quota of open jobs by which `left` was counted."""
    left: int = 0
    """How many open jobs the tenant may still create: counted at `counted_at`, and reduced since."""
    counted_at: int = 0
    """When `left` was counted (ms); 0: never."""


@dataclass(frozen=True)
class Reservation:
    """A reservation for jobs that a tenant is about to create."""

    tenant: str
    """The tenant."""
    amount: int
    """How many jobs."""
    at: int
    """When they were asked for (ms)."""
    per_second: int
    """The tenant's quota of new jobs in a second; 0: no bound."""
    active: int
    """The tenant's quota of open jobs; 0: no bound."""

    @property
    def second(self) -> int:
        """The instant at which its second began (ms)."""
        return self.at - self.at % SECOND_MS


def is_refused(budget: SubmitBudget, reservation: Reservation) -> bool:
    """Say whether a reservation exceeds the quota of its second."""
    return (
        bool(reservation.per_second)
        and budget.taken.get(reservation.second, 0) + reservation.amount > reservation.per_second
    )


def may_count(budget: SubmitBudget, most: int, now: int) -> bool:
    """Say whether a tenant's jobs may be counted now: not again at once, and less often the more jobs there may be."""
    return budget.most != most or now >= budget.counted_at + SECOND_MS + most * SECOND_MS // _COUNTED_PER_SECOND


def counted_until(now: int) -> int:
    """Return the instant (ms) up to which created jobs are counted."""
    return now - now % SECOND_MS - GRACE_MS


def reckoned(budget: SubmitBudget, counted: int, most: int, now: int) -> SubmitBudget:
    """Return the budget after a count of open jobs that are older than `counted_until`."""
    recent = [second for second in budget.taken if second >= counted_until(now)]
    since = sum(budget.taken[second] - budget.beside.get(second, 0) for second in recent)
    return evolve(budget, most=most, left=max(most - counted - since, 0), counted_at=now)


def outdated(budget: SubmitBudget, at: int) -> list[int]:
    """Return the seconds that are no longer needed."""
    return [second for second in budget.taken if second <= at - _KEPT_MS]


SECOND_US = 1_000_000


def used_until(before_us: int, now_ms: int, per_second: int, most_at_once: int) -> int | None:
    """Return until when (µs) a rate is used up after one more request at `now_ms`; None: the request exceeds the rate.

    Room returns evenly, until `most_at_once` requests fit.
    """
    interval_us, now_us = SECOND_US // per_second, 1_000 * now_ms
    after_us = max(before_us, now_us) + interval_us
    most_us = now_us + interval_us * most_at_once
    return after_us if after_us <= most_us else None
