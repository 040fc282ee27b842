"""What a caller may say of a task, and everything that can be wrong with it, found in one pass."""

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ConfigDict, Field

from functions.api.http.body import compact
from functions.api.http.problems import FieldError
from functions.api.http.request_model import read_fields
from functions.api.http.schema_rules import together
from functions.api.jobs.fields import Name, Tags
from functions.api.jobs.policies import PolicyFields, beyond_an_answer, only_of_reports, retry_of
from functions.api.schemas.accepted import PayloadSchema
from functions.api.targets.http import Url
from functions.api.targets.request import Target, TypeName, target_of
from timeball.domain.model.ids import TaskKey
from timeball.domain.model.jobs.job import Completion, Priority
from timeball.domain.model.jobs.task import TaskSpec
from timeball.domain.model.terms import target as model

_TO_CALL = ("handler", "target")


class TaskRequest(PolicyFields):
    """A task: what its jobs call, and the policies of those that have none of their own. Null counts as not given."""

    model_config = ConfigDict(
        json_schema_extra=together(one_of=_TO_CALL, exclusive=[_TO_CALL], also=[only_of_reports()])
    )

    name: Name | None = Field(None, description="What people call it.")
    type: TypeName | None = Field(None, description="The type of the target; here or in `target`.")
    handler: Url | None = Field(None, description="The URL to call: short for an `http` target with a POST.")
    target: Target | None = Field(None, description="What to call. Either this or `handler`.")
    payload_schema: PayloadSchema | None = None
    tags: Tags | None = Field(None, description="At most 50; keys of 1 to 128, values of up to 256 characters.")


def read_task_request(body: Mapping[str, Any]) -> tuple[TaskRequest, list[FieldError]]:
    """Validate a body; return what is good of it, and what is wrong."""
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
        yield FieldError("type", f"This is not the type of what is to be called, which is {kind}; leave it out.")
    yield from beyond_an_answer(request, given, request.target)


def task_spec_of(request: TaskRequest, key: TaskKey, fingerprint: str | None) -> TaskSpec:
    """Return what a faultless request says of a task. What is not given takes its default."""
    target = target_in(request)
    if target is None:
        raise ValueError("a faultless request names a handler or a target")
    return TaskSpec(
        key=key,
        target=target,
        name=request.name,
        tags=request.tags or {},
        priority=Priority(request.priority or TaskSpec.priority),
        retry=retry_of(request),
        timeout_seconds=request.timeout_seconds or TaskSpec.timeout_seconds,
        completion=Completion(request.completion or TaskSpec.completion),
        heartbeat_seconds=request.heartbeat_seconds,
        payload_schema=None if request.payload_schema is None else compact(request.payload_schema),
        fingerprint=fingerprint,
    )


def target_in(request: TaskRequest) -> model.Target | None:
    """Return what a request says is called, if it says that without fault."""
    if request.target is not None:
        return target_of(request.target)
    return None if request.handler is None else model.HttpTarget(request.handler)
