"""Tasks: listed until deleted, read with jobs version by version; and the jobs of each task are listed."""

from dataclasses import replace

import pytest

from tests.contract.moves import TASK
from tests.contract.rows import KEY, NOW, job, one_off, swapped, task_spec
from timeball.domain.changes.change import deleted_task, replaced_task, revised_task
from timeball.domain.changes.resolve import resolve
from timeball.domain.model.ids import JobKey, TaskKey
from timeball.domain.model.jobs.job import Job, JobStatus, with_spec
from timeball.domain.model.jobs.job_states import concluded
from timeball.domain.model.jobs.task import Task, TaskRef
from timeball.domain.model.terms.policies import Work
from timeball.domain.model.terms.target import Override, TaskUse
from timeball.ports.rows import ListQuery
from timeball.ports.store import Store

USE = TaskUse("send_mail", (Override.PRIORITY,))


def _of_task(row: Job, use: TaskUse | None = USE) -> Job:
    return with_spec(row, work=Work(payload='{"a":1}'), task=use)


def test_tasks_are_listed_by_their_time_of_creation_until_they_are_deleted(store: Store) -> None:
    tasks = [replace(Task(task_spec(f"task-{n}"), NOW, NOW), created_at=NOW + n // 2) for n in range(6)]
    store.tasks.insert([*tasks, Task(replace(task_spec(), key=TaskKey("other", "t")), NOW, NOW)], NOW)
    swapped(store.tasks, tasks[3], deleted_task(tasks[3], NOW + 9))
    found: list[tuple[int, TaskKey]] = []
    query = ListQuery[TaskKey]("acme", 2)
    while page := store.tasks.listed(query):
        found += page
        query = replace(query, after=page[-1])
    assert found == sorted(((one.created_at, one.key) for one in tasks if one is not tasks[3]), reverse=True)
    assert store.tasks.read([tasks[3].key]) == [replace(deleted_task(tasks[3], NOW + 9), revision=2)]


def test_jobs_are_read_with_the_requested_versions_of_their_tasks(store: Store) -> None:
    store.jobs.insert([_of_task(job())], NOW)
    store.tasks.insert([TASK], NOW)
    kept = replaced_task(TASK, NOW + 5)
    store.task_versions.insert([kept], NOW)
    second = swapped(store.tasks, TASK, revised_task(TASK, replace(task_spec(), name="new"), NOW + 5))
    key = TASK.key
    refs = [TaskRef(key), TaskRef(key, 1), TaskRef(key, 2), TaskRef(key, 3), TaskRef(TaskKey("other", key.task_id))]
    jobs, tasks = store.jobs.read_with_tasks([KEY, JobKey("acme", "none")], refs, with_work=True)
    assert jobs == [_of_task(job()), None]
    assert tasks == [second, kept, second, None, None]
    assert store.jobs.read_with_tasks([KEY], []) == ([with_spec(_of_task(job()), work=None)], [])


def test_a_swap_of_a_resolved_job_leaves_the_fields_of_its_row(store: Store) -> None:
    row = _of_task(job())
    store.jobs.insert([row], NOW)
    resolved = resolve(TASK, row)
    assert resolved.spec.timeout_seconds != row.spec.timeout_seconds
    swapped(store.jobs, resolved, replace(resolved, plan_failures=3))
    assert store.jobs.read([KEY], with_work=True) == [replace(row, plan_failures=3, revision=2)]


@pytest.mark.parametrize("limit", [1, 3, 50])
def test_the_jobs_of_a_task_are_listed_whether_they_are_open_or_have_ended(store: Store, limit: int) -> None:
    statuses = [JobStatus.PENDING, JobStatus.PAUSED, JobStatus.COMPLETED]
    jobs = [
        replace(_of_task(job(f"job-{n}")), created_at=NOW + n // 4, status=statuses[n % 3], due_at=None)
        for n in range(9)
    ]
    others = [job("without"), _of_task(job("of-another"), TaskUse("other"))]
    store.jobs.insert([*jobs, *others], NOW)
    query, found = ListQuery[JobKey]("acme", limit), []
    while page := store.jobs.of_task(TASK.key, query):
        found += page
        query = replace(query, after=page[-1])
    assert found == sorted(((row.created_at, row.key) for row in jobs), reverse=True)
    assert store.jobs.of_task(TaskKey("other", "send_mail"), ListQuery("other", 9)) == []


def test_a_concluded_job_is_listed_under_the_task_that_it_names(store: Store) -> None:
    row = _of_task(one_off())
    store.jobs.insert([row], NOW)
    moved = swapped(store.jobs, row, _of_task(row, TaskUse("other")))
    query, other = ListQuery[JobKey]("acme", 9), TaskKey("acme", "other")
    assert store.jobs.of_task(TASK.key, query) == []
    assert store.jobs.of_task(other, query) == [(NOW, KEY)]
    swapped(store.jobs, moved, concluded(moved, JobStatus.COMPLETED, NOW + 9))
    assert store.jobs.of_task(other, query) == [(NOW, KEY)]
