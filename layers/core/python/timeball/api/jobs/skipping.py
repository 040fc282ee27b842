"""Skip the next fire of a job manually, once for each Idempotency-Key."""

from timeball.api.http.access import Access
from timeball.api.http.edge import ApiContext, job_key
from timeball.api.http.exchange import Reply, Request, expected_version, idempotency_key, ok, refuse_fields
from timeball.api.http.ids import fingerprint
from timeball.api.http.problems import FieldError, Problem, ProblemError, invalid
from timeball.api.http.route import Router
from timeball.api.jobs.answers import JobAnswer, shown_job
from timeball.api.jobs.changing import changed_job
from timeball.api.runs.answers import run_answer
from timeball.domain.model.jobs.job import JobStatus
from timeball.engine.changes.change import skip_next
from timeball.engine.changes.skip import Skipping

router = Router()


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
    if errors:
        raise invalid(errors)
    name = None if named is None else f"skip-next {fingerprint(named.encode())}"
    (done,) = skip_next(edge.context, [Skipping(key, version, name)], request.by)
    changed = changed_job(done.changed, "skip a fire of")
    if done.row is None:
        raise _nothing_to_skip(changed.status)
    answer = shown_job(edge, changed, latest_run=run_answer(done.row))
    return ok(answer, version=changed.version, is_repeated=done.is_repeated)


def _nothing_to_skip(status: JobStatus) -> ProblemError:
    if status is JobStatus.PAUSED:
        return ProblemError(Problem.JOB_PAUSED, "The job is paused, so it has no next fire; resume it first.")
    return ProblemError(Problem.JOB_ENDED, "The job has no next fire to skip.")
