"""How much of its quotas a tenant uses now, from the rows that enforce them. Nothing is counted for this alone."""

from timeball.domain.backfills.backfill import BackfillStatus
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import LimiterKey
from timeball.domain.model.jobs.among import Among
from timeball.domain.model.runs.limiter import new_limiter
from timeball.domain.model.tenants.quotas import Quotas
from timeball.domain.sharing.limiter import tokens_taken, under_way
from timeball.domain.sharing.stated import bounds_of, is_bound
from timeball.domain.time.instants import SECOND_MS
from timeball.engine.context import Context


def used_of_quotas(context: Context, tenant: str, quotas: Quotas) -> dict[str, int]:
    """Return how much of each quota is used, by the name of its field. Raises UnavailableError.

    The quotas of runs appear only if the tenant has them: otherwise no row records which runs begin.
    """
    active = context.store.jobs.count(tenant).parts[Among.OPEN]
    slots = context.store.slots.read([tenant])[0]
    named = context.store.backfills.read([] if slots is None else slots.held)
    running = [one for one in named if one is not None and one.status is BackfillStatus.RUNNING]
    patterns = context.store.patterns.read([tenant])[0]
    used = {
        "active_jobs": active.count,
        "running_backfills": len(running),
        "event_patterns": 0 if patterns is None else len(patterns.noted),
    }
    if quotas.submits_per_second or quotas.active_jobs:
        second = context.clock.now() // SECOND_MS * SECOND_MS
        used["submits_per_second"] = context.store.submit_budgets.read(tenant).taken.get(second, 0)
    if is_bound(quotas):
        used |= _of_runs(context, tenant, quotas)
    return used


def _of_runs(context: Context, tenant: str, quotas: Quotas) -> dict[str, int]:
    now, key, used = context.clock.now(), LimiterKey(tenant), dict[str, int]()
    limiter = context.store.limiters.read([key])[0] or new_limiter(key, context.shards)
    if quotas.runs_per_second:
        used["runs_per_second"] = tokens_taken(evolve(limiter, said=bounds_of(quotas)), now)
    if quotas.runs_at_once:
        rows = context.store.runs.read([one.run for one in limiter.begun]) if limiter.begun else []
        used["runs_at_once"] = under_way(limiter, rows, now)
    return used
