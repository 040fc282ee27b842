"""The value that wins if a task, its job and a trigger differ, and the version of the task that a run uses."""

from dataclasses import replace
from typing import Any

import pytest

from tests.contract.rows import NOW, one_off, run, task_spec
from timeball.domain.changes.resolve import resolve, version_for
from timeball.domain.model.ids import TaskKey
from timeball.domain.model.jobs.job import Completion, Job, Priority, with_spec
from timeball.domain.model.jobs.task import Task, TaskRef
from timeball.domain.model.runs.run import Run
from timeball.domain.model.terms.policies import RetryPolicy, Work
from timeball.domain.model.terms.target import HttpTarget, Override, TaskUse

TARGET = HttpTarget("https://task.example")
TASK = Task(replace(task_spec(), target=TARGET), NOW, NOW, version=4)
"""The task: high priority, 2 retries with a base of 7 s, a timeout of 60 s, callback, a heartbeat each 30 s."""

OF_TASK = with_spec(one_off(), work=Work(payload='"job"'))
SAID: dict[str, Any] = {
    "priority": Priority.LOW,
    "retry": RetryPolicy(9, base_seconds=1),
    "timeout_seconds": 5,
    "completion": Completion.ANSWER,
    "heartbeat_seconds": 11,
}
"""The fields of the job's row, whether they are overrides or not."""

CASES: dict[str, tuple[tuple[Override, ...], dict[str, Any]]] = {
    # The task supplies the fields that the job does not override.
    "nothing": ((), {}),
    "its priority": ((Override.PRIORITY,), {"priority": Priority.LOW}),
    "its timeout": ((Override.TIMEOUT,), {"timeout_seconds": 5}),
    # The number of retries and the retry policy are two fields: the job may override either and take the other.
    "how often it is retried": ((Override.MAX_RETRIES,), {"retry": replace(TASK.spec.retry, max_retries=9)}),
    "how it is retried": ((Override.RETRY_POLICY,), {"retry": RetryPolicy(2, base_seconds=1)}),
    "both": ((Override.MAX_RETRIES, Override.RETRY_POLICY), {"retry": RetryPolicy(9, base_seconds=1)}),
    "its heartbeat": ((Override.HEARTBEAT,), {"heartbeat_seconds": 11}),
    # An answer needs no heartbeat, whichever row asks for one.
    "its completion": ((Override.COMPLETION,), {"completion": Completion.ANSWER, "heartbeat_seconds": None}),
    "its completion and a heartbeat": (
        (Override.COMPLETION, Override.HEARTBEAT),
        {"completion": Completion.ANSWER, "heartbeat_seconds": None},
    ),
    "all": (
        tuple(Override),
        {**SAID, "heartbeat_seconds": None},
    ),
}


@pytest.mark.parametrize(("own", "expected"), CASES.values(), ids=CASES)
def test_a_jobs_overrides_win_over_its_task(own: tuple[Override, ...], expected: dict[str, Any]) -> None:
    job = with_spec(OF_TASK, **SAID, task=TaskUse("send_mail", own))
    of_task: dict[str, Any] = {name: getattr(TASK.spec, name) for name in SAID}
    seen = resolve(TASK, job)
    assert {name: getattr(seen.spec, name) for name in SAID} == of_task | expected
    assert seen.spec.work == Work(TARGET, '"job"')
    assert seen.spec.task == TaskUse("send_mail", own, version=4)


NAMED = with_spec(OF_TASK, task=TaskUse("send_mail"))
PLAIN = one_off()
WORKS: dict[str, tuple[Task | None, Job, Work | None, Work | None]] = {
    "of a task": (TASK, NAMED, None, Work(TARGET, '"job"')),
    # The payload of a trigger wins over the job's. A trigger has no target.
    "of a task, and triggered with a payload": (TASK, NAMED, Work(payload="1"), Work(TARGET, "1")),
    "of a task, and triggered without a payload of its own": (TASK, NAMED, Work(payload=None), Work(TARGET)),
    "of a job": (None, PLAIN, None, PLAIN.spec.work),
    "of a job that was triggered": (None, PLAIN, Work(HttpTarget("https://old.example"), "1"), None),
    # Only the jobs that name a task have its row.
    "of a job without a task": (TASK, PLAIN, None, PLAIN.spec.work),
    "not read": (TASK, with_spec(NAMED, work=None), Work(payload="1"), None),
}


@pytest.mark.parametrize(("task", "job", "trigger", "expected"), WORKS.values(), ids=WORKS)
def test_the_target_is_the_tasks_and_the_payload_the_triggers_or_else_the_jobs(
    task: Task | None, job: Job, trigger: Work | None, expected: Work | None
) -> None:
    if expected is None and job.spec.work is not None:
        expected = replace(job.spec.work, payload="1")
    assert resolve(task, job, trigger).spec.work == expected


def test_a_job_without_a_task_stays_the_same_value() -> None:
    assert resolve(TASK, PLAIN) is PLAIN


FIXED = replace(run(), task_id="send_mail", task_version=3)
VERSIONS: dict[str, tuple[Run, Job, TaskRef | None]] = {
    "no attempt yet": (replace(run(), task_id="send_mail"), NAMED, TaskRef(TASK.key)),
    "a retry": (FIXED, NAMED, TaskRef(TASK.key, 3)),
    # The run was made before the job named the task, or by a backfill.
    "made without the task": (run(), NAMED, TaskRef(TASK.key)),
    # A user has changed the job itself, and the change applies to retries too.
    "the job names another task": (
        FIXED,
        with_spec(NAMED, task=TaskUse("other")),
        TaskRef(TaskKey("acme", "other")),
    ),
    "the job names no task any more": (FIXED, PLAIN, None),
}


@pytest.mark.parametrize(("row", "job", "expected"), VERSIONS.values(), ids=VERSIONS)
def test_a_run_keeps_the_version_that_its_first_attempt_used(row: Run, job: Job, expected: TaskRef | None) -> None:
    assert version_for(row, job) == expected
