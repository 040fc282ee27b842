"""Create a job, once for its Idempotency-Key."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from timeball.api.http import depths, traces
from timeball.api.http.access import Access, check_flow, check_job
from timeball.api.http.body import canonical
from timeball.api.http.edge import ApiContext
from timeball.api.http.exchange import Reply, Request, created, idempotency_key, ok, read_body
from timeball.api.http.ids import NewId, fingerprint
from timeball.api.http.problems import FieldError, Problem, ProblemError, invalid
from timeball.api.http.quotas import defaults_of
from timeball.api.http.route import Router
from timeball.api.http.traces import traced
from timeball.api.jobs.answers import JobAnswer, job_answer
from timeball.api.jobs.candidates import Candidate, NewJob, settle
from timeball.api.jobs.reading import standing_answer
from timeball.api.jobs.request import JobRequest, read_job_request
from timeball.api.jobs.spec import beyond_the_tenant, spec_of, unfit
from timeball.api.schedules.fields import in_zone
from timeball.domain.model.ids import JobKey
from timeball.engine.blackouts.read import outlooks

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
    job_id: str | None = None
    """The id that the client chose for it; only in a batch."""

    @property
    def names(self) -> set[str]:
        """Return the names by which others of the batch may refer to it."""
        return {name for name in (self.ref, self.job_id) if name}


@router.post(
    "/v1/jobs",
    "Create a job; a 200 returns the job that holds its uniqueKey already",
    JobAnswer,
    status=201,
    also={200: JobAnswer},
    body=JobRequest,
    headers=("Idempotency-Key", *depths.HEADERS, *traces.HEADERS),
    problems=(Problem.IDEMPOTENCY_CONFLICT, *depths.PROBLEMS),
    keeps_bounds=True,
    access=Access.SUBMIT,
)
def create_job(edge: ApiContext, request: Request) -> Reply:
    """Create a job, or repeat the first answer to the same Idempotency-Key and body."""
    body = read_body(request)
    errors: list[FieldError] = []
    key = idempotency_key(request, errors)
    made = _create(edge, request, Asked(body, key, errors))
    if made.stood:
        return ok(standing_answer(edge, request, made.job), version=made.job.version)
    return created_reply(edge, request, made)


def created_reply(edge: ApiContext, request: Request, made: NewJob) -> Reply:
    """Return the answer with a job as it was at its creation."""
    job = made.job
    ceiling = defaults_of(edge, request).priority_ceiling
    answer = job_answer(job, job.begun_at, ceiling, calendars=outlooks(edge.context, [job]))
    return created(answer, f"/v1/jobs/{job.key.job_id}", version=job.version, is_repeated=made.is_repeated)


def _create(edge: ApiContext, request: Request, asked: Asked) -> NewJob:
    """Create a job. Raises ProblemError, and UnavailableError if it is unknown what was stored."""
    made: NewJob | ProblemError | None = None
    while made is None:  # the run of the unique key's job has just begun
        now = edge.context.clock.now()
        one = read_candidate(edge, request, asked, now)
        if isinstance(one, ProblemError):
            raise one
        (made,) = settle(edge, request, [one], now)
    if isinstance(made, ProblemError):
        raise made
    return made


def read_candidate(edge: ApiContext, request: Request, asked: Asked, now: int) -> Candidate | ProblemError:
    """Return a new job as a request asks for it, or the problem of the request."""
    wanted, errors, errors_now = read_job_request(asked.body, now)
    defaults = defaults_of(edge, request)
    wanted = in_zone(wanted, defaults.timezone)
    if asked.errors or errors:
        return invalid([*errors, *asked.errors, *errors_now])
    named = NewId.JOB.of(request.tenant, asked.key, edge.random_bytes)
    key = JobKey(request.tenant, named)
    spec = traced(request, spec_of(wanted, key, fingerprint(canonical(asked.body)), now, defaults.notify))
    try:
        check_job(request, wanted.tags)
        check_flow(edge, request, spec.flow)
    except ProblemError as refused:
        return refused
    errors_now = errors_now or unfit(edge, wanted, spec, None, now)
    errors_now += beyond_the_tenant(edge, request, wanted, spec, None)
    return Candidate(wanted, spec, errors_now, asked.ref, is_repeatable=asked.key is not None)
