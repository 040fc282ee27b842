"""How many jobs a tenant has in each status that the API shows: told from samples, never by a look at each of them.

Rows say all of it but for one thing: a pending one-off whose run is under way is shown as running. That share of the
pending jobs is told from SAMPLED of them, or from all if they are no more.
"""

from typing import Final

from timeball.domain.model.jobs.job import JobStatus
from timeball.domain.usage.estimate import Estimate, parted
from timeball.engine.context import Context
from timeball.engine.scheduling.list_jobs import RUNNING, shown_statuses

SAMPLED: Final = 100


def count_jobs(context: Context, tenant: str) -> dict[str, Estimate]:
    """Return how many jobs a tenant has in each status. Raises UnavailableError."""
    counted = context.store.jobs.count(tenant, [*JobStatus])
    counts = dict(zip(map(str, JobStatus), counted, strict=True))
    running, pending = _running(context, tenant, counts[JobStatus.PENDING])
    return {**counts, JobStatus.PENDING.value: pending, RUNNING: running}


def _running(context: Context, tenant: str, pending: Estimate) -> tuple[Estimate, Estimate]:
    """Return how many of the pending jobs are shown as running, and how many are not."""
    if pending.count == 0:
        return Estimate(0), pending
    sampled = context.store.jobs.sample(tenant, JobStatus.PENDING, SAMPLED)
    jobs = [job for job in context.store.jobs.read(sampled, strong=False) if job is not None]
    if not jobs:
        return Estimate(0), pending
    shown = [*shown_statuses(context, jobs).values()]
    return parted(pending, len(shown), shown.count(RUNNING))
