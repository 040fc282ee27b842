"""A job is read with its newest run."""

from functions.api.http.edge import Edge, job_key, read_job_row
from functions.api.http.reply import Reply, ok
from functions.api.http.request import Request
from functions.api.jobs.answers import job_with_latest_run
from timeball.domain.model.ids import Origin, RunId
from timeball.domain.model.job import Job, JobStatus
from timeball.domain.model.run import Run
from timeball.domain.time.schedule import At
from timeball.ports.runs import LedgerQuery


def read_job(edge: Edge, request: Request) -> Reply:
    """Read a job with its newest run."""
    job = read_job_row(edge, job_key(request), with_work=True)
    newest = edge.context.store.runs.ledger(LedgerQuery(job.key, limit=1)).runs
    latest = newest[0] if newest else None
    answer = job_with_latest_run(job, latest, _own_run(edge, job, latest), edge.context.clock.now())
    return ok(answer, version=job.version)


def _own_run(edge: Edge, job: Job, latest: Run | None) -> Run | None:
    """Return the run of a one-off that is pending, or failed and may be retried manually.

    It may have newer ones beside it that were triggered.
    """
    timing = job.spec.schedule.timing
    if not isinstance(timing, At) or job.status not in (JobStatus.PENDING, JobStatus.FAILED) or latest is None:
        return None
    own = RunId(job.key, timing.at, Origin.SCHEDULE)
    return latest if latest.id == own else edge.context.store.runs.read([own])[0]
