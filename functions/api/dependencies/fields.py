"""What a job may say of the jobs that it waits for, and how that is told again."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from functions.api.http.problems import FieldError
from functions.api.http.request_model import Strict
from timeball.domain.model.ids import JOB_ID
from timeball.domain.model.terms.dependency import DEPENDENCY_TIMEOUT_SECONDS, End, Parent, TriggerRule

MOST_PARENTS: Final = 1_000
"""More is no list of parents, whatever the settings say."""
LONGEST_TIMEOUT_SECONDS: Final = 31_622_400


def _parent(given: object) -> object:
    if isinstance(given, dict):
        return given
    if isinstance(given, str):
        return {"jobId": given}
    raise ValueError('Give the id of a job, or an object such as {"jobId": "extract", "as": "rows"}.')


def _name(name: str) -> str:
    if not JOB_ID.fullmatch(name):
        raise ValueError("Give 1 to 64 letters, digits, - or _.")
    return name


class ParentRequest(Strict):
    """A job that is to end before this one runs."""

    job_id: str = Field(min_length=1, max_length=200)
    name: Annotated[str, AfterValidator(_name)] | None = Field(None, alias="as")
    on: Literal["succeeded", "failed", "done"] | None = None


def _each_once(parents: list[ParentRequest]) -> list[ParentRequest]:
    if len({parent.job_id for parent in parents}) < len(parents):
        raise ValueError("Give each job once.")
    names = [parent.name or parent.job_id for parent in parents]
    if len(set(names)) < len(names):
        raise ValueError("Give each name (as) once, and none that is the id of another.")
    return parents


_ID_SCHEMA: Final = {"type": "string", "minLength": 1, "maxLength": 200}
_OBJECT_SCHEMA: Final = {
    "type": "object",
    "properties": {
        "jobId": {**_ID_SCHEMA, "description": "Its id; in a batch also the `ref` of an item."},
        "as": {"type": "string", "pattern": f"^{JOB_ID.pattern}$", "description": "The name that this job has for it."},
        "on": {
            "enum": [end.value for end in End],
            "default": End.SUCCEEDED.value,
            "description": "Which end of it counts as its success for the `triggerRule`.",
        },
    },
    "required": ["jobId"],
    "additionalProperties": False,
}

ParentItem = Annotated[
    ParentRequest,
    BeforeValidator(_parent),
    WithJsonSchema({"anyOf": [{**_ID_SCHEMA, "examples": ["extract"]}, _OBJECT_SCHEMA]}),
]
Parents = Annotated[list[ParentItem], Field(max_length=MOST_PARENTS), AfterValidator(_each_once)]


class DependencyFields(Strict):
    """What a job says of the jobs that it waits for."""

    depends_on: Parents | None = Field(
        None, description="Jobs that are to end before this one runs: ids, or objects. With these it needs no schedule."
    )
    trigger_rule: Literal["allSucceeded", "allDone", "anySucceeded", "anyFailed"] | None = Field(
        None, description="Which of their ends let it run; default `allSucceeded`."
    )
    dependency_timeout_seconds: int | None = Field(
        None,
        ge=1,
        le=LONGEST_TIMEOUT_SECONDS,
        description=f"After so long it waits no more, and is skipped; default {DEPENDENCY_TIMEOUT_SECONDS}.",
    )
    pass_parents: bool | None = Field(
        None,
        description="True: the body of its calls is `{payload, parents}`, with what came of each job that it waits "
        "for; default false.",
    )
    for_each: str | None = Field(
        None,
        min_length=1,
        max_length=200,
        description="One of them, by its id or the name that `as` gives it: the job has a run for each item of the "
        "`fanOut` that this one's run answers, or has named.",
    )


NEEDS_PARENTS: Final = dict.fromkeys(
    ("triggerRule", "dependencyTimeoutSeconds", "passParents", "forEach"), ("dependsOn",)
)


def parents_of(request: DependencyFields) -> tuple[Parent, ...]:
    """Return the parents that a faultless request names, as it names them."""
    asked = request.depends_on or []
    return tuple(Parent(one.job_id, one.name, End(one.on or End.SUCCEEDED)) for one in asked)


def misnamed_for_each(request: DependencyFields) -> Iterator[FieldError]:
    """Say so if a request has a run for each item of a job that it does not wait for."""
    if request.for_each is not None and request.depends_on and _meant(request) is None:
        yield FieldError("forEach", "Name one of the jobs in dependsOn: by its id, or as `as` calls it.")


def _meant(request: DependencyFields) -> str | None:
    """Return the id of the parent whose items are meant."""
    parents = {one.name or one.job_id: one.job_id for one in request.depends_on or []}
    asked = request.for_each
    return parents.get(asked, asked if asked in parents.values() else None) if asked is not None else None


def for_each_document(for_each: str | None, parents: Sequence[Parent]) -> str | None:
    """Return what a request says of the parent whose items are meant."""
    return next((one.name or one.job_id for one in parents if one.job_id == for_each), None)


def dependency_fields(request: DependencyFields) -> dict[str, Any]:
    """Return the fields of the spec that a faultless request asks for."""
    return {
        "depends_on": parents_of(request),
        "trigger_rule": TriggerRule(request.trigger_rule or TriggerRule.ALL_SUCCEEDED),
        "dependency_timeout_seconds": request.dependency_timeout_seconds or DEPENDENCY_TIMEOUT_SECONDS,
        "pass_parents": bool(request.pass_parents),
        "for_each": _meant(request),
    }


def parent_document(parent: Parent) -> str | dict[str, str]:
    """Return what a request says of a parent: its id, if that is all."""
    document = {"jobId": parent.job_id}
    if parent.name is not None:
        document["as"] = parent.name
    if parent.on is not End.SUCCEEDED:
        document["on"] = parent.on.value
    return document if len(document) > 1 else parent.job_id
