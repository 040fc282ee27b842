"""Dependencies of a job in requests and answers."""

from collections.abc import Iterator
from typing import Annotated, Any, Final

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from timeball.api.http.exchange import AnswerModel
from timeball.api.http.fields import Checked
from timeball.api.http.problems import FieldError
from timeball.api.http.request_model import ByValue, Strict, stated
from timeball.domain.model.ids import JOB_ID
from timeball.domain.model.jobs.job import JobSpec
from timeball.domain.model.terms.dependency import (
    DEPENDENCY_TIMEOUT_SECONDS,
    MOST_PARENTS,
    Blocked,
    Parent,
    ParentEnd,
    TriggerRule,
)

LONGEST_TIMEOUT_SECONDS: Final = 31_622_400


def _parent(given: object) -> object:
    if isinstance(given, dict):
        return given
    if isinstance(given, str):
        return {"jobId": given}
    raise ValueError('Give the id of a job, or an object such as {"jobId": "extract", "as": "rows"}.')


ParentName = Annotated[str, Checked(JOB_ID.fullmatch, "Give 1 to 64 letters, digits, - or _.")]


class ParentRequest(Strict):
    """A job that must end before this job runs."""

    job_id: str = Field(min_length=1, max_length=200)
    name: Annotated[str, Checked(JOB_ID.fullmatch, "Give 1 to 64 letters, digits, - or _.")] | None = Field(
        None, alias="as"
    )
    on: Annotated[ParentEnd, ByValue] | None = None


def _each_once(parents: list[ParentRequest]) -> list[ParentRequest]:
    if len({parent.job_id for parent in parents}) < len(parents):
        raise ValueError("Give each job once.")
    names = [parent.name or parent.job_id for parent in parents]
    if len(set(names)) < len(names):
        raise ValueError("Give each name (as) once, and no name that is the id of another job.")
    return parents


_ID_SCHEMA: Final = {"type": "string", "minLength": 1, "maxLength": 200}
_OBJECT_SCHEMA: Final = {
    "type": "object",
    "properties": {
        "jobId": {
            **_ID_SCHEMA,
            "description": "The id of the job; in a batch also the `jobId` or `ref` of an item.",
        },
        "as": {
            "type": "string",
            "pattern": f"^{JOB_ID.pattern}$",
            "description": "The name that this job uses for it.",
        },
        "on": {
            "enum": [end.value for end in ParentEnd],
            "default": ParentEnd.SUCCEEDED.value,
            "description": (
                "Which end of the job counts as success for the `triggerRule`. `latest`: the success of its latest "
                "cycle that has ended, for a job with a schedule of its own."
            ),
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
    """The jobs that a job depends on."""

    depends_on: Parents | None = Field(
        None,
        description="The jobs that must end before this job runs: ids or objects. With these a job needs no schedule.",
    )
    trigger_rule: Annotated[TriggerRule, ByValue] | None = Field(
        None, description="Which ends of these jobs let it run; default `allSucceeded`."
    )
    dependency_timeout_seconds: int | None = Field(
        None,
        ge=1,
        le=LONGEST_TIMEOUT_SECONDS,
        description=(
            "The longest wait for these jobs in seconds, after which it is skipped; default "
            f"{DEPENDENCY_TIMEOUT_SECONDS}."
        ),
    )
    pass_parents: bool | None = Field(
        None,
        description=(
            "True: the body of its calls is `{payload, parents}`, with the results of these jobs; default false."
        ),
    )
    for_each: str | None = Field(
        None,
        min_length=1,
        max_length=200,
        description=(
            "One of these jobs, by its id or its `as`: this job has a run for each item that the run of that "
            "job names, by `fanOut` in its answer or by a request."
        ),
    )


NEEDS_PARENTS: Final = dict.fromkeys(
    ("triggerRule", "dependencyTimeoutSeconds", "passParents", "forEach"), ("dependsOn",)
)


def bad_parents(request: DependencyFields, *, has_fires: bool) -> Iterator[FieldError]:
    """Yield what is wrong with the parents of a job that has fire times of its own, or has not."""
    yield from _misnamed_for_each(request)
    yield from _misplaced_latest(request, has_fires=has_fires)


def _misnamed_for_each(request: DependencyFields) -> Iterator[FieldError]:
    """Yield an error if `forEach` names a job that is not in `dependsOn`."""
    if request.for_each is not None and request.depends_on and _meant(request) is None:
        yield FieldError("forEach", "Name one of the jobs in dependsOn, by its id or its `as`.")


def _misplaced_latest(request: DependencyFields, *, has_fires: bool) -> Iterator[FieldError]:
    """Yield an error for each parent whose latest cycle cannot count: the job has no schedule, or needs its items."""
    for index, parent in enumerate(request.depends_on or []):
        if parent.on is not ParentEnd.LATEST:
            continue
        if not has_fires:
            yield FieldError(f"dependsOn.{index}.on", NEEDS_SCHEDULE)
        if parent.job_id == _meant(request):
            yield FieldError("forEach", "Items come from a run in the same cycle; give their job without `on: latest`.")


NEEDS_SCHEDULE: Final = (
    "`latest` is for a job with a schedule of its own; give cronExpression, everySeconds, scheduleAt or delaySeconds."
)


def _meant(request: DependencyFields) -> str | None:
    """Return the id of the parent that `forEach` names."""
    parents = {one.name or one.job_id: one.job_id for one in request.depends_on or []}
    asked = request.for_each
    return parents.get(asked, asked if asked in parents.values() else None) if asked is not None else None


def stated_dependencies(request: DependencyFields) -> dict[str, Any]:
    """Return the dependencies that a valid request states, as the spec of a job names them."""
    return {
        **stated(request, "trigger_rule", "dependency_timeout_seconds", "pass_parents"),
        "depends_on": tuple(Parent(**stated(one)) for one in request.depends_on or ()),
        "for_each": _meant(request),
    }


def dependency_fields(spec: JobSpec) -> dict[str, Any]:
    """Return the dependencies of a job by the names of the API; without parents all are None."""
    if not spec.depends_on:
        return dict.fromkeys(("dependsOn", *NEEDS_PARENTS))
    return {
        "dependsOn": [_parent_document(parent) for parent in spec.depends_on],
        "triggerRule": spec.trigger_rule,
        "dependencyTimeoutSeconds": spec.dependency_timeout_seconds,
        "passParents": spec.pass_parents,
        "forEach": next((one.name or one.job_id for one in spec.depends_on if one.job_id == spec.for_each), None),
    }


def _parent_document(parent: Parent) -> str | dict[str, str]:
    """Return a parent in the form of a request: its id, if there is nothing else to state."""
    document = {"jobId": parent.job_id}
    if parent.name is not None:
        document["as"] = parent.name
    if parent.on is not ParentEnd.SUCCEEDED:
        document["on"] = parent.on.value
    return document if len(document) > 1 else parent.job_id


class BlockedAnswer(AnswerModel):
    """The failed run that blocks a job. Retry or replay it, or mark it as succeeded."""

    run_id: str = Field(description="The id of the failed run.")
    job_id: str = Field(description="The job of that run.")
    path: list[str] = Field(
        description="The ids of the jobs from that job to this one; of a long path the first and the last."
    )


def blocked_answer(blocked: Blocked | None, job_id: str) -> BlockedAnswer | None:
    """Return the answer about what blocks a job."""
    if blocked is None:
        return None
    return BlockedAnswer(run_id=str(blocked.by), job_id=blocked.by.job.job_id, path=[*blocked.path, job_id])
