"""Jobs as their runs see them: read, and merged with the versions of their tasks that the runs use.

A run names its task, so the task is read in the same request as the job. If that misses it (the job names another task
by now, or the version was replaced at that moment), the task is read again by itself. Jobs without a task cost no read.
"""

from collections.abc import Mapping, Sequence

from timeball.domain.changes.resolve import resolve, version_for
from timeball.domain.model.ids import JobKey, TaskKey
from timeball.domain.model.jobs.job import Job, with_spec
from timeball.domain.model.jobs.task import Task, TaskRef
from timeball.domain.model.runs.run import Run
from timeball.domain.model.terms.policies import Work
from timeball.engine.blackouts.read import within_ceilings
from timeball.engine.context import Context

_Works = Mapping[tuple[JobKey, str | None], Work | None]
"""Works, by their jobs and names; None: it is gone."""


def resolved(context: Context, jobs: Sequence[Job]) -> list[Job]:
    """Return jobs with the current versions of their tasks. Raises UnavailableError."""
    tasks = read_tasks(context, [TaskKey(job.key.tenant, job.task_id) for job in jobs if job.task_id is not None])
    return [resolve(_of(tasks, job), job) for job in jobs]


def resolved_for_runs(context: Context, jobs: Sequence[Job]) -> list[Job]:
    """Return jobs as new runs have them: resolved, and within the ceilings of priorities. Raises UnavailableError."""
    return within_ceilings(context, resolved(context, jobs)) if jobs else []


def read_tasks(context: Context, keys: Sequence[TaskKey]) -> dict[TaskKey, Task]:
    """Return the tasks that exist under those keys, including deleted ones. Raises UnavailableError."""
    distinct = list(dict.fromkeys(keys))
    rows = context.store.tasks.read(distinct) if distinct else []
    return {row.key: row for row in rows if row is not None}


def task_of(context: Context, run: Run) -> Task | None:
    """Return the version of its task that a run uses, or would use now; None if it names no task."""
    ref = _ref_of(run)
    return None if ref is None else _read_again(context, [ref]).get(ref)


def read_jobs_of(context: Context, runs: Sequence[Run | None], *, with_work: bool = False) -> list[Job | None]:
    """Return the job of each run as the run sees it: with the task version that the run has fixed, or the current one.

    If the work is read too, it has the payload that the run was given, if any. Raises UnavailableError.
    """
    there = [run for run in runs if run is not None]
    jobs, tasks = _read(context, there, with_work=with_work)
    works = _works_of(context, there) if with_work else {}
    return [None if run is None else _seen(run, jobs[run.id.job], tasks, works) for run in runs]


def _read(
    context: Context, runs: Sequence[Run], *, with_work: bool
) -> tuple[dict[JobKey, Job | None], dict[TaskRef, Task]]:
    """Return the jobs of runs, and the versions of tasks that the runs use: first those that the runs name."""
    keys = list(dict.fromkeys(run.id.job for run in runs))
    refs = list(dict.fromkeys(ref for run in runs if (ref := _ref_of(run)) is not None))
    rows, tasks = context.store.jobs.read_with_tasks(keys, refs, with_work=with_work)
    jobs = dict(zip(keys, rows, strict=True))
    found = {ref: task for ref, task in zip(refs, tasks, strict=True) if task is not None}
    wanted = dict.fromkeys(version_for(run, job) for run in runs if (job := jobs[run.id.job]) is not None)
    missed = [ref for ref in wanted if ref is not None and ref not in found]
    return jobs, found | _read_again(context, missed) if missed else found


def _seen(run: Run, job: Job | None, tasks: Mapping[TaskRef, Task], works: _Works) -> Job | None:
    """Return a job as a run of it sees it, without its work if the payload or event that the run was given is gone."""
    if job is None:
        return None
    own, event = (run.id.job, run.work_digest), (run.id.job, run.event_digest)
    if any(name in works and works[name] is None for name in (own, event)):
        return with_spec(job, work=None)
    ref = version_for(run, job)
    return resolve(None if ref is None else tasks.get(ref), job, works.get(own), works.get(event))


def _works_of(context: Context, runs: Sequence[Run]) -> _Works:
    """Return the payloads and the events that runs were given."""
    given = ((run.id.job, name) for run in runs for name in (run.work_digest, run.event_digest) if name is not None)
    names = list(dict.fromkeys(given))
    return dict(zip(names, context.store.works.read(names), strict=True)) if names else {}


def _read_again(context: Context, refs: Sequence[TaskRef]) -> dict[TaskRef, Task]:
    """Return the versions that exist; for a version that is no longer kept, the current one."""
    current = [TaskRef(ref.key) for ref in refs]
    _, tasks = context.store.jobs.read_with_tasks([], [*refs, *current])
    either = zip(refs, tasks[: len(refs)], tasks[len(refs) :], strict=True)
    return {ref: task for ref, exact, newest in either if (task := exact or newest) is not None}


def _ref_of(run: Run) -> TaskRef | None:
    return None if run.task_id is None else TaskRef(TaskKey(run.id.job.tenant, run.task_id), run.task_version)


def _of(tasks: Mapping[TaskKey, Task], job: Job) -> Task | None:
    return None if job.task_id is None else tasks.get(TaskKey(job.key.tenant, job.task_id))
