"""Create, replace and delete tasks, each with one write of the task's row. A replaced version is kept before that.

A task that open jobs name cannot be deleted. The index that names those jobs may lag by a moment, so it is searched
before the row is written, and its newest entries again after it. A job that slips through both goes on with the task as
it was: the row of a deleted task stays, and only the API no longer shows it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from timeball.domain.changes.change import deleted_task, new_task, replaced_task, restored_task, revised_task
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey, TaskKey
from timeball.domain.model.jobs.task import Task, TaskSpec
from timeball.engine.compare_and_swap import put, until_done
from timeball.engine.context import Context
from timeball.engine.filtered_pages import MAX_EXAMINED, Page, read_page
from timeball.ports.rows import ListQuery, Swap

_COUNTED = 100
"""How many jobs that use a task are counted. If there are more, the count is a lower bound."""

MOST_PAGES = 20
"""How many pages of jobs a delete reads, of MAX_EXAMINED each. Ended jobs are among them until they expire."""


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

    Order of writes of change a task:

    1. Keep the old version in a row of its own.
    2. Swap the task's row.

    Safe: a run that has fixed a version finds it before, between and after the two; a number has one content for ever.
    """
    now = context.clock.now()
    after = revised_task(task, spec, now)
    if after == task:
        return TaskChanged(TaskOutcome.DONE, task)
    _keep(context, task, now)
    (swapped,) = context.store.tasks.swap([Swap(task, after)], now)
    return TaskChanged(TaskOutcome.DONE if swapped.done else TaskOutcome.STALE, swapped.row)


def delete_task(context: Context, key: TaskKey, version: int | None = None) -> TaskChanged:
    """Delete a task, if it has that version (None: any) and no open job names it. Raises UnavailableError.

    Order of writes of delete a task:

    1. Read the open jobs that name it.
    2. Swap its row: deleted.
    3. Read again; if there are some, swap it back.

    Safe: a job that is missed continues with the last version: the row stays.
    """

    def delete() -> TaskChanged | None:
        (task,) = context.store.tasks.read([key])
        if task is None or task.is_deleted:
            return TaskChanged(TaskOutcome.NOT_FOUND, None)
        if version is not None and task.version != version:
            return TaskChanged(TaskOutcome.STALE, task)
        users = _users(context, key, MOST_PAGES)
        if users is not None:
            return TaskChanged(TaskOutcome.IN_USE, task, users)
        now = context.clock.now()
        deleted = put(context.store.tasks, task, deleted_task(task, now), now)
        if deleted is None:
            return None
        users = _users(context, key, 1)
        if users is None or users.one is None:
            return TaskChanged(TaskOutcome.DONE, deleted)
        put(context.store.tasks, deleted, restored_task(deleted, now), now)
        return TaskChanged(TaskOutcome.IN_USE, task, users)

    return until_done(delete, f"task {key.task_id}")


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
