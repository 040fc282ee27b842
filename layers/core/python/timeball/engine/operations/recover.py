"""Recover a job after rows, messages or watches were lost: a restore, a purge, a lost queue.

The scan does the rest: it plans the fires from the restart on, meets the rows that stand, and sends or ends the runs
that are due again. Nothing here calls a target.
"""

import sys
from collections.abc import Iterator
from itertools import islice

from timeball.domain.attempts.recovery import (
    Repair,
    as_new_as,
    doubtful,
    doubtful_row,
    ended_once,
    lost_fires,
    made_due,
    released,
    repair_of,
    rewound,
    without_rows,
)
from timeball.domain.changes.reach import earliest_live
from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.runs.run import LIVE, Run
from timeball.domain.operation import JobFault, Operation
from timeball.domain.planning.planner import MAX_STEPS
from timeball.domain.time.schedule import fires
from timeball.engine.blackouts.read import read_blackouts
from timeball.engine.compare_and_swap import change_all
from timeball.engine.context import Context
from timeball.engine.resolving import resolved, resolved_for_runs
from timeball.engine.runs.effects import apply_effects
from timeball.engine.runs.overlap_lock import release
from timeball.engine.runs.waiting_lines import expect
from timeball.engine.scheduling.rewinding import restart, runs_before
from timeball.ports.collections import LedgerQuery
from timeball.ports.errors import ContendedError
from timeball.ports.rows import Swap

_RUNS = 200
_ANY_NUMBER = sys.maxsize


def recover_job(context: Context, operation: Operation, since: int, key: JobKey) -> JobFault | None:
    """Recover a job; return why not, or None if it is done. May be repeated. Raises UnavailableError.

    Order of writes of recover (a job):

    1. If it is called once at the most: insert a dead letter for each fire that may have begun and has no row.
    2. Make its live runs due, and the limiters for which they wait; end those that are in doubt.
    3. Release its overlap lock, if its holder is over or lost, and end the job, if its final run is over.
    4. Swap the job: its next fire is the first one since the instant, and its version that of the newest row ahead.

    Safe: each step is done once, however often it is repeated. Until step 4 the job stays at its next fire; afterwards
    its plans meet the rows that stand.
    """
    (job,) = context.store.jobs.read([key])
    if job is None:
        return JobFault.JOB_GONE
    if job.intent is not None:
        raise ContendedError(f"a change of job {key.job_id} is not reconciled yet")
    restart_at, now = restart(context, job, since), context.clock.now()
    _insert_doubtful(context, job, restart_at, operation.lost_by, now)
    _insert_end(context, job, since, now)
    _repair_runs(context, job, operation.lost_by, min(since, restart_at or since), now)
    if named := [one for one in (job.holder, job.next_holder) if one is not None]:
        release(context, named)
        (job,) = context.store.jobs.read([key])
        if job is None:
            return JobFault.JOB_GONE
    if restart_at is None:
        _conclude(context, job)
    after = _planned_again(context, job, restart_at, now)
    if after != job and not context.store.jobs.swap([Swap(job, after)], now)[0].done:
        raise ContendedError(f"job {key.job_id} has changed")
    return None


def _conclude(context: Context, job: Job) -> None:
    """Carry out the effects of the run that ends a job, if it is over: the job's own row may be older."""
    if job.is_open and job.next_fire_at is None and job.final_fire_at is not None:
        (final,) = context.store.runs.read([job.run_id(job.final_fire_at)])
        if final is not None and final.is_terminal:
            apply_effects(context, [(final, job)])


def _planned_again(context: Context, job: Job, restart_at: int | None, now: int) -> Job:
    """Return a job whose plans meet all rows from the restart on. A job that has ended is opened for a lost row."""
    if restart_at is not None and (job.is_open or _has_hole(context, job, restart_at)):
        job = rewound(job, restart_at, runs_before(context, job, restart_at), now)
    return job if job.next_fire_at is None else as_new_as(job, _rows_from(context, job, job.next_fire_at))


def _rows_from(context: Context, job: Job, from_at: int) -> Iterator[Run]:
    before = None
    while True:
        page = context.store.runs.ledger(LedgerQuery(job.key, _RUNS, from_at, before=before))
        yield from page.runs
        before = page.next_before
        if before is None:
            return


def _insert_doubtful(context: Context, job: Job, restart_at: int | None, asked_at: int, now: int) -> None:
    """Insert a dead letter for each fire without a row that may have begun, a chunk at a time."""
    (excluded,) = read_blackouts(context, [job])
    (whole,) = resolved_for_runs(context, [job])
    lost = lost_fires(whole, restart_at, asked_at, context.rules.margin_ms, excluded)
    for free in _without_rows(context, job, lost, _runs_left(context, job, restart_at)):
        context.store.runs.insert([doubtful_row(whole, at, now) for at in free], now)


def _insert_end(context: Context, job: Job, since: int, now: int) -> None:
    """Insert a dead letter for the run that has ended its job, if it has no row: it is not called again."""
    if not ended_once(job) or job.final_fire_at is None or max(job.updated_at, job.final_fire_at) < since:
        return
    (whole,) = resolved_for_runs(context, [job])
    for free in _without_rows(context, job, iter([job.final_fire_at])):
        context.store.runs.insert([doubtful_row(whole, at, now) for at in free], now)


def _has_hole(context: Context, job: Job, restart_at: int) -> bool:
    """Return whether a fire of a job that has ended has no row."""
    planned = fires(job.spec.schedule, restart_at, job.final_fire_at or restart_at)
    return any(_without_rows(context, job, planned))


def _without_rows(
    context: Context, job: Job, fire_times: Iterator[int], most_runs: int = _ANY_NUMBER
) -> Iterator[list[int]]:
    """Yield the fires that no row covers, a chunk at a time, until they and the runs between are `most_runs`."""
    standing = list[Run]()
    while most_runs > 0 and (chunk := list(islice(fire_times, MAX_STEPS))):
        between = context.store.runs.between(job.key, chunk[0], chunk[-1])
        standing = [*standing[-1:], *(row for row in between if job.owns(row.id))]
        free, most_runs = without_rows(chunk, standing, most_runs)
        yield free


def _runs_left(context: Context, job: Job, restart_at: int | None) -> int:
    """Return how many runs the schedule still has, from the restart or the next fire on."""
    if job.spec.schedule.max_runs is None:
        return _ANY_NUMBER
    before = job.runs_planned if restart_at is None else runs_before(context, job, restart_at)
    return job.spec.schedule.max_runs - before


def _repair_runs(context: Context, job: Job, asked_at: int, since: int, now: int) -> None:
    """Repair the live runs, the latest first; a run that changes meanwhile is decided about anew."""
    margin_ms = context.rules.margin_ms
    (whole,) = resolved(context, [job])
    backfills = [one.first_at for one in context.store.backfills.of_owner(job.key) if one.is_open]
    reach_at = min(earliest_live(whole, now, context.rules.misfire_ms), since, *backfills)

    def repaired(_: int, run: Run) -> Run | None:
        if run.is_terminal:
            return None
        match repair_of(run, whole, asked_at, margin_ms):
            case Repair.DOUBT:
                return doubtful(run, now)
            case Repair.MAKE_DUE:
                return made_due(run, now, margin_ms)
            case Repair.RELEASE:
                return released(run, now)
            case _:
                return None

    before = None
    while True:
        page = context.store.runs.ledger(LedgerQuery(job.key, _RUNS, reach_at, states=LIVE, before=before))
        rows = change_all(context.store.runs.swap, page.runs, repaired, now, f"a run of job {job.key.job_id}")
        expect(context, [row for row in rows if row.stands_in_line and not row.is_terminal])
        before = page.next_before
        if before is None:
            return
