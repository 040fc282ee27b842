"""Jobs are created, once for each Idempotency-Key."""

from functions.api.http.body import canonical
from functions.api.http.edge import Edge
from functions.api.http.identity import fingerprint, job_id, job_id_of_key
from functions.api.http.problems import invalid
from functions.api.http.reply import Reply, created
from functions.api.http.request import Request, idempotency_key, key_conflict, read_body
from functions.api.jobs.answers import job_answer
from functions.api.jobs.request import JobRequest, read_job_request
from functions.api.jobs.spec import closed_target, never_fires, spec_of
from timeball.domain.model.ids import JobKey
from timeball.domain.model.job import Job, JobSpec
from timeball.domain.model.new_job import new_job
from timeball.engine.scheduling.submit import Submission, submit


def create_job(edge: Edge, request: Request) -> Reply:
    """Create a job, or repeat the first answer to the same Idempotency-Key and body."""
    body = read_body(request)
    now = edge.context.clock.now()
    wanted, errors, errors_now = read_job_request(body, now)
    idempotent = idempotency_key(request, errors)
    if errors:
        raise invalid([*errors, *errors_now])
    named = job_id(edge.random_bytes()) if idempotent is None else job_id_of_key(request.tenant, idempotent)
    spec = spec_of(wanted, JobKey(request.tenant, named), fingerprint(canonical(body)), now)
    errors_now = errors_now or [*closed_target(wanted, edge.addresses), *never_fires(wanted, spec.schedule, now)]
    if errors_now:
        # What was right when the key was first used may be wrong by now: the first answer stands.
        standing = None if idempotent is None else edge.context.store.jobs.read([spec.key])[0]
        if standing is None:
            raise invalid(errors_now)
        return _repeated(wanted, spec, standing)
    submitted = submit(edge.context, [spec], now)[0]
    if submitted.outcome is Submission.CREATED:
        return _created(submitted.job)
    return _repeated(wanted, spec, submitted.job)


def _repeated(wanted: JobRequest, spec: JobSpec, standing: Job) -> Reply:
    """Repeat the answer that was given at the job's creation, whatever has become of the job since."""
    if standing.spec.fingerprint != spec.fingerprint:
        raise key_conflict()
    first_spec = spec_of(wanted, spec.key, spec.fingerprint, standing.created_at)
    return _created(new_job(first_spec, standing.created_at, shards=1), is_repeated=True)


def _created(job: Job, *, is_repeated: bool = False) -> Reply:
    location = f"/v1/jobs/{job.key.job_id}"
    return created(job_answer(job, job.created_at), location, version=job.version, is_repeated=is_repeated)
