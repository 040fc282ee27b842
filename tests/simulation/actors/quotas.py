"""Quotas, which bound users' tenants in some stories, and keys, which their jobs name in others.

Each tenant has its keys by the same names.
"""

from dataclasses import replace

from tests.simulation.story import Story
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.freeze import Freezes
from timeball.domain.model.jobs.job import JobSpec
from timeball.domain.model.runs.limiter import Bounds, Fixed
from timeball.domain.model.tenants.quotas import Quotas
from timeball.domain.model.terms.flow import ConcurrencyKey, OnFull, RateKey
from timeball.ports.collections.rows import Swap

QUOTAS = {"user-1": Quotas(runs_at_once=2), "user-2": Quotas(runs_per_second=1)}

_AT_ONCE, A_SECOND = 2, 1


def with_keys(spec: JobSpec) -> JobSpec:
    """Return a job with the keys that it names as long as it lives."""
    concurrency, rate = keys_of(spec.key)
    return replace(spec, flow=replace(spec.flow, concurrency=concurrency, rate=rate))


def keys_of(job: JobKey) -> tuple[ConcurrencyKey | None, RateKey | None]:
    number = int(job.job_id.removeprefix("job-")) if job.job_id.startswith("job-") else None
    skips = OnFull.SKIP if number is not None and number % 4 == 3 else OnFull.WAIT
    concurrency = None if number is None or number % 4 == 1 else ConcurrencyKey("key", _AT_ONCE, skips)
    return concurrency, None if number is None or number % 4 not in (1, 2) else RateKey("rate", A_SECOND)


def bind(story: Story) -> None:
    """Give the tenants their quotas, before anything is done."""
    story.store.freezes.insert([Freezes(tenant, quotas=quotas) for tenant, quotas in QUOTAS.items()], story.clock.now())


def relax(story: Story) -> None:
    """Let the tenants have more, so that a story ends; who keeps a place for nothing is in the way still."""
    now = story.clock.now()
    if story.has_quotas:
        rows = [row for row in story.store.freezes.values() if row.tenant in QUOTAS]
        more = Quotas(runs_at_once=20, runs_per_second=20)
        story.store.freezes.swap([Swap(row, evolve(row, quotas=more)) for row in rows], now)
    limiters = [row for row in story.store.limiters.values() if row.key.name]
    fixed = Fixed(Bounds(20, 20), 1)
    story.store.limiters.swap([Swap(row, evolve(row, fixed=fixed)) for row in limiters], now)
