"""Evaluate the parents of waiting jobs and runs, and wake the children of jobs and runs whose state has changed.

To wake a child only means to make it due: it is then evaluated by the rows as they stand. Waking writes the child's
row, so it refuses an evaluation that began before. A job or run is due until its children are notified, so no chain of
jobs depends on one process: the scan finds each.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from timeball.domain.changes.reach import earliest_live
from timeball.domain.ends.notices import notice_of_block
from timeball.domain.graphs.evaluation import (
    cycle_evaluated,
    evaluated,
    is_as_notified,
    is_run_as_notified,
    with_children_notified,
    woken,
)
from timeball.domain.graphs.trigger_rule import (
    ParentStanding,
    by_its_end,
    cycle_of_parent,
    kept_of,
    kept_standing,
    standing_of,
)
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.model.jobs.job import Job, JobStatus
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.runs.transitions import ended, withdrawn
from timeball.domain.model.runs.values import Guarantor
from timeball.domain.model.terms.dependency import Parent
from timeball.engine.compare_and_swap import compare_and_swap
from timeball.engine.context import Context
from timeball.engine.dependencies.examine import naming_any
from timeball.engine.metrics import moved
from timeball.engine.notices import post
from timeball.ports.collections import LedgerQuery
from timeball.ports.errors import UnavailableError
from timeball.ports.rows import Swap

_CHILDREN_AT_ONCE = 1_000
"""How many children are notified together: their rows are read, and then written, side by side."""
_PAGE = 100
"""How many rows of a ledger are read together: rows that wait, or rows that were skipped."""

_QUEUED = frozenset({RunState.QUEUED})


def evaluate_runs(context: Context, runs: Sequence[Run]) -> list[Run]:
    """Evaluate the parents of waiting runs; return the runs that may be sent. Raises UnavailableError."""
    if not runs:
        return []
    notified = _notify_children_of_runs(context, [run for run in runs if run.must_notify_children]) + [
        run for run in runs if not run.must_notify_children
    ]
    waiting = [run for run in notified if run.state is RunState.QUEUED and run.waits]
    jobs = dict(zip(waiting, context.store.jobs.read([run.id.job for run in waiting]), strict=True))
    now = context.clock.now()
    standings = standings_of_runs(context, [(run, job) for run, job in jobs.items() if job is not None], now)
    swaps = [Swap(run, _after(run, jobs[run], standings.get(run, []), now)) for run in waiting]
    _notify_of_blocks(context, [(one, jobs[one.before]) for one in swaps], now)
    swapped = context.store.runs.swap(swaps, now)
    moved(context, swaps, swapped)
    standing = [one.row for one in swapped if one.done and one.row is not None]
    to_notify = [run for run in standing if run.must_notify_children]
    return [run for run in standing if run.state is RunState.QUEUED and not run.waits] + evaluate_runs(
        context, to_notify
    )


def _notify_children_of_runs(context: Context, runs: Sequence[Run]) -> list[Run]:
    """Wake the children of the runs' jobs in their cycles; return the runs whose children are notified now.

    A run keeps its mark if its children would see another state of it by now.
    """
    wake_cycles(context, runs)

    def after(position: int, run: Run) -> Run | None:
        return evolve(run, must_notify_children=False) if is_run_as_notified(run, runs[position]) else None

    standing = compare_and_swap(context.store.runs.swap, runs, after, context.clock.now())
    return [one.row for one in standing if one.done and one.row is not None and not one.row.must_notify_children]


def wake_cycles(context: Context, runs: Sequence[Run]) -> None:
    """Wake each run that waits in the cycle of one of these runs, and whose job still names that run's job.

    Raises UnavailableError.
    """
    by_fire: dict[int, list[JobKey]] = {}
    for run in runs:
        by_fire.setdefault(run.id.fire_at, []).append(run.id.job)
    for fire_at, parents in by_fire.items():
        for page in pages_of_children(context, parents):
            rows = context.store.runs.read([RunId(child, fire_at, Origin.SCHEDULE) for child in page])
            waiting = {run.id.job: run for run in rows if run is not None and _is_to_be_woken(run)}
            jobs = naming_any(context.store.jobs.read(list(waiting)), parents)
            _wake(context, [waiting[job.key] for job in jobs])


def pages_of_children(context: Context, parents: Sequence[JobKey]) -> Iterator[list[JobKey]]:
    """Yield the children of jobs, each once, in pages that are notified together. Raises UnavailableError."""
    children = [*dict.fromkeys(child for page in context.store.edges.children(parents) for child in page)]
    for start in range(0, len(children), _CHILDREN_AT_ONCE):
        yield children[start : start + _CHILDREN_AT_ONCE]


def has_runs_that_wait(job: Job) -> bool:
    """Return whether a run of the job may wait, rather than the job itself."""
    return not job.spec.schedule.is_one_off or job.spec.for_each is not None


def wake_runs_of(context: Context, jobs: Sequence[Job]) -> None:
    """Wake all waiting runs of jobs. Raises UnavailableError."""
    now = context.clock.now()
    for job in jobs:
        query = LedgerQuery(job.key, _PAGE, earliest_live(job, now, context.rules.misfire_ms), states=_QUEUED)
        page = context.store.runs.ledger(query)
        _wake(context, page.runs)
        while page.next_before is not None:
            page = context.store.runs.ledger(evolve(query, before=page.next_before))
            _wake(context, page.runs)


def _wake(context: Context, runs: Sequence[Run | None]) -> None:
    now = context.clock.now()
    standing = compare_and_swap(context.store.runs.swap, runs, partial(_run_woken, now), now)
    if not all(one.done for one in standing):
        raise UnavailableError("runs that wait for others kept changing")


def _notify_of_blocks(context: Context, swaps: Sequence[tuple[Swap[Run], Job | None]], now: int) -> None:
    news = [(job, one.after) for one, job in swaps if job and one.after.blocked not in (None, one.before.blocked)]
    post(context, [(run.depth, notice_of_block(job, run.blocked, now, run)) for job, run in news if run.blocked])


def _run_woken(now: int, _: int, run: Run) -> Run | None:
    return evolve(run, due_at=now) if _is_to_be_woken(run) else None


def _is_to_be_woken(run: Run) -> bool:
    return run.waits and run.state is RunState.QUEUED


def _after(run: Run, job: Job | None, parents: list[ParentStanding], now: int) -> Run:
    if job is None or job.status is JobStatus.CANCELLED:
        return ended(run, RunState.CANCELLED, now, Guarantor.SCAN, Reason.JOB_CANCELLED)
    if job.status is JobStatus.PAUSED and run.is_unstarted:  # a run of a rerun goes on, as a retry does
        return withdrawn(run)
    return cycle_evaluated(run, job, parents, now)


def standings_of_runs(
    context: Context, runs: Sequence[tuple[Run, Job]], now: int
) -> Mapping[Run, list[ParentStanding]]:
    """Read how the parents of runs stand in the cycles of these runs. Raises UnavailableError."""
    keys = list(dict.fromkeys(key for _, job in runs for key in job.spec.parent_keys))
    jobs = dict(zip(keys, context.store.jobs.read(keys), strict=True))
    names = list(
        dict.fromkeys(RunId(key, run.id.fire_at, Origin.SCHEDULE) for run, job in runs for key in job.spec.parent_keys)
    )
    rows = dict(zip(names, context.store.runs.read(names), strict=True))

    def standing(key: JobKey, run: Run, child: Job) -> ParentStanding:
        parent, kept = jobs[key], kept_of(run, key.job_id) or kept_of(child, key.job_id)
        if parent is not None and parent.spec.schedule.is_one_off:
            return standing_of(key.job_id, parent, child, now, kept)
        row = rows[RunId(key, run.id.fire_at, Origin.SCHEDULE)]
        if row is None and kept is not None:
            return kept_standing(kept, key.tenant)
        row = row or range_over(context, parent, run.id.fire_at)
        return cycle_of_parent(key.job_id, parent, row, run.id.fire_at)

    return {
        run: [
            by_its_end(standing(key, run, job), parent.on)
            for key, parent in zip(job.spec.parent_keys, job.spec.depends_on, strict=True)
        ]
        for run, job in runs
    }


def range_over(context: Context, parent: Job | None, fire_at: int) -> Run | None:
    """Return a recurring job's skipped range over a fire time, if its ledger is written that far.

    Raises UnavailableError.
    """
    if parent is None or parent.spec.schedule.is_one_off:
        return None
    if parent.next_fire_at is not None and parent.next_fire_at <= fire_at:
        return None
    query = LedgerQuery(parent.key, _PAGE, to_at=fire_at, states=frozenset({RunState.SKIPPED}))
    return next((row for row in context.store.runs.ledger(query).runs if row.covers(fire_at)), None)


def evaluate_jobs(context: Context, jobs: Sequence[Job]) -> dict[JobKey, Job]:
    """Evaluate the parents of waiting jobs. Return, as they stand, the jobs that may run and can be planned.

    ① Notify the children of jobs that must notify them. ② Read the parents. ③ Swap: let the job run, or skip it; or
    note what blocks it, and then ① and ② again; or set the next evaluation. Raises UnavailableError.
    """
    asking = [job for job in jobs if job.waits or job.must_notify_children]
    free = {job.key: job for job in jobs if not (job.waits or job.must_notify_children)}
    for _ in range(2):
        asking = notify_children(context, [job for job in asking if job.must_notify_children]) + [
            job for job in asking if not job.must_notify_children
        ]
        waiting = [job for job in asking if job.waits and job.status is JobStatus.PENDING and job.intent is None]
        if not waiting:
            break
        now = context.clock.now()
        standings = standings_of_jobs(context, waiting, now)
        swaps = [Swap(job, evaluated(job, standings[job.key], now)) for job in waiting]
        news = [one.after for one in swaps if one.after.blocked not in (None, one.before.blocked)]
        post(context, [(job.depth, notice_of_block(job, job.blocked, now)) for job in news if job.blocked is not None])
        swapped = context.store.jobs.swap(swaps, now)
        asking = [one.row for one in swapped if one.done and one.row is not None]
        free |= {job.key: job for job in asking if not job.waits}
        asking = [job for job in asking if job.must_notify_children]
    return free


def notify_children(context: Context, jobs: Sequence[Job]) -> list[Job]:
    """Notify the children of jobs; return, as they stand, the jobs whose children are notified.

    Another process may have written such a job since it was read. The job keeps its mark if its children would see
    another state of it by now. Raises UnavailableError.
    """
    if not jobs:
        return []
    wake_children(context, [job.key for job in jobs])
    now = context.clock.now()

    def after(position: int, row: Job) -> Job | None:
        return with_children_notified(row, now) if is_as_notified(row, jobs[position]) else None

    standing = compare_and_swap(context.store.jobs.swap, jobs, after, now)
    return [one.row for one in standing if one.done and one.row is not None and not one.row.must_notify_children]


def wake_children(context: Context, parents: Sequence[JobKey]) -> None:
    """Schedule an evaluation for each waiting child that still names one of these parents, once if it names several.

    An edge may be out of date. If two jobs have swapped their dependency, they would otherwise wake each other forever.
    Raises UnavailableError.
    """
    for page in pages_of_children(context, parents):
        rows, now = naming_any(context.store.jobs.read(page), parents), context.clock.now()
        ends = ends_for_paused(context, rows, now)
        standing = compare_and_swap(context.store.jobs.swap, rows, partial(_woken, now, ends), now)
        if not all(one.done for one in standing):
            raise UnavailableError("jobs that wait for others kept changing")
        wake_runs_of(context, [job for job in rows if has_runs_that_wait(job)])


def _woken(now: int, ends: Mapping[JobKey, list[ParentStanding]], _: int, job: Job) -> Job | None:
    return woken(job, now, ends.get(job.key))


def ends_for_paused(context: Context, jobs: Sequence[Job], now: int) -> Mapping[JobKey, list[ParentStanding]]:
    """Read how the parents of paused, waiting jobs stand: nothing else evaluates them before the resume.

    Other jobs cost no read. Raises UnavailableError.
    """
    paused = [job for job in jobs if job.waits and job.status is JobStatus.PAUSED]
    return standings_of_jobs(context, paused, now) if paused else {}


def standings_of_jobs(context: Context, jobs: Sequence[Job], now: int) -> Mapping[JobKey, list[ParentStanding]]:
    """Read how the parents of one-offs stand. Raises UnavailableError."""
    keys = list(dict.fromkeys(JobKey(job.key.tenant, one.job_id) for job in jobs for one in job.spec.depends_on))
    rows = dict(zip(keys, context.store.jobs.read(keys), strict=True))

    def standing(job: Job, parent: Parent) -> ParentStanding:
        row = rows[JobKey(job.key.tenant, parent.job_id)]
        return by_its_end(standing_of(parent.job_id, row, job, now, kept_of(job, parent.job_id)), parent.on)

    return {job.key: [standing(job, one) for one in job.spec.depends_on] for job in jobs}
