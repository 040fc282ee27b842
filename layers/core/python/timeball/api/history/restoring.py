"""Restore a revision of a job as by a PUT of its document, which is validated like any request."""

import re

from timeball.api.http.access import Access, check_job
from timeball.api.http.edge import ApiContext, job_key, read_job_row
from timeball.api.http.exchange import Reply, Request, check_version, expected_version, refuse_fields
from timeball.api.http.problems import Problem, ProblemError, invalid, not_found
from timeball.api.http.route import Router
from timeball.api.jobs.answers import JobAnswer
from timeball.api.jobs.changing import ended, replace_job
from timeball.api.jobs.document import document_of
from timeball.api.jobs.patch import kept_times
from timeball.api.jobs.request import read_job_request
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.jobs.revision import Revision, RevisionId, revision_of
from timeball.domain.model.tenants.actor import Action

router = Router()


@router.post(
    "/v1/jobs/{jobId}/revisions/{revision}:restore",
    "Change a job back to one of its revisions",
    JobAnswer,
    headers=("If-Match",),
    problems=(Problem.JOB_ENDED, Problem.QUOTA_EXCEEDED),
    access=Access.OPERATE,
)
def restore_job(edge: ApiContext, request: Request) -> Reply:
    """Change a job to one of its revisions; a paused job stays paused. Restoring the newest changes nothing."""
    refuse_fields(request)
    version, job = expected_version(request), read_job_row(edge, job_key(request), with_work=True)
    check_version("job", job.version, version, "restore")
    revision = _revision(edge, job, request.path["revision"])
    if not job.is_open:
        raise ended(job, "restore")
    wanted, errors, errors_now = read_job_request(document_of(revision.spec), edge.context.clock.now())
    kept = kept_times(job, wanted)
    errors_now = [error for error in errors_now if error.field not in kept]
    if errors or errors_now:
        raise invalid([*errors, *errors_now])
    check_job(request, wanted.tags)
    return replace_job(edge, job, wanted, Action.RESTORE, request)


def _revision(edge: ApiContext, job: Job, name: str) -> Revision:
    """Return a revision with all of its payload. Raises ProblemError if it does not exist or is no longer kept."""
    if not re.fullmatch(r"[1-9][0-9]{0,8}", name, re.ASCII):
        raise _no_revision()
    if int(name) == job.version:
        return revision_of(job)
    found = edge.context.store.changes.read([RevisionId(job.key, job.created_at, int(name))], whole=True)[0]
    if found is None:
        raise _no_revision()
    if found.lacks_payload:
        raise not_found("The payload of this revision is no longer kept; send the job as you want it with PUT.")
    return found


def _no_revision() -> ProblemError:
    return not_found("The job has no such revision, or it is no longer kept; list the kept revisions at .../revisions.")
