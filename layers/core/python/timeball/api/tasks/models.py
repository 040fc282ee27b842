"""Tasks in requests and answers, and all that can be wrong with a request, found in one pass."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ConfigDict, Field

from timeball.api.http.body import compact
from timeball.api.http.exchange import AnswerModel, CreatedAt, NameForPeople, NextCursor, UpdatedAt
from timeball.api.http.fields import Name, Tags
from timeball.api.http.problems import FieldError
from timeball.api.http.request_model import read_fields, stated
from timeball.api.http.schema_rules import together
from timeball.api.jobs.policies import PolicyFields, beyond_an_answer, only_of_reports, policy_fields, stated_policies
from timeball.api.runs.answers import RetryPolicyAnswer
from timeball.api.schemas.accepted import PayloadSchema
from timeball.api.targets.http import Url
from timeball.api.targets.models import Target, TargetAnswer, TypeName, called
from timeball.domain.model.ids import TaskKey
from timeball.domain.model.jobs.job import Completion, Priority
from timeball.domain.model.jobs.task import Task, TaskSpec
from timeball.domain.model.terms.target import TargetType

_TO_CALL = ("handler", "target")


class TaskRequest(PolicyFields):
    """A task: what its jobs call, and the policies that they do not state themselves. Null counts as not given."""

    model_config = ConfigDict(
        json_schema_extra=together(one_of=_TO_CALL, exclusive=[_TO_CALL], also=[only_of_reports()])
    )

    name: Name | None = Field(None, description="A name for people.")
    type: TypeName | None = Field(None, description="The type of the target, here or in `target`.")
    handler: Url | None = Field(None, description="The URL to call, short for an `http` target with a POST.")
    target: Target | None = Field(None, description="What to call. Give either this or `handler`.")
    payload_schema: PayloadSchema | None = Field(
        None,
        description=(
            "A JSON Schema (2020-12) of payloads, at most 16 KB, with references to itself only. A job "
            "or a trigger whose payload does not match is refused; a missing payload counts as null."
        ),
    )
    tags: Tags | None = Field(
        None,
        description="At most 50 tags; keys of 1 to 128 characters without a colon, values of up to 256 characters.",
    )


def read_task_request(body: Mapping[str, Any]) -> tuple[TaskRequest, list[FieldError]]:
    """Validate a body; return what is valid of it, and every error."""
    target = body.get("target")
    if "type" in body and isinstance(target, dict) and "type" not in target:
        body = {**body, "target": {"type": body["type"], **target}}
    request, given, errors = read_fields(TaskRequest, body)
    return request, [*errors, *_together(request, given)]


def _together(request: TaskRequest, given: set[str]) -> Iterator[FieldError]:
    if {"handler", "target"} <= given:
        yield FieldError("handler", "Give either handler or target, not both.")
    if not given & {"handler", "target"}:
        yield FieldError("target", "Say what its jobs call: give target, or handler, an https:// URL.")
    kind = "http" if request.handler is not None else None if request.target is None else request.target.type
    if request.type is not None and kind not in (None, request.type):
        yield FieldError("type", f"This is not the type of the target, which is {kind}; leave it out.")
    yield from beyond_an_answer(request, given, request.target)


def task_spec_of(request: TaskRequest, key: TaskKey, fingerprint: str | None) -> TaskSpec:
    """Return the spec of a task that a valid request asks for. Fields that are not given take their defaults."""
    target = called(request.target, request.handler)
    if target is None:
        raise ValueError("a faultless request names a handler or a target")
    return TaskSpec(
        key=key,
        target=target,
        **stated(request, "name", "tags"),
        **stated_policies(request),
        payload_schema=None if request.payload_schema is None else compact(request.payload_schema),
        fingerprint=fingerprint,
    )


class TaskSummaryAnswer(AnswerModel):
    """A task without its schema."""

    task_id: str = Field(description="The id of the task.")
    name: NameForPeople
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
