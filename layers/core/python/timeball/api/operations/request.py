"""The request for an operation: an action, which jobs, and how fast."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import ConfigDict, Field

from timeball.api.http.fields import Checked, Tags, TaskId
from timeball.api.http.problems import FieldError
from timeball.api.http.request_model import Strict, read_fields, stated
from timeball.api.http.schema_rules import needed, together
from timeball.api.jobs.listing import STATUSES
from timeball.domain.model.ids import OperationKey, Shards
from timeball.domain.model.terms.dependency import Children
from timeball.domain.operation import JobMatch, Operation, OperationAction

_STATUSES: Final = [str(status) for status in STATUSES]
_NOT_ASKED: Final = (OperationAction.RERUN, OperationAction.RECOVER)
_ACTIONS: Final = [action for action in OperationAction if action not in _NOT_ASKED]
_FILTERS: Final = ("tags", "taskId", "status")
_CHANGES_PER_SECOND: Final = 100
_STARTS_PER_SECOND: Final = 10


_Status = Annotated[str, Checked(_STATUSES.__contains__, f"Give one of {', '.join(_STATUSES)}.", enum=_STATUSES)]


def _one_tag_at_least(schema: dict[str, Any]) -> None:
    """Replace the keyword that Pydantic writes for a string by the one for an object."""
    schema["minProperties"] = schema.pop("minLength")


_NULL: Final = {"type": "null"}
_NO_FILTERS: Final = dict.fromkeys(_FILTERS, _NULL)
_ALL_OR_SOME: Final = {
    "anyOf": [
        {"required": ["all"], "properties": {**_NO_FILTERS, "all": {"const": True}}},
        *({"required": [name], "properties": {name: {"not": _NULL}, "all": _NULL}} for name in _FILTERS),
    ]
}


class MatchRequest(Strict):
    """Which jobs: those for which every given field holds, or all jobs."""

    model_config = ConfigDict(json_schema_extra=together(also=[_ALL_OR_SOME]))

    tags: Annotated[Tags, Field(min_length=1, json_schema_extra=_one_tag_at_least)] | None = Field(
        None, description="Only jobs that have all of these tags."
    )
    task_id: TaskId | None = Field(None, description="Only jobs that name this task.")
    status: _Status | None = Field(
        None,
        description=(
            "Only jobs in this status. By default jobs that have ended do not match; for a retry, those that "
            "were not cancelled do."
        ),
    )
    all: Literal[True] | None = Field(None, description="All jobs. Give either this or any of the others.")


class OperationRequest(Strict):
    """An action on all jobs that match."""

    model_config = ConfigDict(json_schema_extra=needed("action", "match"))

    action: Literal["pause", "resume", "cancel", "trigger", "retry"] | None = Field(
        None, description="The action on each job; `retry` tries its newest run again if that failed for good."
    )
    match: MatchRequest | None = Field(None, description="Which jobs.")
    children: Literal["detach", "cancel"] | None = Field(
        None,
        description=(
            "Only of a cancel: the effect on the open jobs that depend on a cancelled one: they no longer depend on "
            "it, or they are cancelled too unless another parent may still let them run. By default a job that has "
            "such children is not cancelled."
        ),
    )
    per_second: int | None = Field(
        None,
        ge=1,
        le=1000,
        description=(
            f"The most jobs in a second; default {_CHANGES_PER_SECOND}, for a trigger or a retry {_STARTS_PER_SECOND}."
        ),
    )


def read_operation_request(body: Mapping[str, Any]) -> tuple[OperationRequest, list[FieldError]]:
    """Validate a body; return what is valid of it, and every error."""
    request, given, errors = read_fields(OperationRequest, body)
    spoilt = {error.field.partition(".")[0] for error in errors}
    return request, [*errors, *_together(request, {*given, *spoilt})]


def _together(request: OperationRequest, given: set[str]) -> Iterator[FieldError]:
    if "action" not in given:
        yield FieldError("action", f"Say what to do: {', '.join(_ACTIONS)}.")
    if "match" not in given:
        yield FieldError("match", 'Say which jobs: {"tags": …}, {"taskId": …}, {"status": …}, or {"all": true}.')
    if request.children is not None and request.action not in (None, OperationAction.CANCEL):
        yield FieldError("children", "Only a cancel takes this; leave it out.")
    match = request.match
    if match is None:
        return
    values = (match.tags, match.task_id, match.status)
    filters = [name for name, value in zip(_FILTERS, values, strict=True) if value is not None]
    if match.all and filters:
        yield FieldError("match.all", f"Give either all or {' and '.join(filters)}, not both.")
    if not match.all and not filters:
        yield FieldError("match", "Say which jobs: give tags, taskId or status; or all: true for every job.")


def operation_of(request: OperationRequest, key: OperationKey, shards: Shards, now: int) -> Operation:
    """Return the operation that a valid request asks for at an instant (ms)."""
    action = OperationAction(request.action or OperationAction.PAUSE)
    starts = action in (OperationAction.TRIGGER, OperationAction.RETRY)
    return Operation(
        key=key,
        action=action,
        match=JobMatch(**stated(request.match, "tags", "task_id", "status")),
        children=None if request.children is None else Children(request.children),
        per_second=request.per_second or (_STARTS_PER_SECOND if starts else _CHANGES_PER_SECOND),
        shard=shards.of(key),
        created_at=now,
        updated_at=now,
        due_at=now,
    )
