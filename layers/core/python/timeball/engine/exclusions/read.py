"""Read what blocks runs: the freezes and quotas of their tenants, and the calendars of jobs that name one.

A process remembers both for a moment, so jobs that have neither cost it next to nothing.
"""

from collections.abc import Sequence

from timeball.domain.model.jobs.job import Job
from timeball.domain.model.tenants.quotas import NO_QUOTAS, Quotas
from timeball.domain.model.terms.calendar import CalendarKey
from timeball.domain.planning.blackouts import Blackouts, blackouts_of
from timeball.engine.context import Context


def read_stopped(context: Context, tenants: Sequence[str]) -> frozenset[str]:
    """Return the tenants that are disabled, so that no run of theirs starts now. Raises UnavailableError."""
    now = context.clock.now()
    rows = context.known.read("freezes", context.store.freezes, tenants, now)
    stops = [(one, None if one is None else one.stop_at(now)) for one in rows]
    return frozenset(row.tenant for row, stop in stops if row is not None and stop is not None and stop.from_at <= now)


def read_quotas(context: Context, tenants: Sequence[str]) -> dict[str, Quotas]:
    """Return the quotas of tenants; where a tenant has none of its own, those of the settings.

    Raises UnavailableError.
    """
    rows = context.known.read("freezes", context.store.freezes, tenants, context.clock.now()) if tenants else []
    own = [NO_QUOTAS if row is None else row.quotas for row in rows]
    return {tenant: one.over(context.rules.quotas) for tenant, one in zip(tenants, own, strict=True)}


def read_blackouts(context: Context, jobs: Sequence[Job]) -> list[Blackouts]:
    """Return what blocks the fires of each job. Raises UnavailableError."""
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
        blackouts_of(job, calendars.get(job.key), () if found is None else found.items)
        for job, found in zip(jobs, freezes, strict=True)
    ]
