"""Create or put up to a hundred jobs at once, each with a result of its own: a bad job spoils no other.

An item with a `jobId` does the same as a PUT under that id, by the same code. New jobs are created together in rounds;
jobs that stand are changed one after the other.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Final

from pydantic import ConfigDict, Field, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from timeball.api.dependencies.examining import next_round, refs_of, refused_parents, waiting_for, with_ids
from timeball.api.http import depths, traces
from timeball.api.http.access import Access, is_seen
from timeball.api.http.body import kind_of
from timeball.api.http.cursor import fitting
from timeball.api.http.edge import ApiContext, no_job
from timeball.api.http.exchange import AnswerModel, Reply, Request, idempotency_key, ok, read_body
from timeball.api.http.problems import FieldError, ItemProblem, Problem, ProblemError, invalid, problem_fields, refuse
from timeball.api.http.quotas import defaults_of
from timeball.api.http.request_model import Strict, read_fields
from timeball.api.http.route import Router
from timeball.api.http.schema_rules import needed
from timeball.api.jobs.answers import JobAnswer, job_answer
from timeball.api.jobs.candidates import Candidate, NewJob, settle
from timeball.api.jobs.changing import Replaced, named_candidate, put_again, read_put
from timeball.api.jobs.creating import Asked, read_candidate
from timeball.api.jobs.reading import standing_answer
from timeball.api.jobs.request import JobRequest
from timeball.domain.model.ids import JOB_ID, JobKey
from timeball.domain.model.jobs.job import Job
from timeball.engine.blackouts.read import CalendarOutlook, outlooks

MAX_JOBS: Final = 100

router = Router()

_Done = NewJob | Replaced | ProblemError
"""The result of an item."""


class BatchJob(JobRequest):
    """A job of a batch: a body of `POST /v1/jobs`, perhaps with an id, and a name for the other items."""

    model_config = ConfigDict(defer_build=True)  # only the document needs this model

    job_id: str | None = Field(
        None,
        pattern=f"^{JOB_ID.pattern}$",
        description="The id of the job: the item does the same as `PUT /v1/jobs/{jobId}`.",
    )
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
        description="The jobs: each a body of `POST /v1/jobs`, optionally with a `jobId` and a `ref`.",
    )


class BatchItemAnswer(AnswerModel):
    """The result of one item: a job, or a problem.

    Under an Idempotency-Key an item that is the same at its index gets the same answer as before, and one that is not
    gets a 422. An item with a `jobId` is put again.
    """

    index: int = Field(description="The index of the item in the request, from 0.")
    status: int = Field(
        description=(
            "201 for a new job or generation, 200 for the job that holds the unique key or stood under the `jobId`, or "
            "the status of the problem."
        )
    )
    job: JobAnswer | None = Field(default=None, description="The job, if there is no problem.")
    problem: ItemProblem | None = Field(default=None, description="The problem, if the item was refused.")


class BatchAnswer(AnswerModel):
    """The results of a batch."""

    items: list[BatchItemAnswer] = Field(description="A result for each item, in the order of the request.")


@router.post(
    "/v1/jobs:batch",
    "Create or put up to a hundred jobs; each item has a result of its own",
    BatchAnswer,
    body=BatchRequest,
    headers=("Idempotency-Key", *depths.HEADERS, *traces.HEADERS),
    problems=depths.PROBLEMS,
    keeps_bounds=True,
    access=Access.SUBMIT,
)
def create_job_batch(edge: ApiContext, request: Request) -> Reply:
    """Create up to a hundred jobs, or put those that give their ids.

    An Idempotency-Key covers each item without an id by its index: an item that has changed gets a 422.
    """
    wanted, given, errors = read_fields(BatchRequest, read_body(request))
    key = idempotency_key(request, errors)
    if "jobs" not in given and not errors:
        errors.append(FieldError("jobs", f"Give 1 to {MAX_JOBS} jobs."))
    refuse(errors)
    depths.given_depth(request)  # changing a job creates nothing, but an invalid depth is refused all the same
    results = _results(edge, request, wanted.jobs, key)
    calendars = outlooks(edge.context, [result.job for result in results if isinstance(result, NewJob)])
    items = [_item(edge, request, index, result, calendars) for index, result in enumerate(results)]
    stood = {index for index, result in enumerate(results) if isinstance(result, NewJob) and result.stood}
    return ok(BatchAnswer(items=_fitting(items, stood, edge.page_bytes)))


def _results(edge: ApiContext, request: Request, bodies: Sequence[object], key: str | None) -> list[_Done]:
    names: set[str] = set()
    asked = [_asked(index, body, key, names) for index, body in enumerate(bodies)]
    made = iter(_do(edge, request, [one for one in asked if isinstance(one, Asked)]))
    return [next(made) if isinstance(one, Asked) else one for one in asked]


def _asked(index: int, body: object, key: str | None, names: set[str]) -> Asked | ProblemError:
    """Return what an item asks for. `names` has the ids and refs of the items before it."""
    if not isinstance(body, dict):
        return ProblemError(Problem.MALFORMED_BODY, f"This item is {kind_of(body)}; send a JSON object.")
    job_id, ref = body.get("jobId"), body.get("ref")
    errors = [*_bad_name("jobId", job_id, "jobId or ref", names), *_bad_name("ref", ref, "ref or jobId", names)]
    if errors:
        return invalid(errors)
    names |= {name for name in (job_id, ref) if name}
    rest = {name: value for name, value in body.items() if name not in ("jobId", "ref")}
    # An Idempotency-Key has no blanks, so no other request's key yields the same id.
    return Asked(rest, None if key is None else f"{key} {index}", ref=ref, job_id=job_id)


def _bad_name(field: str, value: object, what: str, names: Collection[str]) -> list[FieldError]:
    if value is None:
        return []
    if not (isinstance(value, str) and JOB_ID.fullmatch(value)):
        return [FieldError(field, "Give 1 to 64 letters, digits, - or _.")]
    if value in names:
        return [FieldError(field, f"Another item has this {what}; give each item its own.")]
    return []


def _fitting(items: Sequence[BatchItemAnswer], stood: Collection[int], most_bytes: int) -> list[BatchItemAnswer]:
    """Return a batch's items; leave out jobs that stood under a unique key, beyond the most bytes of an answer.

    Other jobs are as the request says, and never too large together.
    """
    asked_first = sorted(items, key=lambda one: one.index in stood)
    shown = {one.index for one in fitting(asked_first, most_bytes)}
    return [one if one.index in shown or one.index not in stood else _left_out(one.index) for one in items]


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
    edge: ApiContext, request: Request, index: int, result: _Done, calendars: Mapping[JobKey, CalendarOutlook]
) -> BatchItemAnswer:
    if isinstance(result, ProblemError):
        return _refused(index, result)
    if isinstance(result, Replaced):
        return BatchItemAnswer(index=index, status=200, job=result.answer)
    if result.stood:
        return BatchItemAnswer(index=index, status=200, job=standing_answer(edge, request, result.job))
    ceiling = defaults_of(edge, request).priority_ceiling
    job = job_answer(result.job, result.job.begun_at, ceiling, calendars=calendars)
    return BatchItemAnswer(index=index, status=201, job=job)


def _do(edge: ApiContext, request: Request, asked: Sequence[Asked]) -> list[_Done]:
    """Create or put each job, or return its problem. Raises UnavailableError if it is unknown what was stored.

    Jobs with the same unique key are created one after the other, so that each finds the one before. A job that depends
    on a job that has to wait for this waits with it.
    """
    asked = _with_refs(asked)
    bodies, names = [one.body for one in asked], [one.names for one in asked]
    standing = _standing(edge, request, dict(enumerate(asked)))
    made: dict[int, _Done] = {}
    while left := sorted({*range(len(asked))} - made.keys()):
        coming = {index: asked[index] for index in next_round(bodies, names, left, standing)}
        known = {name: one for index, one in made.items() for name in names[index]}
        if coming.keys().isdisjoint(standing):
            made |= _create(edge, request, coming, known)
        else:
            rows = standing | (_standing(edge, request, coming) if made else {})
            circle = waiting_for(bodies, names, list(coming), left)  # such an item comes alone
            made |= dict.fromkeys(circle, _circle()) or _put_each(edge, request, coming, rows, known)
    return [made[index] for index in range(len(asked))]


def _with_refs(asked: Sequence[Asked]) -> list[Asked]:
    refs = refs_of([one.body for one in asked], [one.ref for one in asked], [one.job_id for one in asked])
    return [replace(one, ref=ref) for one, ref in zip(asked, refs, strict=True)]


def _standing(edge: ApiContext, request: Request, asked: Mapping[int, Asked]) -> dict[int, Job]:
    """Return the jobs that stand under the ids that items give."""
    keys = {index: JobKey(request.tenant, one.job_id) for index, one in asked.items() if one.job_id}
    rows = edge.context.store.jobs.read(list(keys.values()), with_work=True) if keys else []
    return {index: job for index, job in zip(keys, rows, strict=True) if job is not None}


def _circle() -> ProblemError:
    return invalid([FieldError("dependsOn", "Jobs of this batch would wait for each other; remove a dependency.")])


def _put_each(
    edge: ApiContext,
    request: Request,
    asked: Mapping[int, Asked],
    rows: Mapping[int, Job],
    known: Mapping[str, _Done],
) -> dict[int, _Done]:
    return {index: _put(edge, request, one, rows[index], known) for index, one in asked.items()}


def _put(
    edge: ApiContext, request: Request, asked: Asked, standing: Job, known: Mapping[str, _Done]
) -> NewJob | Replaced | ProblemError:
    """Do the same as a PUT of a job that stands. `known` has the results of earlier items by their names."""
    if not is_seen(request, standing):
        return no_job()
    body = with_ids(asked.body, _ids(known))
    try:
        wanted, errors_now = read_put(edge, request, body, standing, edge.context.clock.now())
        refuse(refused_parents(asked.body, _lost(known)))
        return put_again(edge, request, standing, wanted, errors_now)
    except ProblemError as refused:
        return refused


def _ids(known: Mapping[str, _Done]) -> dict[str, str]:
    return {name: one.job.key.job_id for name, one in known.items() if not isinstance(one, ProblemError)}


def _lost(known: Mapping[str, _Done]) -> dict[str, ProblemError]:
    return {name: one for name, one in known.items() if isinstance(one, ProblemError)}


def _create(
    edge: ApiContext, request: Request, asked: Mapping[int, Asked], known: Mapping[str, _Done]
) -> dict[int, _Done]:
    """Create the jobs of a round; the caller must ask again for those that are left out.

    `known` has earlier results by names.
    """
    now = edge.context.clock.now()
    read = {index: _read(edge, request, one, now) for index, one in asked.items()}
    wrong = {index: one for index, one in read.items() if isinstance(one, ProblemError)}
    known_now = {**known, **{name: one for index, one in wrong.items() for name in asked[index].names}}
    candidates = {index: one for index, one in read.items() if isinstance(one, Candidate)}
    settled = settle(edge, request, list(candidates.values()), now, {**_ids(known_now), **_lost(known_now)})
    made = {index: one for index, one in zip(candidates, settled, strict=True) if one is not None}
    return {**wrong, **made}


def _read(edge: ApiContext, request: Request, asked: Asked, now: int) -> Candidate | ProblemError:
    if asked.job_id is None:
        return read_candidate(edge, request, asked, now)
    try:
        wanted, _ = read_put(edge, request, asked.body, None, now)
        key = JobKey(request.tenant, asked.job_id)
        one = named_candidate(edge, request, key, asked.body, wanted, now)
    except ProblemError as refused:
        return refused
    one.ref = asked.ref
    return one
