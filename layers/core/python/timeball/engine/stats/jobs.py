"""How many jobs a tenant has in each status that the API shows: estimated from samples, without reading every job.

The listing estimates how many jobs are open, and how many ended in which way. The statuses of open jobs are estimated
from a sample of SAMPLED jobs, or counted if there are no more than that.
"""

from collections import Counter
from typing import Final

from timeball.domain.model.jobs.among import Among
from timeball.domain.model.jobs.job import OPEN, JobStatus
from timeball.domain.usage.estimate import Estimate, parted
from timeball.engine.context import Context
from timeball.engine.scheduling.list_jobs import RUNNING, shown_statuses

SAMPLED: Final = 1_000


def count_jobs(context: Context, tenant: str) -> dict[str, Estimate]:
    """Return how many jobs a tenant has in each status. Raises UnavailableError."""
    counted = context.store.jobs.count(tenant)
    ended = {part.value: estimate for part, estimate in counted.parts.items() if part is not Among.OPEN}
    standing = _open(context, tenant, counted.parts[Among.OPEN])
    return {**standing, JobStatus.COMPLETED.value: counted.completed, **ended}


def _open(context: Context, tenant: str, in_all: Estimate) -> dict[str, Estimate]:
    """Return how many of the open jobs are shown in each status."""
    statuses = [*sorted(OPEN), RUNNING]
    sampled = context.store.jobs.sample_open(tenant, SAMPLED) if in_all.count else []
    jobs = [job for job in context.store.jobs.read(sampled, strong=False) if job is not None]
    if not jobs:
        return {status: Estimate(0) for status in statuses} | {JobStatus.PENDING.value: in_all}
    shown = Counter(shown_statuses(context, jobs).values())
    return {status: parted(in_all, len(jobs), shown[status])[0] for status in statuses}
