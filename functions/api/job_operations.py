"""Jobs: created, and read. job_change_operations.py does what happens to them later."""

from dataclasses import replace

from timeball.domain.ids import JobKey, Origin, RunId
from timeball.domain.job import Job, JobStatus
from timeball.domain.new_job import JobSpec, new_job
from timeball.domain.run import Run
from timeball.domain.schedule import At
from timeball.engine.submit import Submission, submit
from timeball.ports import LedgerQuery

from .answer_model import text_of
from .body import canonical
from .edge import Edge, job_key, ok, read_job_row
from .identity import fingerprint, job_id, job_id_of_key
from .job_request import JobRequest, read_job_request
from .job_spec import closed_target, never_fires, spec_of
from .problems import FieldError, invalid
from .rendering import job_answer, job_with_latest_run
from .requests import Reply, Request, etag, idempotency_key, key_conflict, read_body


def create_job(edge: Edge, request: Request) -> Reply:
    """Create a job, or repeat the first answer to the same Idempotency-Key and body."""
    body = read_body(request)
    now = edge.world.clock.now()
    wanted, errors, errors_now = read_job_request(body, now)
    idempotent = idempotency_key(request)
    if isinstance(idempotent, FieldError):
        errors.append(idempotent)
    if errors or isinstance(idempotent, FieldError):
        raise invalid([*errors, *errors_now])
    named = job_id(edge.random_bytes()) if idempotent is None else job_id_of_key(request.tenant, idempotent)
    spec = spec_of(wanted, JobKey(request.tenant, named), fingerprint(canonical(body)), now)
    errors_now = errors_now or [*closed_target(wanted, edge.addresses), *never_fires(wanted, spec.schedule, now)]
    if errors_now:
        # What was right when the key was first used may be wrong by now: the first answer stands.
        standing = None if idempotent is None else edge.world.store.read_jobs([spec.key])[0]
        if standing is None:
            raise invalid(errors_now)
        return _repeated(wanted, spec, standing)
    submitted = submit(edge.world, [spec], now)[0]
    if submitted.outcome is Submission.CREATED:
        return _created(submitted.job)
    return _repeated(wanted, spec, submitted.job)


def _repeated(wanted: JobRequest, spec: JobSpec, standing: Job) -> Reply:
    """Repeat the answer that was given at the job's creation, whatever has become of the job since."""
    if standing.fingerprint != spec.fingerprint:
        raise key_conflict()
    first_spec = spec_of(wanted, spec.key, spec.fingerprint, standing.created_at)
    reply = _created(new_job(first_spec, standing.created_at, shards=1))
    return replace(reply, headers={**reply.headers, "Idempotency-Replayed": "true"})


def _created(job: Job) -> Reply:
    headers = {"ETag": etag(job.version), "Location": f"/v1/jobs/{job.key.job_id}"}
    return Reply(201, text_of(job_answer(job, job.created_at)), headers)


def read_job(edge: Edge, request: Request) -> Reply:
    """Read a job with its newest run."""
    job = read_job_row(edge, job_key(request), with_work=True)
    newest = edge.world.store.ledger(LedgerQuery(job.key, limit=1)).runs
    latest = newest[0] if newest else None
    answer = job_with_latest_run(job, latest, _own_run(edge, job, latest), edge.world.clock.now())
    return ok(answer, {"ETag": etag(job.version)})


def _own_run(edge: Edge, job: Job, latest: Run | None) -> Run | None:
    """Return the run of a one-off that is pending, or failed and may be tried again by hand.

    It may have newer ones beside it that were triggered.
    """
    timing = job.schedule.timing
    if not isinstance(timing, At) or job.status not in (JobStatus.PENDING, JobStatus.FAILED) or latest is None:
        return None
    own = RunId(job.key, timing.at, Origin.SCHEDULE)
    return latest if latest.id == own else edge.world.store.read_runs([own])[0]
