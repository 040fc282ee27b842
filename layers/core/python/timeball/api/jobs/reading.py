"""Read a job with its newest run.

A job whose run still collects triggers is shown with the present start of that run.
"""

from timeball.api.http.access import Access
from timeball.api.http.edge import ApiContext, job_key, read_job_row
from timeball.api.http.exchange import Reply, Request, moving
from timeball.api.http.route import Router
from timeball.api.jobs.answers import JobAnswer, recent_fields, shown_job, starting_at
from timeball.api.runs.answers import run_answer
from timeball.domain.model.ids import RunId
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.runs.run import Run
from timeball.domain.planning.collecting import collects_submits, may_collect, own_run
from timeball.domain.run_ends.recent import may_have_moved
from timeball.engine.dependencies.graph_views import awaited_by_job
from timeball.engine.scheduling.list_jobs import (
    own_run_of,
    read_recent,
    shown_status,
)
from timeball.ports.collections import LedgerQuery

router = Router()


@router.get("/v1/jobs/{jobId}", "Read a job with its latest run", JobAnswer, access=Access.READ)
def get_job(edge: ApiContext, request: Request) -> Reply:
    """Read a job with its newest run, and a one-off's own run too: triggers may have made newer runs."""
    job = read_job_row(edge, job_key(request), with_work=True)
    latest = _newest_row(edge, job)
    answer = _answer(edge, request, job, latest)
    is_capped = answer.effective_priority != answer.priority  # by the tenant's ceiling, which changes without the job
    has_moved = is_capped or may_have_moved(job, latest, edge.context.clock.now())
    return moving(answer, job.version, has_moved=has_moved)


def standing_answer(edge: ApiContext, request: Request, job: Job) -> JobAnswer:
    """Return the answer about a job that was read with its work."""
    return _answer(edge, request, job, _newest_row(edge, job))


def _newest_row(edge: ApiContext, job: Job) -> Run | None:
    newest = edge.context.store.runs.ledger(LedgerQuery(job.key, limit=1)).runs
    return newest[0] if newest else None


def _answer(edge: ApiContext, request: Request, job: Job, latest: Run | None) -> JobAnswer:
    own = _own_run(edge, own_run_of(job), latest)
    status = shown_status(job, own)
    latest_run = None if latest is None else run_answer(latest)
    recent = recent_fields(read_recent(edge.context, [job])[job.key])
    about = {**recent, "latest_run": latest_run, "waiting_for": awaited_by_job(edge.context, job)}
    answer = shown_job(edge, request, job, status, **about)
    if latest is None or not (collects_submits(job.spec) and latest.id == own_run(job) and may_collect(latest)):
        return answer
    return starting_at(answer, latest.not_before)


def _own_run(edge: ApiContext, own: RunId | None, latest: Run | None) -> Run | None:
    """Return the run of a one-off, if it may be live; mostly it is the newest run, which was read already."""
    if latest is not None and latest.id == own:
        return latest
    return None if own is None else edge.context.store.runs.read([own])[0]
