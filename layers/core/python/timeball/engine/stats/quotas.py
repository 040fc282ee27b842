"""How much of its quotas a tenant uses now, from the rows that keep them. Nothing is counted for this alone."""

from timeball.domain.backfills.backfill import BackfillStatus
from timeball.domain.model.job import JobStatus
from timeball.domain.model.quotas import Quotas
from timeball.engine.context import Context


def used_of_quotas(context: Context, tenant: str, quotas: Quotas) -> dict[str, int]:  # noqa: ARG001
    """Return how much of each quota is used, by the name of its field. Raises UnavailableError."""
    active = context.store.jobs.count(tenant, [JobStatus.PENDING, JobStatus.PAUSED])
    slots = context.store.slots.read([tenant])[0]
    named = context.store.backfills.read([] if slots is None else slots.held)
    running = [one for one in named if one is not None and one.status is BackfillStatus.RUNNING]
    return {"active_jobs": sum(one.count for one in active), "running_backfills": len(running)}
