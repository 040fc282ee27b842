"""A job is made what one of its revisions was: as by a PUT of that, so it is validated as any request is."""

import re

from functions.api.http.bounds import check_job
from functions.api.http.edge import Edge, job_key, read_job_row
from functions.api.http.problems import ProblemError, invalid, not_found
from functions.api.http.reply import Reply
from functions.api.http.request import Request, expected_version, refuse_fields, stale
from functions.api.jobs.changing import ended
from functions.api.jobs.patch import document_of, kept_times
from functions.api.jobs.replacing import replace_job
from functions.api.jobs.request import read_job_request
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.jobs.revision import Revision, RevisionId, revision_of
from timeball.domain.model.tenants.actor import Action


def restore_job(edge: Edge, request: Request) -> Reply:
    """Make a job what a revision of it says; it stays paused if it is. The newest one changes nothing."""
    refuse_fields(request)
    version, job = expected_version(request), read_job_row(edge, job_key(request), with_work=True)
    if version is not None and job.version != version:
        raise stale("job", job.version, "restore")
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


def _revision(edge: Edge, job: Job, name: str) -> Revision:
    """Return a revision with all of its payload. Raises ProblemError if it is not there, or no longer."""
    if not re.fullmatch(r"[1-9][0-9]{0,8}", name, re.ASCII):
        raise _no_revision()
    if int(name) == job.version:
        return revision_of(job)
    found = edge.context.store.changes.read([RevisionId(job.key, job.created_at, int(name))], whole=True)[0]
    if found is None:
        raise _no_revision()
    if found.lacks_payload:
        raise not_found("The payload of this revision is not kept any more; send the job as you want it with PUT.")
    return found


def _no_revision() -> ProblemError:
    return not_found("The job has no such revision, or not any more; list those that are kept at .../revisions.")
