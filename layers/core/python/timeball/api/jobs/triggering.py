"""Run a job now, beside its schedule, or skip its next fire; each once for each Idempotency-Key."""

from pydantic import Field

from timeball.api.dependencies.named_cycles import MOST_AT_ONCE, check_graph, no_cycles
from timeball.api.http import depths, traces
from timeball.api.http.access import Access
from timeball.api.http.body import canonical, compact
from timeball.api.http.depths import call_depth
from timeball.api.http.edge import ApiContext, job_cancelled, job_key, no_job, read_job_row
from timeball.api.http.exchange import (
    Reply,
    Request,
    created,
    expected_version,
    idempotency_key,
    key_conflict,
    ok,
    read_optional_body,
    refuse_fields,
)
from timeball.api.http.fields import Payload
from timeball.api.http.ids import fingerprint
from timeball.api.http.problems import FieldError, Problem, ProblemError, refuse
from timeball.api.http.quotas import check_payload
from timeball.api.http.request_model import Strict, read_fields
from timeball.api.http.route import Router
from timeball.api.jobs.answers import JobAnswer, shown_job
from timeball.api.jobs.changing import changed_job
from timeball.api.runs.answers import RunAnswer, run_answer
from timeball.api.schemas.fit import refuse_misfit
from timeball.domain.model.jobs.job import JobStatus
from timeball.engine.changes.change import skip_next
from timeball.engine.changes.skip import Skipping
from timeball.engine.runs.trigger import Trigger, Triggered, Triggering, trigger

router = Router()


class TriggerRequest(Strict):
    """The differences of a manual run from its job."""

    payload: Payload = Field(
        None, description="The body of this run's calls instead of the job's payload: any JSON, at most 256 KB."
    )
    downstream: bool | None = Field(
        None,
        description=(
            "Run a whole cycle: the job, and then all jobs that depend on it, also indirectly, by their rules; the "
            "answer's `cycleId` names it. Default false."
        ),
    )


@router.post(
    "/v1/jobs/{jobId}/trigger",
    "Run a job now, beside its schedule; a 200 returns the waiting run that collected this trigger",
    RunAnswer,
    status=201,
    also={200: RunAnswer},
    body=TriggerRequest,
    is_body_optional=True,
    headers=("Idempotency-Key", *depths.HEADERS, *traces.HEADERS),
    problems=(
        Problem.JOB_ENDED,
        Problem.NO_CYCLES,
        Problem.GRAPH_TOO_LARGE,
        Problem.IDEMPOTENCY_CONFLICT,
        *depths.PROBLEMS,
    ),
    access=Access.SUBMIT,
)
def trigger_job(edge: ApiContext, request: Request) -> Reply:
    """Run a job now, beside its schedule; return the first run for a repeated Idempotency-Key and body."""
    body = read_optional_body(request)
    wanted, _, errors = read_fields(TriggerRequest, body)
    idempotent = idempotency_key(request, errors)
    refuse(errors)
    has_payload = "payload" in wanted.model_fields_set
    key = job_key(request)
    if has_payload:
        check_payload(edge, request, wanted.payload)
        refuse_misfit(edge, key, wanted.payload)
    members = check_graph(edge, request, read_job_row(edge, key)) if wanted.downstream else 0
    asked = Trigger(
        key,
        payload=compact(wanted.payload) if has_payload else None,
        has_payload=has_payload,
        request=None if idempotent is None else fingerprint(idempotent.encode()),
        fingerprint=fingerprint(edge.random_bytes() if idempotent is None else canonical(body)),
        depth=call_depth(edge, request),
        traceparent=traces.trace_of(request),
        downstream=bool(wanted.downstream),
        is_large=members > MOST_AT_ONCE,
    )
    return _triggered(trigger(edge.context, [asked], request.by)[0])


def _triggered(done: Triggered) -> Reply:
    if done.outcome is Triggering.CANCELLED:
        raise job_cancelled()
    if done.outcome is Triggering.ONCE:
        raise no_cycles()
    if done.run is None:
        raise no_job()
    if done.outcome is Triggering.CONFLICT:
        raise key_conflict()
    if done.outcome is Triggering.COLLECTED:
        return ok(run_answer(done.run))
    is_repeated = done.outcome is Triggering.REPEATED
    return created(run_answer(done.run), f"/v1/runs/{done.run.id}", is_repeated=is_repeated)


@router.post(
    "/v1/jobs/{jobId}/skip-next",
    "Skip the next fire of a job",
    JobAnswer,
    headers=("If-Match", "Idempotency-Key"),
    problems=(Problem.JOB_ENDED, Problem.JOB_PAUSED),
    access=Access.SUBMIT,
)
def skip_next_fire(edge: ApiContext, request: Request) -> Reply:
    """Give the next fire of a job a skipped row; answer with the job, and with this row as its `latestRun`."""
    refuse_fields(request)
    version, key = expected_version(request), job_key(request)
    errors: list[FieldError] = []
    named = idempotency_key(request, errors)
    refuse(errors)
    name = None if named is None else f"skip-next {fingerprint(named.encode())}"
    (done,) = skip_next(edge.context, [Skipping(key, version, name)], request.by)
    changed = changed_job(done.changed, "skip a fire of")
    if done.row is None:
        raise _nothing_to_skip(changed.status)
    answer = shown_job(edge, request, changed, latest_run=run_answer(done.row))
    return ok(answer, version=changed.version, is_repeated=done.is_repeated)


def _nothing_to_skip(status: JobStatus) -> ProblemError:
    if status is JobStatus.PAUSED:
        return ProblemError(Problem.JOB_PAUSED, "The job is paused, so it has no next fire; resume it first.")
    return ProblemError(Problem.JOB_ENDED, "The job has no next fire to skip.")
