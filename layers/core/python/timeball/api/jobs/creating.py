"""Create jobs, one or up to a hundred at once, each once for its Idempotency-Key. A bad job spoils no other."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final

from pydantic import ConfigDict, Field, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from timeball.api.dependencies.examining import next_round, refs_of
from timeball.api.http import depths
from timeball.api.http.access import Access, check_flow, check_job
from timeball.api.http.body import canonical, kind_of
from timeball.api.http.cursor import fitting
from timeball.api.http.edge import ApiContext
from timeball.api.http.exchange import AnswerModel, Reply, Request, created, idempotency_key, ok, read_body
from timeball.api.http.ids import NewId, fingerprint
from timeball.api.http.problems import FieldError, ItemProblem, Problem, ProblemError, invalid, problem_fields, refuse
from timeball.api.http.quotas import defaults_of
from timeball.api.http.request_model import Strict, read_fields
from timeball.api.http.route import Router
from timeball.api.http.schema_rules import needed
from timeball.api.jobs.answers import JobAnswer, job_answer
from timeball.api.jobs.candidates import Candidate, NewJob, settle
from timeball.api.jobs.reading import standing_answer
from timeball.api.jobs.request import JobRequest, read_job_request
from timeball.api.jobs.spec import beyond_the_tenant, spec_of, unfit
from timeball.api.schedules.fields import in_zone
from timeball.domain.model.ids import JOB_ID, JobKey
from timeball.engine.blackouts.read import CalendarOutlook, outlooks

MAX_JOBS: Final = 100

_STOOD: Final = 200

router = Router()


@dataclass(frozen=True)
class Asked:
    """A job as a request's body asks for it."""

    body: Mapping[str, Any]
    key: str | None
    """The Idempotency-Key, if any."""
    errors: Sequence[FieldError] = ()
    """The errors in the headers."""
    ref: str | None = None
    """The name by which others of the batch refer to it; without a `ref`, its name if no other item has the same."""


class BatchJob(JobRequest):
    """A job of a batch: a body of `POST /v1/jobs`, and a name for the other items."""

    model_config = ConfigDict(defer_build=True)  # only the document needs this model

    ref: str | None = Field(
        None,
        pattern=f"^{JOB_ID.pattern}$",
        description="The name by which `dependsOn` of other items refers to this one.",
    )


class _Described:
    """The schema of an item; the item itself is validated separately, so that a bad one spoils no other."""

    @classmethod
    def __get_pydantic_json_schema__(cls, _: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        BatchJob.model_rebuild()
        return handler(BatchJob.__pydantic_core_schema__)


_Job = Annotated[Any, _Described]


class BatchRequest(Strict):
    """Jobs that are created together."""

    model_config = ConfigDict(json_schema_extra=needed("jobs"))

    jobs: list[_Job] = Field(
        [],
        min_length=1,
        max_length=MAX_JOBS,
        description="The jobs: each a body of `POST /v1/jobs`, optionally with a `ref`.",
    )


class BatchItemAnswer(AnswerModel):
    """The result of one item: a job, or a problem.

    Under an Idempotency-Key an item that is the same at its index gets the same answer as before, and one that is not
    gets a 422.
    """

    index: int = Field(description="The index of the item in the request, from 0.")
    status: int = Field(
        description="201 for a new job, 200 for the job that holds the unique key, or the status of the problem."
    )
    job: JobAnswer | None = Field(default=None, description="The job, if there is no problem.")
    problem: ItemProblem | None = Field(default=None, description="The problem, if the item was refused.")


class BatchAnswer(AnswerModel):
    """The results of a batch."""

    items: list[BatchItemAnswer] = Field(description="A result for each item, in the order of the request.")


@router.post(
    "/v1/jobs",
    "Create a job; a 200 returns the job that holds its uniqueKey already",
    JobAnswer,
    status=201,
    also={200: JobAnswer},
    body=JobRequest,
    headers=("Idempotency-Key", *depths.HEADERS),
    problems=(Problem.IDEMPOTENCY_CONFLICT, *depths.PROBLEMS),
    keeps_bounds=True,
    access=Access.SUBMIT,
)
def create_job(edge: ApiContext, request: Request) -> Reply:
    """Create a job, or repeat the first answer to the same Idempotency-Key and body."""
    body = read_body(request)
    errors: list[FieldError] = []
    key = idempotency_key(request, errors)
    (made,) = _create_jobs(edge, request, [Asked(body, key, errors)])
    if isinstance(made, ProblemError):
        raise made
    if made.stood:
        return ok(standing_answer(edge, made.job), version=made.job.version)
    return created_reply(edge, made)


def created_reply(edge: ApiContext, made: NewJob) -> Reply:
    """Return the answer with a job as it was at its creation."""
    job = made.job
    answer = job_answer(job, job.begun_at, calendars=outlooks(edge.context, [job]))
    return created(answer, f"/v1/jobs/{job.key.job_id}", version=job.version, is_repeated=made.is_repeated)


@router.post(
    "/v1/jobs:batch",
    "Create up to a hundred jobs; each item has a result of its own",
    BatchAnswer,
    body=BatchRequest,
    headers=("Idempotency-Key", *depths.HEADERS),
    problems=depths.PROBLEMS,
    keeps_bounds=True,
    access=Access.SUBMIT,
)
def create_job_batch(edge: ApiContext, request: Request) -> Reply:
    """Create up to a hundred jobs.

    An Idempotency-Key covers each item by its index: an item that has changed gets a 422.
    """
    wanted, given, errors = read_fields(BatchRequest, read_body(request))
    key = idempotency_key(request, errors)
    if "jobs" not in given and not errors:
        errors.append(FieldError("jobs", f"Give 1 to {MAX_JOBS} jobs."))
    refuse(errors)
    refs: set[str] = set()
    asked = [_asked(index, body, key, refs) for index, body in enumerate(wanted.jobs)]
    made = iter(_create_jobs(edge, request, [one for one in asked if isinstance(one, Asked)]))
    results = [next(made) if isinstance(one, Asked) else one for one in asked]
    calendars = outlooks(edge.context, [result.job for result in results if isinstance(result, NewJob)])
    items = [_item(edge, index, result, calendars) for index, result in enumerate(results)]
    return ok(BatchAnswer(items=_fitting(items, edge.page_bytes)))


def _asked(index: int, body: object, key: str | None, refs: set[str]) -> Asked | ProblemError:
    if not isinstance(body, dict):
        return ProblemError(Problem.MALFORMED_BODY, f"This item is {kind_of(body)}; send a JSON object.")
    # An Idempotency-Key has no blanks, so no other request's key yields the same id.
    ref, rest = body.get("ref"), {name: value for name, value in body.items() if name != "ref"}
    if not (ref is None or (isinstance(ref, str) and JOB_ID.fullmatch(ref))):
        return invalid([FieldError("ref", "Give 1 to 64 letters, digits, - or _.")])
    if ref is not None and ref in refs:
        return invalid([FieldError("ref", "Another item has this ref; give each item its own.")])
    refs.add(ref or "")
    return Asked(rest, None if key is None else f"{key} {index}", ref=ref)


def _fitting(items: Sequence[BatchItemAnswer], most_bytes: int) -> list[BatchItemAnswer]:
    """Return a batch's items; leave out jobs that existed already, beyond the most bytes of an answer.

    New jobs come from the request and are never too large together.
    """
    created_first = sorted(items, key=lambda one: one.status == _STOOD)
    shown = {one.index for one in fitting(created_first, most_bytes)}
    return [one if one.index in shown or one.status != _STOOD else _left_out(one.index) for one in items]


def _left_out(index: int) -> BatchItemAnswer:
    problem = ProblemError(
        Problem.UNAVAILABLE,
        "A job holds this unique key, but the answer to the whole batch would be too large with it; "
        "send this item again on its own.",
    )
    return _refused(index, problem)


def _refused(index: int, error: ProblemError) -> BatchItemAnswer:
    return BatchItemAnswer(index=index, status=error.problem.status, problem=ItemProblem(**problem_fields(error)))


def _item(
    edge: ApiContext, index: int, result: NewJob | ProblemError, calendars: Mapping[JobKey, CalendarOutlook]
) -> BatchItemAnswer:
    if isinstance(result, ProblemError):
        return _refused(index, result)
    if result.stood:
        return BatchItemAnswer(index=index, status=_STOOD, job=standing_answer(edge, result.job))
    return BatchItemAnswer(
        index=index, status=201, job=job_answer(result.job, result.job.created_at, calendars=calendars)
    )


def _create_jobs(edge: ApiContext, request: Request, asked: Sequence[Asked]) -> list[NewJob | ProblemError]:
    """Create each job, or return its problem. Raises UnavailableError if it is unknown what was stored.

    Jobs with the same unique key are created one after the other, so that each finds the one before. A job that depends
    on a job that has to wait for this waits with it.
    """
    bodies = [one.body for one in asked]
    refs = refs_of(bodies, [one.ref for one in asked])
    made: dict[int, NewJob | ProblemError] = {}
    while left := [index for index in range(len(asked)) if index not in made]:
        indexes = next_round(bodies, refs, left)
        known = _by_ref(refs, made)
        results = _create(edge, request, [replace(asked[index], ref=refs[index]) for index in indexes], known)
        made |= {index: one for index, one in zip(indexes, results, strict=True) if one is not None}
    return [made[index] for index in range(len(asked))]


def _by_ref(refs: Sequence[str | None], made: Mapping[int, NewJob | ProblemError]) -> dict[str, NewJob | ProblemError]:
    return {ref: made[index] for index, ref in enumerate(refs) if ref and index in made}


def _create(
    edge: ApiContext, request: Request, asked: Sequence[Asked], known: Mapping[str, NewJob | ProblemError]
) -> list[NewJob | ProblemError | None]:
    """Create the jobs of a round. None means that the caller must ask again. `known` has earlier results by refs."""
    now = edge.context.clock.now()
    read = [_read(edge, request, one, now) for one in asked]
    wrong = {ask.ref: one for ask, one in zip(asked, read, strict=True) if ask.ref and isinstance(one, ProblemError)}
    candidates = [one for one in read if isinstance(one, Candidate)]
    results = iter(settle(edge, request, candidates, now, {**known, **wrong}))
    return [next(results) if isinstance(one, Candidate) else one for one in read]


def _read(edge: ApiContext, request: Request, asked: Asked, now: int) -> Candidate | ProblemError:
    wanted, errors, errors_now = read_job_request(asked.body, now)
    wanted = in_zone(wanted, defaults_of(edge, request).timezone)
    if asked.errors or errors:
        return invalid([*errors, *asked.errors, *errors_now])
    named = NewId.JOB.of(request.tenant, asked.key, edge.random_bytes)
    spec = spec_of(wanted, JobKey(request.tenant, named), fingerprint(canonical(asked.body)), now)
    try:
        check_job(request, wanted.tags)
        check_flow(edge, request, spec.flow)
    except ProblemError as refused:
        return refused
    errors_now = errors_now or unfit(edge, wanted, spec, None, now)
    errors_now += beyond_the_tenant(edge, request, wanted, spec, None)
    return Candidate(wanted, spec, errors_now, asked.ref, is_repeatable=asked.key is not None)
