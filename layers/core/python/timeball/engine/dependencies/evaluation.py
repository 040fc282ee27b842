"""Evaluate the parents of waiting jobs, and notify the children of jobs whose state has changed.

To notify a child only means to make it due: it is then evaluated from the rows. The notification writes the waiting
row, so it refuses an evaluation that began before. A job is due until its children are notified, so no chain of jobs
depends on one process: the scan finds each job.
"""

from collections.abc import Mapping, Sequence
from functools import partial

from timeball.domain.ends.notices import notice_of_block
from timeball.domain.graphs.join import ParentStanding, by_its_end, kept_of, standing_of
from timeball.domain.graphs.waiting import evaluated, is_as_notified, with_children_notified, woken
from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.job import Job, JobStatus
from timeball.domain.model.terms.dependency import Parent
from timeball.engine.compare_and_swap import compare_and_swap
from timeball.engine.context import Context
from timeball.engine.dependencies.cycles import has_runs_that_wait, pages_of_children, wake_runs_of
from timeball.engine.dependencies.graph import naming_any
from timeball.engine.notices import post
from timeball.ports.errors import UnavailableError
from timeball.ports.rows import Swap


def evaluate(context: Context, jobs: Sequence[Job]) -> dict[JobKey, Job]:
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
