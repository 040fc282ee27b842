"""What each route does: a request in, one verb of the engine or a read of the store, a reply out."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from pydantic import BaseModel

from timeball.domain.ids import JOB_ID, JobKey, RunId
from timeball.domain.job import Job
from timeball.domain.new_job import JobSpec, new_job
from timeball.domain.schedule import first_fire
from timeball.engine.change import Outcome, cancel
from timeball.engine.submit import Submission, submit
from timeball.engine.world import World
from timeball.ports import LedgerQuery

from .answers import HealthAnswer, RunPageAnswer
from .body import canonical, read_object
from .identity import fingerprint, job_id, job_id_of_key
from .job_request import JobRequest, read_job_request
from .job_spec import spec_of
from .paging import ledger_query, next_cursor
from .problems import FieldError, Problem, ProblemError, invalid, not_found
from .rendering import job_answer, job_with_latest_run, run_answer, run_detail_answer, text_of
from .requests import Reply, Request, check_content_type, etag, expected_version, idempotency_key

RandomBytes = Callable[[], bytes]
"""Returns 16 bytes that nobody has seen before."""


@dataclass(frozen=True)
class Edge:
    """What the operations are handed: the engine's world, and where fresh ids come from."""

    world: World
    random_bytes: RandomBytes


def create_job(edge: Edge, request: Request) -> Reply:
    """Create a job, or repeat the first answer to the same Idempotency-Key and body."""
    check_content_type(request)
    body = read_object(request.body)
    now = edge.world.clock.now()
    wanted, errors, errors_now = read_job_request(body, now)
    idempotent = idempotency_key(request)
    if isinstance(idempotent, FieldError):
        errors.append(idempotent)
    if errors or isinstance(idempotent, FieldError):
        raise invalid([*errors, *errors_now])
    named = job_id(edge.random_bytes()) if idempotent is None else job_id_of_key(request.tenant, idempotent)
    spec = spec_of(wanted, JobKey(request.tenant, named), fingerprint(canonical(body)), now)
    errors_now = errors_now or _never_fires(wanted, spec, now)
    if errors_now:
        # What was right when the key was first used may be wrong by now: the first answer stands.
        standing = None if idempotent is None else edge.world.store.read_jobs([spec.key])[0]
        if standing is None:
            raise invalid(errors_now)
        return _repeated(spec, standing)
    submitted = submit(edge.world, [spec], now)[0]
    return _created(submitted.job) if submitted.outcome is Submission.CREATED else _repeated(spec, submitted.job)


def _never_fires(wanted: JobRequest, spec: JobSpec, now: int) -> list[FieldError]:
    if first_fire(spec.schedule, now) is not None:
        return []
    form = "everySeconds" if wanted.every_seconds is not None else "cronExpression"
    if wanted.end_at is None:
        return [FieldError(form, "This schedule has no fire time before the year 2400; give another one.")]
    return [FieldError("endAt", "The schedule has no fire time up to then; give a later time.")]


def _repeated(spec: JobSpec, standing: Job) -> Reply:
    """Repeat the answer that was given at the job's creation, whatever has become of the job since."""
    if standing.fingerprint != spec.fingerprint:
        raise ProblemError(
            Problem.IDEMPOTENCY_CONFLICT,
            "This Idempotency-Key was used with another body; send that body again, or take a new key.",
        )
    first = new_job(replace(spec, schedule=standing.schedule), standing.created_at, shards=1)
    reply = _created(first)
    return replace(reply, headers={**reply.headers, "Idempotency-Replayed": "true"})


def _created(job: Job) -> Reply:
    headers = {"ETag": etag(job.version), "Location": f"/v1/jobs/{job.key.job_id}"}
    return Reply(201, text_of(job_answer(job, job.created_at)), headers)


def read_job(edge: Edge, request: Request) -> Reply:
    """Read a job with its newest run."""
    job = _job(edge.world, request)
    latest = edge.world.store.ledger(LedgerQuery(job.key, limit=1)).runs
    answer = job_with_latest_run(job, latest[0] if latest else None, edge.world.clock.now())
    return _ok(answer, {"ETag": etag(job.version)})


def cancel_job(edge: Edge, request: Request) -> Reply:
    """Cancel a job; name the runs that were already claimed."""
    version = expected_version(request)
    key = _job_key(request)
    done = cancel(edge.world, [(key, version)])[0]
    if done.outcome is Outcome.NOT_FOUND or done.job is None:
        raise _no_job()
    if done.outcome is Outcome.STALE:
        raise ProblemError(
            Problem.STALE_VERSION,
            f"The job is at version {done.job.version} by now; read it again before you cancel it.",
            headers={"ETag": etag(done.job.version)},
        )
    if done.outcome is Outcome.ENDED:
        raise ProblemError(Problem.JOB_ENDED, f"The job is {done.job.status} already; there is nothing to cancel.")
    with_work = edge.world.store.read_jobs([key], with_work=True)[0]
    job = replace(done.job, work=with_work.work if with_work else None)
    answer = job_answer(job, edge.world.clock.now(), claimed_runs=[str(run) for run in done.claimed])
    return _ok(answer, {"ETag": etag(job.version)})


def list_runs(edge: Edge, request: Request) -> Reply:
    """List a job's runs, newest first."""
    key = _job_key(request)
    query = ledger_query(key, request.query)
    if edge.world.store.read_jobs([key])[0] is None:
        raise _no_job()
    page = edge.world.store.ledger(query)
    items = [run_answer(run) for run in page.runs]
    return _ok(RunPageAnswer(items=items, next_cursor=next_cursor(query, page.next_before)))


def read_run(edge: Edge, request: Request) -> Reply:
    """Read a run with every attempt."""
    run_id = RunId.parse(request.tenant, request.path["runId"])
    run = None if run_id is None else edge.world.store.read_runs([run_id])[0]
    if run is None:
        raise not_found("You have no run with this id; list a job's runs at /v1/jobs/{jobId}/runs.")
    return _ok(run_detail_answer(run, edge.world.store.read_attempts(run.id)))


def healthz(edge: Edge, request: Request) -> Reply:  # noqa: ARG001 - every operation is called alike
    """Say that the API is up."""
    return _ok(HealthAnswer(status="ok"))


def openapi(edge: Edge, request: Request) -> Reply:  # noqa: ARG001 - every operation is called alike
    """Describe the API."""
    from .openapi import document_text  # noqa: PLC0415 - seldom asked for, and slow to import

    return Reply(200, document_text())


def _job_key(request: Request) -> JobKey:
    name = request.path["jobId"]
    if not JOB_ID.fullmatch(name):
        raise _no_job()
    return JobKey(request.tenant, name)


def _job(world: World, request: Request) -> Job:
    job = world.store.read_jobs([_job_key(request)], with_work=True)[0]
    if job is None:
        raise _no_job()
    return job


def _no_job() -> ProblemError:
    return not_found("You have no job with this id.")


def _ok(answer: BaseModel, headers: dict[str, str] | None = None) -> Reply:
    return Reply(200, text_of(answer), headers or {})
