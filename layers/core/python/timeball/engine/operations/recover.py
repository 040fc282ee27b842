"""Recover a job after rows, messages or watches were lost: a restore, a purge, a lost queue.

The scan does the rest: it plans the fires from the restart on, meets the rows that stand, and sends or ends the runs
that are due again. Nothing here calls a target.
"""

from itertools import islice

from timeball.domain.attempts.recovery import (
    Repair,
    doubtful,
    doubtful_row,
    lost_fires,
    made_due,
    repair_of,
    restart_behind,
    restart_of,
    rewound,
)
from timeball.domain.changes.reach import earliest_live
from timeball.domain.model.ids import JobKey, Origin
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.runs.run import LIVE, Run
from timeball.domain.operation import JobFault, Operation
from timeball.domain.planning.planner import MAX_STEPS
from timeball.engine.blackouts.read import read_blackouts
from timeball.engine.compare_and_swap import change_all
from timeball.engine.context import Context
from timeball.engine.resolving import resolved, resolved_for_runs
from timeball.engine.runs.overlap_lock import release
from timeball.engine.runs.waiting_lines import expect
from timeball.ports.collections import LedgerQuery
from timeball.ports.errors import ContendedError
from timeball.ports.rows import Swap

_RUNS = 200


def recover_job(context: Context, operation: Operation, since: int, key: JobKey) -> JobFault | None:
    """Recover a job; return why not, or None if it is done. May be repeated. Raises UnavailableError.

    Order of writes of recover (a job):

    1. If it is called once at the most: insert a dead letter for each fire that may have begun and has no row.
    2. Make its live runs due, and the limiters for which they wait; end those that are in doubt.
    3. Release its overlap lock, if its holder is over or lost.
    4. Swap the job: its next fire is the first one since the instant.

    Safe: each step is done once, however often it is repeated. Until step 4 the job stays at its next fire; afterwards
    its plans meet the rows that stand.
    """
    (job,) = context.store.jobs.read([key])
    if job is None or not job.is_open:
        return JobFault.JOB_GONE if job is None else None
    if job.intent is not None:
        raise ContendedError(f"a change of job {key.job_id} is not reconciled yet")
    restart_at, now = _restart(context, job, since), context.clock.now()
    _insert_doubtful(context, job, restart_at, operation.created_at, now)
    _repair_runs(context, job, operation.created_at, min(since, restart_at or since), now)
    if named := [one for one in (job.holder, job.next_holder) if one is not None]:
        release(context, named)
        (job,) = context.store.jobs.read([key])
        if job is None:
            return JobFault.JOB_GONE
    if restart_at is not None:
        swap = Swap(job, rewound(job, restart_at, _runs_before(context, job, restart_at), now))
        if not context.store.jobs.swap([swap], now)[0].done:
            raise ContendedError(f"job {key.job_id} has changed")
    return None


def _restart(context: Context, job: Job, since: int) -> int | None:
    """Return the fire from which a job is planned again; a range that stands before it may cover it."""
    fire_at = restart_of(job, since)
    if fire_at is None:
        return None
    before = None
    while True:
        page = context.store.runs.ledger(LedgerQuery(job.key, _RUNS, to_at=fire_at - 1, before=before))
        standing = next((row for row in page.runs if row.id.origin is Origin.SCHEDULE and job.owns(row.id)), None)
        before = page.next_before
        if standing is not None or before is None:
            return restart_behind(job, fire_at, standing)


def _insert_doubtful(context: Context, job: Job, restart_at: int | None, asked_at: int, now: int) -> None:
    """Insert a dead letter for each fire without a row that may have begun, a chunk at a time."""
    (excluded,) = read_blackouts(context, [job])
    (whole,) = resolved_for_runs(context, [job])
    lost, standing = lost_fires(whole, restart_at, asked_at, context.rules.margin_ms, excluded), list[Run]()
    while chunk := list(islice(lost, MAX_STEPS)):
        between = context.store.runs.between(job.key, chunk[0], chunk[-1])
        standing = [*standing[-1:], *(row for row in between if job.owns(row.id))]
        free = [at for at in chunk if not any(row.covers(at) for row in standing)]
        context.store.runs.insert([doubtful_row(whole, at, now) for at in free], now)


def _repair_runs(context: Context, job: Job, asked_at: int, since: int, now: int) -> None:
    """Repair the live runs, the latest first; a run that changes meanwhile is decided about anew."""
    margin_ms = context.rules.margin_ms
    (whole,) = resolved(context, [job])
    backfills = [one.first_at for one in context.store.backfills.of_owner(job.key) if one.is_open]
    reach_at = min(earliest_live(whole, now, context.rules.misfire_ms), since, *backfills)

    def repaired(_: int, run: Run) -> Run | None:
        if run.is_terminal:
            return None
        match repair_of(run, whole, asked_at, now, margin_ms):
            case Repair.DOUBT:
                return doubtful(run, now)
            case Repair.MAKE_DUE:
                return made_due(run, now, margin_ms)
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


def _runs_before(context: Context, job: Job, restart_at: int) -> int:
    """Return how many runs count against the schedule's `max_runs` before a fire: their rows are counted."""
    first_at = job.change.next_fire_at
    if job.spec.schedule.max_runs is None or first_at is None or restart_at <= first_at:
        return job.change.runs_planned
    rows = context.store.runs.between(job.key, first_at, restart_at - 1)
    return job.change.runs_planned + sum(row.last_fire_at is None and job.owns(row.id) for row in rows)
