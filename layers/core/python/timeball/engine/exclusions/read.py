"""Read what keeps fires of jobs away: the freezes of their tenants, and the calendars of those that name one.

Both are remembered for a moment, so that jobs which have neither cost a process next to nothing.
"""

from collections.abc import Sequence

from timeball.domain.model.calendar import CalendarKey
from timeball.domain.model.job import Job
from timeball.domain.policy.exclusions import Exclusions, exclusions
from timeball.engine.context import Context


def read_exclusions(context: Context, jobs: Sequence[Job]) -> list[Exclusions]:
    """Return what keeps fires of each job away. Raises UnavailableError."""
    if not jobs:
        return []
    now = context.clock.now()
    freezes = context.known.read("freezes", context.store.freezes, [job.key.tenant for job in jobs], now)
    keys = {
        job.key: CalendarKey(job.key.tenant, job.spec.calendar.name) for job in jobs if job.spec.calendar is not None
    }
    calendars = dict(
        zip(keys, context.known.read("calendars", context.store.calendars, list(keys.values()), now), strict=True)
    )
    return [
        exclusions(job, calendars.get(job.key), () if found is None else found.items)
        for job, found in zip(jobs, freezes, strict=True)
    ]
