"""Jobs as their runs see them: read, and merged with the versions of their tasks that the runs use.

A run names its task, so the task is read in the same request as the job. If that misses it (the job names another task
by now, or the version was replaced at that moment), the task is read again by itself. Jobs without a task cost no read.

Create, replace and delete tasks, each with one write of the task's row. A replaced version is kept before that.

A task that open jobs name cannot be deleted. The index that names those jobs may lag by a moment, so it is searched
before the row is written, and its newest entries again after it. A job that slips through both goes on with the task as
it was: the row of a deleted task stays, and only the API no longer shows it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from timeball.domain.changes.change import deleted_task, new_task, replaced_task, restored_task, revised_task
from timeball.domain.changes.resolve import resolve, version_for
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey, RunId, TaskKey
from timeball.domain.model.jobs.job import Job, with_spec
from timeball.domain.model.jobs.task import Task, TaskRef, TaskSpec
from timeball.domain.model.runs.run import Run
from timeball.domain.model.terms.policies import Work
from timeball.engine.context import Context
from timeball.engine.listed import MAX_EXAMINED, Page, read_page
from timeball.ports.errors import ContendedError
from timeball.ports.rows import ListQuery, Swap


def resolved(context: Context, jobs: Sequence[Job]) -> list[Job]:
    """Return jobs as new runs see them, with the current versions of their tasks. Raises UnavailableError."""
    tasks = read_tasks(context, [TaskKey(job.key.tenant, job.task_id) for job in jobs if job.task_id is not None])
    return [resolve(_of(tasks, job), job) for job in jobs]


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
    keys = list(dict.fromkeys(run.id.job for run in there))
    refs = list(dict.fromkeys(ref for run in there if (ref := _ref_of(run)) is not None))
    jobs, tasks = context.store.jobs.read_with_tasks(keys, refs, with_work=with_work)
    by_key = dict(zip(keys, jobs, strict=True))
    found = {ref: task for ref, task in zip(refs, tasks, strict=True) if task is not None}
    wanted = {run.id: version_for(run, job) for run in there if (job := by_key[run.id.job]) is not None}
    missed = [ref for ref in dict.fromkeys(wanted.values()) if ref is not None and ref not in found]
    if missed:
        found |= _read_again(context, missed)
    works = _works_of(context, there) if with_work else {}

    def seen(run: Run) -> Job | None:
        job, ref, trigger = by_key[run.id.job], wanted.get(run.id), works.get(run.id)
        if job is not None and trigger is None and run.id in works:
            return with_spec(job, work=None)  # the payload that the run was given is gone
        return None if job is None else resolve(None if ref is None else found.get(ref), job, trigger)

    return [None if run is None else seen(run) for run in runs]


def _works_of(context: Context, runs: Sequence[Run]) -> dict[RunId, Work | None]:
    """Return the work of the runs that were given some."""
    own = {run.id: (run.id.job, run.work_digest) for run in runs if run.work_digest is not None}
    return dict(zip(own, context.store.works.read(list(own.values())), strict=True)) if own else {}


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


_COUNTED = 100
"""How many jobs that use a task are counted. If there are more, the count is a lower bound."""

MOST_PAGES = 20
"""How many pages of jobs a delete reads, of MAX_EXAMINED each. Ended jobs are among them until they expire."""

_TRIES = 10


class TaskOutcome(StrEnum):
    """The outcome of a change.

    Done, or true already; created; created by an earlier request; the id belongs to another task; not found; changed
    since it was read; named by open jobs.
    """

    DONE = "done"
    CREATED = "created"
    REPEATED = "repeated"
    CONFLICT = "conflict"
    NOT_FOUND = "not_found"
    STALE = "stale"
    IN_USE = "in_use"


@dataclass(frozen=True)
class Users:
    """Open jobs that name a task: how many, whether there may be more, and one of them.

    `one` is None if the first `ended` jobs of the task have ended and the others were not read.
    """

    count: int
    is_more: bool
    one: JobKey | None
    ended: int = 0


@dataclass(frozen=True)
class TaskChanged:
    """The outcome, the task as it stands, and the open jobs that use it."""

    outcome: TaskOutcome
    task: Task | None
    users: Users | None = None


def create_task(context: Context, spec: TaskSpec) -> TaskChanged:
    """Store a task as its first version, or as the next version of a deleted task. Raises UnavailableError."""
    now = context.clock.now()
    task = new_task(spec, now)
    (standing,) = context.store.tasks.insert([task], now)
    if standing is None:
        return TaskChanged(TaskOutcome.CREATED, task)
    if standing.is_deleted:
        changed = revise_task(context, standing, spec)
        return evolve(changed, outcome=TaskOutcome.CREATED) if changed.outcome is TaskOutcome.DONE else changed
    is_same = standing.spec.fingerprint == spec.fingerprint
    return TaskChanged(TaskOutcome.REPEATED if is_same else TaskOutcome.CONFLICT, standing)


def revise_task(context: Context, task: Task, spec: TaskSpec) -> TaskChanged:
    """Replace a task, as it was read, by the spec; STALE if it has changed since. Raises UnavailableError.

    ① Keep the replaced version. ② Swap the row. So a run that has fixed a version finds it whenever it reads.
    """
    now = context.clock.now()
    after = revised_task(task, spec, now)
    if after == task:
        return TaskChanged(TaskOutcome.DONE, task)
    _keep(context, task, now)
    (swapped,) = context.store.tasks.swap([Swap(task, after)], now)
    return TaskChanged(TaskOutcome.DONE if swapped.done else TaskOutcome.STALE, swapped.row)


def delete_task(context: Context, key: TaskKey, version: int | None = None) -> TaskChanged:
    """Delete a task, if it has that version (None: any) and no open job names it. Raises UnavailableError."""
    for _ in range(_TRIES):
        (task,) = context.store.tasks.read([key])
        if task is None or task.is_deleted:
            return TaskChanged(TaskOutcome.NOT_FOUND, None)
        if version is not None and task.version != version:
            return TaskChanged(TaskOutcome.STALE, task)
        users = _users(context, key, MOST_PAGES)
        if users is not None:
            return TaskChanged(TaskOutcome.IN_USE, task, users)
        now = context.clock.now()
        (swapped,) = context.store.tasks.swap([Swap(task, deleted_task(task, now))], now)
        if not swapped.done or swapped.row is None:
            continue
        users = _users(context, key, 1)
        if users is None or users.one is None:
            return TaskChanged(TaskOutcome.DONE, swapped.row)
        context.store.tasks.swap([Swap(swapped.row, restored_task(swapped.row, now))], now)
        return TaskChanged(TaskOutcome.IN_USE, task, users)
    raise ContendedError(f"task {key.task_id} kept changing")


def list_tasks(
    context: Context, tenant: str, limit: int, after: tuple[int, TaskKey] | None = None
) -> Page[Task, TaskKey]:
    """Return a page of a tenant's tasks, the newest first. Raises UnavailableError."""

    def name(at_once: int, behind: tuple[int, TaskKey] | None) -> Sequence[tuple[int, TaskKey]]:
        return context.store.tasks.listed(ListQuery(tenant, at_once, after=behind))

    def read(keys: Sequence[TaskKey]) -> list[Task | None]:
        rows = context.store.tasks.read(keys, strong=False)
        return [None if row is None or row.is_deleted else row for row in rows]

    return read_page(name, read, limit, after)


def _keep(context: Context, task: Task, now: int) -> None:
    """Keep a version for the runs that use it. If a change that failed has kept it already, keep it longer."""
    kept = replaced_task(task, now)
    (standing,) = context.store.task_versions.insert([kept], now)
    if standing is not None:
        context.store.task_versions.swap([Swap(standing, kept)], now)


def _users(context: Context, key: TaskKey, pages: int) -> Users | None:
    """Return the open jobs of a task from at most `pages` pages. Their rows decide; the index only names them."""

    def name(at_once: int, behind: tuple[int, JobKey] | None) -> Sequence[tuple[int, JobKey]]:
        return context.store.jobs.of_task(key, ListQuery(key.tenant, at_once, after=behind))

    def read(keys: Sequence[JobKey]) -> list[JobKey | None]:
        jobs = context.store.jobs.read(keys)
        return [job.key if job is not None and job.is_open and job.task_id == key.task_id else None for job in jobs]

    page = read_page(name, read, _COUNTED, None)
    for _ in range(pages - 1):  # ended jobs are among them
        if page.items or page.next_after is None:
            break
        page = read_page(name, read, _COUNTED, page.next_after)
    if page.items:
        return Users(len(page.items), page.next_after is not None, page.items[0])
    return None if page.next_after is None else Users(0, is_more=True, one=None, ended=pages * MAX_EXAMINED)
