"""The request for a freeze: from when to when, which jobs, and why."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final

from pydantic import BeforeValidator, ConfigDict, Field, WithJsonSchema

from timeball.api.http.fields import Instant, Name, Tags
from timeball.api.http.problems import FieldError
from timeball.api.http.request_model import Strict, read_fields
from timeball.api.http.schema_rules import needed, together
from timeball.api.targets.http import TaskId
from timeball.domain.model.ids import JOB_ID
from timeball.domain.model.jobs import freeze

MAX_JOB_IDS: Final = 100
_MAX_TAGS: Final = 10
_WHICH: Final = 'Say which jobs: give tags, taskId, jobIds, or {"all": true}.'
_NULL: Final = {"type": "null"}


def _job_id(text: object) -> object:
    if isinstance(text, str) and not JOB_ID.fullmatch(text):
        raise ValueError("No job can have this id; give 1 to 64 letters, digits, - or _.")
    return text


_JobId = Annotated[str, BeforeValidator(_job_id), WithJsonSchema({"type": "string", "pattern": f"^{JOB_ID.pattern}$"})]


_NOT_ALL: Final = {"all": {"enum": [False, None]}}
_SOME_JOBS: Final = {
    "anyOf": [
        {
            "required": ["all"],
            "properties": {"all": {"const": True}, "jobIds": _NULL, "taskId": _NULL, "tags": {"maxProperties": 0}},
        },
        {"required": ["jobIds"], "properties": {**_NOT_ALL, "jobIds": {"type": "array"}}},
        {"required": ["taskId"], "properties": {**_NOT_ALL, "taskId": {"type": "string"}}},
        {"required": ["tags"], "properties": {**_NOT_ALL, "tags": {"type": "object", "minProperties": 1}}},
    ]
}
_FEW_TAGS: Final = {"properties": {"tags": {"maxProperties": _MAX_TAGS}}}


class FreezeMatchField(Strict):
    """Which jobs: all jobs, or those for which every given field holds."""

    model_config = ConfigDict(json_schema_extra=together(also=[_SOME_JOBS, _FEW_TAGS]))

    everything: bool | None = Field(None, alias="all", description="True: every job; then the only field.")
    job_ids: list[_JobId] | None = Field(None, min_length=1, max_length=MAX_JOB_IDS, description="Jobs by their ids.")
    task_id: TaskId | None = Field(None, description="Jobs that name this task.")
    tags: Tags | None = Field(None, description=f"Jobs that have all of these tags; at most {_MAX_TAGS}.")


class FreezeRequest(Strict):
    """A freeze: fires of the jobs that match do not start during this time."""

    model_config = ConfigDict(json_schema_extra=needed("match"))

    from_at: Instant | None = Field(None, alias="from", description="When it begins; default: at once.")
    to_at: Instant | None = Field(None, alias="to", description="When it ends; null: when it is lifted.")
    match: FreezeMatchField | None = Field(None, description="Which jobs it freezes.")
    reason: Name | None = Field(None, description="Why, for people.")


def read_freeze(body: Mapping[str, Any], name: str, now: int) -> tuple[freeze.Freeze, list[FieldError]]:
    """Validate a body: return the freeze with this name, which is valid only without errors, and the errors."""
    wanted, given, errors = read_fields(FreezeRequest, body)
    errors = [*errors, *_together(wanted, {*given, *(error.field.split(".")[0] for error in errors)}, now)]
    match = wanted.match or FreezeMatchField.model_validate({})
    meant = freeze.FreezeMatch(
        bool(match.everything), tuple(sorted(set(match.job_ids or ()))), match.tags or {}, match.task_id
    )
    from_at = now if wanted.from_at is None else wanted.from_at
    return freeze.Freeze(name, from_at, wanted.to_at, meant, now, wanted.reason), errors


def _together(wanted: FreezeRequest, said: set[str], now: int) -> Iterator[FieldError]:
    begins_at = max(wanted.from_at or now, now + freeze.BEGINS_AFTER_MS)
    if wanted.to_at is not None and wanted.to_at <= begins_at:
        seconds = freeze.BEGINS_AFTER_MS // 1000
        yield FieldError("to", f"This is not after the beginning, which is in {seconds} s or at from.")
    if "match" not in said:
        yield FieldError("match", _WHICH)
    if wanted.match is None:
        return
    says_which = bool(wanted.match.job_ids or wanted.match.tags or wanted.match.task_id)
    if wanted.match.everything and says_which:
        yield FieldError("match.all", "This matches every job; give it alone, or leave it out.")
    if not (wanted.match.everything or says_which):
        yield FieldError("match", _WHICH)
    if len(wanted.match.tags or ()) > _MAX_TAGS:
        yield FieldError("match.tags", f"Give at most {_MAX_TAGS} tags.")
