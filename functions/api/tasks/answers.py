"""What the API answers about tasks: the models, and how they are filled from the domain's tasks."""

import json
from collections.abc import Mapping
from typing import Any

from pydantic import Field

from functions.api.http.reply import Answer, Time
from functions.api.runs.policy import RetryPolicyAnswer, retry_policy_answer
from functions.api.targets.answers import TargetAnswer, target_answer
from timeball.domain.model.jobs.job import Completion, Priority
from timeball.domain.model.jobs.task import Task
from timeball.domain.model.terms.target import TargetType
from timeball.domain.time.instants import format_instant


class TaskSummaryAnswer(Answer):
    """A task as it stands, without its schema."""

    task_id: str
    name: str | None
    type: TargetType = Field(description="The type of its target.")
    target: TargetAnswer
    priority: Priority
    max_retries: int
    retry_policy: RetryPolicyAnswer
    timeout_seconds: int
    completion: Completion
    heartbeat_seconds: int | None
    tags: Mapping[str, str]
    created_at: Time
    updated_at: Time
    version: int = Field(description="Counts the changes of users; the ETag. A run says which one it uses.")


class TaskAnswer(TaskSummaryAnswer):
    """A task as it stands."""

    payload_schema: dict[str, Any] | None = Field(description="The JSON Schema of its jobs' payloads.")


class TaskPageAnswer(Answer):
    """A page of tasks, the newest first, without their schemas."""

    items: list[TaskSummaryAnswer]
    next_cursor: str | None


def task_answer(task: Task) -> TaskAnswer:
    """Return the answer about a task."""
    schema = task.spec.payload_schema
    return TaskAnswer(**_fields(task), payload_schema=None if schema is None else json.loads(schema))


def task_summary(task: Task) -> TaskSummaryAnswer:
    """Return the answer about a task in a list."""
    return TaskSummaryAnswer(**_fields(task))


def _fields(task: Task) -> dict[str, Any]:
    spec = task.spec
    return {
        "task_id": task.key.task_id,
        "name": spec.name,
        "type": spec.target.type,
        "target": target_answer(spec.target),
        "priority": spec.priority,
        "max_retries": spec.retry.max_retries,
        "retry_policy": retry_policy_answer(spec.retry),
        "timeout_seconds": spec.timeout_seconds,
        "completion": spec.completion,
        "heartbeat_seconds": spec.heartbeat_seconds,
        "tags": spec.tags,
        "created_at": format_instant(task.created_at),
        "updated_at": format_instant(task.updated_at),
        "version": task.version,
    }
