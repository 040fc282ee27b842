"""Quotas, which bound users' tenants in some stories, and limiters, which their jobs name in others.

All tenants have limiters by the same names. A job names its limiters as long as it lives, and the limits stay, except
in stories in which jobs change both, and a person changes quotas and the bounds of limiters. Long lines at the end of
the calm are dissolved by lifting the limits.
"""

from dataclasses import replace

from tests.simulation.actors.client import Client
from tests.simulation.story import Story
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey, LimiterKey
from timeball.domain.model.jobs.freeze import Freezes
from timeball.domain.model.jobs.job import JobSpec
from timeball.domain.model.runs.limiter import Bounds
from timeball.domain.model.tenants.tenant import Quotas
from timeball.domain.model.terms.flow import ConcurrencyLimit, OnFull, RateLimit
from timeball.domain.sharing.stated_limits import bounded_by
from timeball.engine.context import Context
from timeball.engine.quotas import LimitOutcome, fix_limit
from timeball.ports.rows import Swap

QUOTAS = {"user-1": Quotas(runs_at_once=2), "user-2": Quotas(runs_per_second=1)}

ACTIVE = 3
"""How many open jobs a tenant may have, where submits are counted."""

MADE = 3
"""How many runs per minute events and items may make for a tenant, where that is bounded."""

_AT_ONCE, _A_SECOND, _UNBOUNDED = 2, 1, 10_000
_KEYS = ("key", "other-key")
_NAMES_KEYS = 0.7


def with_keys(story: Story, spec: JobSpec) -> JobSpec:
    """Return a job with its limiters, in stories with limiters."""
    if not story.has_keys:
        return spec
    changes = story.hardships.has_changed_limits
    concurrency, rate = _drawn_keys(story) if changes else _keys_of(spec.key)
    return replace(spec, flow=replace(spec.flow, concurrency=concurrency, rate=rate))


def _keys_of(job: JobKey) -> tuple[ConcurrencyLimit | None, RateLimit | None]:
    number = int(job.job_id.removeprefix("job-")) if job.job_id.startswith("job-") else None
    skips = OnFull.SKIP if number is not None and number % 4 == 3 else OnFull.WAIT
    concurrency = None if number is None or number % 4 == 1 else ConcurrencyLimit("key", _AT_ONCE, skips)
    return concurrency, None if number is None or number % 4 not in (1, 2) else RateLimit("rate", _A_SECOND)


def _drawn_keys(story: Story) -> tuple[ConcurrencyLimit | None, RateLimit | None]:
    draw = story.limits_draw
    skips = draw.choice((OnFull.WAIT, OnFull.WAIT, OnFull.WAIT, OnFull.SKIP))
    concurrency = ConcurrencyLimit(draw.choice(_KEYS), draw.choice((1, 2, 2, 3)), skips)
    rate = RateLimit(draw.choice(("rate", "rate", "key")), draw.choice((1, 1, 2)), draw.choice((1, 1, 2)))
    return (
        concurrency if draw.random() < _NAMES_KEYS else None,
        rate if draw.random() < _NAMES_KEYS / 2 else None,
    )


def bind(story: Story) -> None:
    """Give the tenants their quotas, before the story begins."""
    rows = [Freezes(tenant, quotas=quotas) for tenant, quotas in QUOTAS.items()]
    if story.hardships.has_submit_budgets:
        rows = [evolve(row, quotas=replace(row.quotas, active_jobs=ACTIVE, submits_per_second=2)) for row in rows]
    story.store.freezes.insert(rows, story.clock.now())


def makes_few(story: Story) -> bool:
    """Return whether quotas bound how many runs events and items make in a story."""
    return (story.has_events or story.has_graphs) and story.hardships.has_few_made


def bind_making(story: Story) -> None:
    """Bound how many runs events and items make for the tenants, before the story begins."""
    rows = [Freezes(tenant, quotas=Quotas(runs_created_per_minute=MADE)) for tenant in QUOTAS]
    story.store.freezes.insert(rows, story.clock.now())


async def change_limits(story: Story) -> None:
    """Let a person change a tenant's quotas, or the bounds of a limiter, during the storm."""
    draw, client = story.limits_draw, Client(story, story.new_process("user-bounding"))
    while story.clock.now() < story.storm_ends_at:
        await client.process.sleep_until(client.process.now() + draw.randrange(2_000, 30_000))
        if story.has_quotas:
            tenant = draw.choice((*QUOTAS,))
            at_once, a_second = draw.choice((1, 2, 3)), draw.choice((None, 1, 2))
            await client.request("set quotas", JobKey(tenant, "none"), _set_quotas, tenant, at_once, a_second)
        limiters = sorted(key for key in story.store.limiters if key.name)
        if limiters:
            key = draw.choice(limiters)
            bounds = Bounds(draw.choice((None, None, 1, 3)), draw.choice((None, None, 1)), 1)
            await client.request("fix key", JobKey(key.tenant, "none"), _fix, key, bounds)


def _set_quotas(context: Context, tenant: str, at_once: int, a_second: int | None) -> None:
    rows = [row for row in context.store.freezes.read([tenant]) if row is not None]
    changed = [evolve(row, quotas=replace(row.quotas, runs_at_once=at_once, runs_per_second=a_second)) for row in rows]
    context.store.freezes.swap([Swap(*pair) for pair in zip(rows, changed, strict=True)], context.clock.now())


def _fix(context: Context, key: LimiterKey, bounds: Bounds) -> LimitOutcome:
    return fix_limit(context, key, bounds, None, context.clock.now())[0]


def lift_making(story: Story) -> None:
    """Let events and items make any number of runs after the storm, so that all postponed runs are made."""
    rows = [row for row in story.store.freezes.values() if row.tenant in QUOTAS]
    lifted = [evolve(row, quotas=replace(row.quotas, runs_created_per_minute=None)) for row in rows]
    story.store.freezes.swap([Swap(*pair) for pair in zip(rows, lifted, strict=True)], story.clock.now())


def settle(story: Story) -> None:
    """At the storm's end give tenants and limiters tight bounds again, in stories in which limits have changed."""
    now = story.clock.now()
    rows = [row for row in story.store.freezes.values() if row.tenant in QUOTAS]
    asked = [Swap(row, evolve(row, quotas=QUOTAS[row.tenant])) for row in rows] if story.has_quotas else []
    story.store.freezes.swap(asked, now)
    limiters = [row for row in story.store.limiters.values() if row.key.name]
    bounds = Bounds(_AT_ONCE, _A_SECOND, 1)
    story.store.limiters.swap([Swap(row, bounded_by(row, bounds, now)) for row in limiters], now)


def are_lines_left(story: Story) -> bool:
    """Return whether runs stand in the lines of limiters."""
    return any(run.stands_in_line for run in story.store.past.live.values())


def lift(story: Story) -> None:
    """Remove the quotas of runs, and set the bounds of limiters so high that no run waits."""
    story.trace("the limits are lifted")
    now, bounds = story.clock.now(), Bounds(_UNBOUNDED, _UNBOUNDED, _UNBOUNDED)
    rows = [row for row in story.store.freezes.values() if row.tenant in QUOTAS]
    lifted = [evolve(row, quotas=replace(row.quotas, runs_at_once=None, runs_per_second=None)) for row in rows]
    story.store.freezes.swap([Swap(*pair) for pair in zip(rows, lifted, strict=True)], now)
    limiters = [row for row in story.store.limiters.values() if row.key.name]
    story.store.limiters.swap([Swap(row, bounded_by(row, bounds, now)) for row in limiters], now)
