"""Read what blocks runs: the freezes, quotas and defaults of their tenants, and the calendars of jobs that name one.

A process remembers these for a moment, so jobs that have none cost it next to nothing. For people, an outlook also says
which run a calendar has moved: a job has at most one such run that waits, because it starts before the next fire.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.calendar import CalendarKey, CalendarPolicy
from timeball.domain.model.jobs.job import Job, with_spec
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.tenants.tenant import NO_DEFAULTS, NO_QUOTAS, Defaults, Quotas
from timeball.domain.planning.blackouts import MOST_MOVED_MS, NOTHING, Blackouts, blackouts_of
from timeball.domain.time.instants import InvalidSchedule
from timeball.domain.time.schedule import previous_fire
from timeball.engine.blackouts.calendars import calendar_of
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


def read_defaults(context: Context, tenant: str) -> Defaults:
    """Return the defaults of a tenant. Raises UnavailableError."""
    (row,) = context.known.read("freezes", context.store.freezes, [tenant], context.clock.now())
    return NO_DEFAULTS if row is None else row.defaults


def within_ceilings(context: Context, jobs: Sequence[Job]) -> list[Job]:
    """Return jobs with the priorities that their new runs have: within the ceilings of their tenants.

    Raises UnavailableError.
    """
    rows = context.known.read("freezes", context.store.freezes, [job.key.tenant for job in jobs], context.clock.now())
    ceilings = [None if row is None else row.defaults.priority_ceiling for row in rows]
    return [
        job if ceiling is None else with_spec(job, priority=job.spec.priority.within(ceiling))
        for job, ceiling in zip(jobs, ceilings, strict=True)
    ]


def read_blackouts(context: Context, jobs: Sequence[Job]) -> list[Blackouts]:
    """Return what blocks the fires of each job. Raises UnavailableError.

    Order of writes of defer (a frozen job, or an unstarted run of it):

    1. Swap it: a due key at the end of the freeze, or 15 s later if that comes first.
    2. Delete the message of the run.

    Safe: the due key brings it back; nothing else of it is written.
    """
    if not jobs:
        return []
    now = context.clock.now()
    freezes = context.known.read("freezes", context.store.freezes, [job.key.tenant for job in jobs], now)
    keys = _calendars_of(jobs)
    found = context.known.read("calendars", context.store.calendars, list(keys.values()), now)
    calendars = dict(zip(keys, found, strict=True))
    return [
        blackouts_of(job, calendars.get(job.key), () if row is None else row.items)
        for job, row in zip(jobs, freezes, strict=True)
    ]


def _calendars_of(jobs: Sequence[Job]) -> dict[JobKey, CalendarKey]:
    return {job.key: key for job in jobs if (key := calendar_of(job.spec)) is not None}


@dataclass(frozen=True)
class CalendarOutlook:
    """The fires that a job's calendar blocks, and the run that it has moved and that has not started."""

    excluded: Blackouts = NOTHING
    moved: Run | None = None


NO_CALENDAR = CalendarOutlook()


def outlooks(context: Context, jobs: Sequence[Job], now: int | None = None) -> Mapping[JobKey, CalendarOutlook]:
    """Return the effect of the calendars on the jobs that name one, as they stand now. Raises UnavailableError.

    `now` None: the jobs are new, so none of their runs was moved.
    """
    keys = _calendars_of(jobs)
    if not keys:
        return {}
    found = dict(zip(keys, context.store.calendars.read(list(keys.values())), strict=True))
    moved = {} if now is None else moved_runs(context, jobs, now)
    return {
        job.key: CalendarOutlook(blackouts_of(job, found[job.key], ()), moved.get(job.key))
        for job in jobs
        if job.key in found
    }


def moved_runs(context: Context, jobs: Sequence[Job], now: int) -> Mapping[JobKey, Run]:
    """Return each job's waiting run that its calendar has moved to another day. Raises UnavailableError."""
    last = [job.run_id(at) for job in jobs if (at := _last_fire(job, now)) is not None]
    rows = context.store.runs.read(last) if last else []
    waiting = [row for row in rows if row is not None and row.is_unstarted and row.state is RunState.QUEUED]
    return {row.id.job: row for row in waiting if row.moved_to is not None}


def _last_fire(job: Job, now: int) -> int | None:
    """Return the last fire before now of a job whose calendar moves fires."""
    if job.spec.calendar is None or job.spec.calendar.policy is not CalendarPolicy.NEXT:
        return None
    try:
        earliest_at = now - MOST_MOVED_MS
        is_one_off = job.spec.schedule.is_one_off
        return previous_fire(job.spec.schedule, now, earliest_at if is_one_off else max(earliest_at, job.begun_at))
    except InvalidSchedule:  # such as a time zone that no longer exists
        return None
