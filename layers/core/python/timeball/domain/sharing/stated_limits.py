"""The bounds of a limiter: jobs state them, the quotas of a tenant state them, and a person may set them.

A job states its bounds whenever one of its runs asks. How many may be under way is each job's own statement. The
slowest rate that was stated lately holds for all jobs, or it would protect nothing. A person's bounds come first.
"""

from dataclasses import dataclass
from math import inf
from typing import Final

from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import LimiterKey
from timeball.domain.model.jobs.job import JobSpec
from timeball.domain.model.runs.limiter import Bounds, Fixed, Limiter, RateTokens
from timeball.domain.model.tenants.tenant import Quotas
from timeball.domain.model.terms.flow import OnFull
from timeball.domain.time.instants import SECOND_MS

RATE_HOLDS_MS: Final = 3_600 * SECOND_MS
"""How long a rate that a job has stated holds for jobs that state a faster one."""


@dataclass(frozen=True)
class Ask:
    """A run's request to a limiter."""

    key: LimiterKey
    """The limiter."""
    bounds: Bounds
    """The bounds that the run's job, or its tenant's quotas, state."""
    skips: bool = False
    """The run is skipped instead of waiting if all slots are taken."""


def asks_of(spec: JobSpec, quotas: Quotas) -> list[Ask]:
    """Return the requests of a run before it may begin, in their order: its tenant's slot comes last.

    So a run that waits for a limit takes no slot from its tenant's other runs. All runs ask in one order, and keep the
    slots that they have: no two wait for each other, and none moves back and forth between two lines.
    """
    tenant, asks = spec.key.tenant, dict[str, Ask]()
    if spec.flow.concurrency is not None:
        skips = spec.flow.concurrency.on_full is OnFull.SKIP
        bounds = Bounds(slots=spec.flow.concurrency.limit)
        asks[spec.flow.concurrency.name] = Ask(LimiterKey(tenant, spec.flow.concurrency.name), bounds, skips)
    if spec.flow.rate is not None:
        before = asks.get(spec.flow.rate.name, Ask(LimiterKey(tenant, spec.flow.rate.name), Bounds()))
        bounds = Bounds(before.bounds.slots, spec.flow.rate.per_second, spec.flow.rate.burst)
        asks[spec.flow.rate.name] = evolve(before, bounds=bounds)
    if is_bound(quotas):
        asks[""] = Ask(LimiterKey(tenant), bounds_of(quotas))
    return list(asks.values())


def bounded_by(limiter: Limiter, bounds: Bounds, now: int) -> Limiter:
    """Return the limiter as a person bounds it from now on: due now, if runs wait."""
    fixed = evolve(limiter, fixed=Fixed(bounds, limiter.fixed.version + 1))
    return evolve(_counted_on(limiter, fixed, now), due_at=None if limiter.due_at is None else now)


def said_anew(limiter: Limiter, bounds: Bounds, now: int, before: Bounds | None = None) -> Limiter:
    """Return the limiter as a changed job bounds it from now on: due now, if runs wait.

    The rate that the job stated before holds no more, unless another job states it again.
    """
    if before is not None and before.per_second is not None and _rate_of(before) == _rate_of(limiter.said):
        limiter = evolve(limiter, rate_said_at=0)
    return evolve(stated(limiter, bounds, now), due_at=None if limiter.due_at is None else now)


def is_bound(quotas: Quotas) -> bool:
    """Say whether quotas limit runs."""
    return bool(quotas.runs_per_second or quotas.runs_at_once)


def bounds_of(quotas: Quotas) -> Bounds:
    """Return the bounds of a tenant's quotas.

    Its rate tokens are as far apart as possible, so no second exceeds the quota.
    """
    return Bounds(quotas.runs_at_once or None, quotas.runs_per_second or None, 1)


def stated(limiter: Limiter, bounds: Bounds, now: int) -> Limiter:
    """Return the limiter with the bounds that a job states.

    The slower of two rates holds; quotas always replace the rate.
    """
    said = bounds.over(limiter.said)
    is_held = now < limiter.rate_said_at + RATE_HOLDS_MS and _rate_of(limiter.said) < _rate_of(bounds)
    if limiter.key.name and is_held:
        said = evolve(said, per_second=limiter.said.per_second, burst=limiter.said.burst)
    said_at = limiter.rate_said_at if is_held or bounds.per_second is None else now
    return _counted_on(limiter, evolve(limiter, said=said, rate_said_at=said_at), now)


def _rate_of(bounds: Bounds) -> tuple[float, int]:
    return inf if bounds.per_second is None else bounds.per_second, bounds.burst or 1


def _counted_on(before: Limiter, after: Limiter, now: int) -> Limiter:
    """Return a limiter with other bounds.

    Rate tokens that were given stay valid, and an empty bucket does not become full.
    """
    old, new, free_at = before.bounds, after.bounds, before.tokens.free_at
    if old.per_second == new.per_second or old.per_second is None or new.per_second is None:
        return after
    taken = max(0.0, free_at - now) * old.per_second / SECOND_MS
    given_to = free_at - (old.burst or 1) * SECOND_MS / old.per_second
    refilled_at = now + min(taken, new.burst or 1) * SECOND_MS / new.per_second
    return evolve(after, tokens=RateTokens(max(given_to, refilled_at)))
