"""The models of answers about tasks, and how they are filled from the domain's tasks."""

import json
from collections.abc import Mapping
from typing import Any

from pydantic import Field

from timeball.api.http.exchange import AnswerModel, CreatedAt, NextCursor, UpdatedAt
from timeball.api.jobs.policies import policy_fields
from timeball.api.runs.answers import RetryPolicyAnswer
from timeball.api.targets.answers import TargetAnswer
from timeball.domain.model.jobs.job import Completion, Priority
from timeball.domain.model.jobs.task import Task
from timeball.domain.model.terms.target import TargetType


class TaskSummaryAnswer(AnswerModel):
    """A task without its schema."""

    task_id: str = Field(description="The id of the task.")
    name: str | None = Field(description="A name for people.")
    type: TargetType = Field(description="The type of its target.")
    target: TargetAnswer = Field(description="What the runs of its jobs call.")
    priority: Priority = Field(description="The priority of runs.")
    max_retries: int = Field(description="The most retries of a run.")
    retry_policy: RetryPolicyAnswer = Field(description="When a failed attempt is retried.")
    timeout_seconds: int = Field(description="The longest time for one attempt in seconds.")
    completion: Completion = Field(description="Whether the call's answer ends an attempt, or the target's report.")
    heartbeat_seconds: int | None = Field(description="The longest time in seconds between heartbeats after a 202.")
    tags: Mapping[str, str] = Field(description="The tags of the task.")
    created_at: CreatedAt
    updated_at: UpdatedAt
    version: int = Field(
        description=(
            "The number of the version, from 1; the `ETag` is this number in quotes. A run states which "
            "version it uses."
        )
    )


class TaskAnswer(TaskSummaryAnswer):
    """A task."""

    payload_schema: dict[str, Any] | None = Field(description="The JSON Schema of its jobs' payloads.")


class TaskPageAnswer(AnswerModel):
    """A page of tasks without their schemas, the newest first."""

    items: list[TaskSummaryAnswer] = Field(description="The tasks.")
    next_cursor: NextCursor


def task_answer(task: Task) -> TaskAnswer:
    """Return the answer about a task."""
    schema = task.spec.payload_schema
    return TaskAnswer.model_validate(_fields(task) | {"payloadSchema": None if schema is None else json.loads(schema)})


def task_summary(task: Task) -> TaskSummaryAnswer:
    """Return the answer about a task in a list."""
    return TaskSummaryAnswer.model_validate(_fields(task))


def _fields(task: Task) -> dict[str, Any]:
    spec = task.spec
    named = {"task_id": task.key.task_id, "type": spec.target.type}
    same = {"name": spec.name, "target": spec.target, "tags": spec.tags}
    return {**vars(task), **named, **same, **policy_fields(spec)}
