"""The fires and runs of a tenant that are due and have not started, although nothing of their own holds them.

Nothing has counted them yet: counts are made when a run starts, or is skipped. The due index names the jobs that no
scan has processed, and the index of notable runs the runs that no executor has claimed. Where the ticker is silent, the
due index is read from the day of its last tick on.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from timeball.domain.model.ids import JobKey, Origin
from timeball.domain.model.jobs.job import Job, JobStatus
from timeball.domain.model.runs.notable import SLOW_MS
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.planning.blackouts import Blackouts
from timeball.domain.planning.fires_ahead import fires_ahead
from timeball.domain.time.instants import DAY_MS, InvalidSchedule
from timeball.domain.usage.attention import Concern, held_by, of_run
from timeball.engine.blackouts.read import read_blackouts
from timeball.engine.context import Context
from timeball.engine.runs.notable_runs import RunFilter, Span, notable_runs
from timeball.ports.due_index import DueQuery, tenant_of

MOST_RUNS: Final = 200
"""How many late runs are read: those with the earliest start, some 25 read units."""
MOST_JOBS: Final = 200
"""How many jobs are read: at most some 100 read units."""
MOST_FIRES: Final = 1_000
"""How many fires of one job are counted."""
_PAGE: Final = 250
"""How many overdue entries of a shard and day are examined, of all tenants."""
_MOST_DAYS: Final = 31


@dataclass(frozen=True)
class OverdueStart:
    """A start that is overdue."""

    due_at: int
    """When it was due (ms)."""
    priority: str
    """Its priority."""


@dataclass(frozen=True)
class Overdue:
    """The overdue starts of a tenant; all of them if `is_exact`."""

    starts: tuple[OverdueStart, ...]
    is_exact: bool = True


def read_overdue(context: Context, tenant: str, now: int) -> Overdue:
    """Return what was due more than SLOW_MS ago and has not started. Raises UnavailableError."""
    runs, has_all_runs = _late_runs(context, tenant, now)
    jobs, has_all_jobs = _late_jobs(context, tenant, now)
    keys = list(dict.fromkeys(run.id.job for run in runs))
    of_runs = {job.key: job for job in context.store.jobs.read(keys, strong=False) if job is not None}
    known = [*of_runs.values(), *jobs]
    excluded = dict(zip((job.key for job in known), read_blackouts(context, known), strict=True))
    free = [
        run for run in runs if (job := of_runs.get(run.id.job)) and not held_by(run.id, job, excluded[job.key], now)
    ]
    starts = [OverdueStart(run.not_before, run.priority) for run in free]
    for job in jobs:
        due = list(islice(due_fires(job, now, context.rules.misfire_ms, excluded[job.key]), MOST_FIRES + 1))
        has_all_jobs &= len(due) <= MOST_FIRES
        starts += [OverdueStart(at, job.spec.priority) for at in due[:MOST_FIRES]]
    return Overdue(tuple(starts), has_all_runs and has_all_jobs)


def due_fires(job: Job, now: int, misfire_ms: int, excluded: Blackouts) -> Iterator[int]:
    """Yield when each fire of a job was to start (ms) that has no row, was due SLOW_MS ago, and is not held."""
    is_held = job.status is not JobStatus.PENDING or job.waits or job.skips is not None or job.blocked is not None
    if is_held or job.next_fire_at is None:
        return
    try:
        for fire in fires_ahead(job, job.next_fire_at, now - SLOW_MS, misfire_ms, excluded):
            if fire.starts_at is not None and fire.starts_at < now - SLOW_MS:
                yield fire.starts_at
    except InvalidSchedule:  # such as a time zone that no longer exists: nothing fires
        return


def _late_runs(context: Context, tenant: str, now: int) -> tuple[list[Run], bool]:
    """Return the tenant's late runs that wait for nothing, and whether these are all."""
    span = Span(to_at=now, oldest_first=True)
    rows = next(notable_runs(context, RunFilter(tenant, frozenset({RunState.QUEUED})), MOST_RUNS, span), [])
    return [run for run in rows if _is_overdue(run, now, context.rules.margin_ms)], len(rows) < MOST_RUNS


def _is_overdue(run: Run, now: int, margin_ms: int) -> bool:
    """Return whether a run is late by itself: no backfill, not asked for again, and waiting for nothing."""
    if run.id.origin is Origin.BACKFILL or not run.is_unstarted:
        return False
    found = of_run(run, now, None, margin_ms)
    return found is not None and found.kind is Concern.LATE and found.waits_for is None


def _late_jobs(context: Context, tenant: str, now: int) -> tuple[list[Job], bool]:
    """Return the tenant's jobs that should have been processed, and whether these are all."""
    pages = context.store.due.query(_queries(context, now))
    named = [one for page in pages for one in page.candidates if isinstance(one, JobKey) and tenant_of(one) == tenant]
    keys = list(dict.fromkeys(named))
    rows = context.store.jobs.read(keys[:MOST_JOBS], strong=False)
    has_all = len(keys) <= MOST_JOBS and all(page.stopped is None for page in pages)
    return [job for job in rows if job is not None], has_all


def _queries(context: Context, now: int) -> Sequence[DueQuery]:
    ticked_at = min(context.store.partitions.last_tick(0) or now, now)
    first_at = max(ticked_at, now - _MOST_DAYS * DAY_MS) - DAY_MS
    days = range(first_at - first_at % DAY_MS, now + 1, DAY_MS)
    return [DueQuery(shard, day_at, now - SLOW_MS, _PAGE) for day_at in days for shard in range(context.rules.shards)]
