"""Read a job with its newest run, and list jobs, the newest first.

A job whose run still collects triggers is shown with the present start of that run. The list leaves out targets and
payloads, which may be large.
"""

from collections.abc import Sequence
from typing import Final, TypeVar

from pydantic import Field

from timeball.api.http.access import Access
from timeball.api.http.cursor import PAGE, PageQuery, identifier, number
from timeball.api.http.edge import ApiContext, job_key, read_job_row
from timeball.api.http.exchange import AnswerModel, NextCursor, Reply, Request, ok
from timeball.api.http.problems import FieldError
from timeball.api.http.route import Router
from timeball.api.jobs.answers import JobAnswer, JobSummaryAnswer, job_summary, recent_fields, shown_job
from timeball.api.runs.answers import run_answer
from timeball.domain.model.ids import JOB_ID, JobKey, RunId
from timeball.domain.model.jobs.job import Job, JobStatus
from timeball.domain.model.runs.run import Run
from timeball.domain.planning.collecting import collects_submits, may_collect, own_run
from timeball.domain.time.instants import LATEST, format_instant
from timeball.engine.blackouts.read import outlooks
from timeball.engine.dependencies.graph_views import awaited_by_job
from timeball.engine.resolving import resolved
from timeball.engine.scheduling import list_jobs as engine
from timeball.engine.scheduling.list_jobs import (
    RUNNING,
    JobFilter,
    own_run_of,
    read_recent,
    shown_status,
    starts_of,
)
from timeball.ports.collections import LedgerQuery

STATUSES: Final = (*JobStatus, RUNNING)


router = Router()


_Answer = TypeVar("_Answer", bound=JobSummaryAnswer)


@router.get("/v1/jobs/{jobId}", "Read a job with its latest run", JobAnswer, access=Access.READ)
def get_job(edge: ApiContext, request: Request) -> Reply:
    """Read a job with its newest run, and a one-off's own run too: triggers may have made newer runs."""
    job = read_job_row(edge, job_key(request), with_work=True)
    return ok(standing_answer(edge, job), version=job.version)


def standing_answer(edge: ApiContext, job: Job) -> JobAnswer:
    """Return the answer about a job that was read with its work."""
    newest = edge.context.store.runs.ledger(LedgerQuery(job.key, limit=1)).runs
    latest = newest[0] if newest else None
    own = _own_run(edge, own_run_of(job), latest)
    status = shown_status(job, own)
    latest_run = None if latest is None else run_answer(latest)
    recent = recent_fields(read_recent(edge.context, [job])[job.key])
    about = {**recent, "latest_run": latest_run, "waiting_for": awaited_by_job(edge.context, job)}
    answer = shown_job(edge, job, status, **about)
    if latest is None or not (collects_submits(job.spec) and latest.id == own_run(job) and may_collect(latest)):
        return answer
    return starting_at(answer, latest.not_before)


def starting_at(answer: _Answer, start: int | None) -> _Answer:
    """Return the answer about a job with the start (ms) of its collecting run; unchanged if it is None."""
    if start is None:
        return answer
    shown = format_instant(start)
    return answer.model_copy(update={"next_run_at": shown, "next_runs": [shown]})


def _own_run(edge: ApiContext, own: RunId | None, latest: Run | None) -> Run | None:
    """Return the run of a one-off, if it may be live; mostly it is the newest run, which was read already."""
    if latest is not None and latest.id == own:
        return latest
    return None if own is None else edge.context.store.runs.read([own])[0]


class JobPageAnswer(AnswerModel):
    """A page of jobs, the newest first. A filter may leave a page short or empty although more pages follow."""

    items: list[JobSummaryAnswer] = Field(description="The jobs.")
    next_cursor: NextCursor


@router.get(
    "/v1/jobs",
    "List jobs, the newest first",
    JobPageAnswer,
    query=("status", "taskId", "tag", "from", "to", *PAGE),
    keeps_bounds=True,
    access=Access.READ,
)
def list_jobs(edge: ApiContext, request: Request) -> Reply:
    """List a tenant's jobs, the newest first."""
    asked = PageQuery(request)
    wanted = _filter(request, asked)
    after = asked.after(number, identifier)
    page = engine.list_jobs(edge.context, wanted, asked.limit, after and (after[0], JobKey(request.tenant, after[1])))
    now = edge.context.clock.now()
    jobs = resolved(edge.context, [one.job for one in page.items])
    calendars = outlooks(edge.context, jobs, now)
    starts = starts_of(edge.context, jobs)
    items = (
        starting_at(job_summary(job, now, one.status, one.recent, calendars), starts.get(job.key))
        for job, one in zip(jobs, page.items, strict=True)
    )
    positions = ((at, key.job_id) for at, key in page.positions)
    next_after = page.next_after and (page.next_after[0], page.next_after[1].job_id)
    return asked.page(edge, zip(items, positions, strict=True), next_after)


def _filter(request: Request, asked: PageQuery) -> JobFilter:
    from_at, to_at = asked.window()
    return JobFilter(
        request.tenant,
        statuses=asked.choices("status", STATUSES),
        tags=_tags(request.each("tag"), asked.errors),
        bounds=request.bounds,
        task_id=asked.text("taskId", JOB_ID, "No task can have this id; give the taskId of an answer."),
        from_at=from_at or 0,
        to_at=LATEST if to_at is None else to_at,
    )


def _tags(given: Sequence[str], errors: list[FieldError]) -> tuple[tuple[str, str], ...]:
    """Return the key and the value of each tag; a key has no colon."""
    parts = [text.partition(":") for text in given]
    if not all(key and colon for key, colon, _ in parts):
        errors.append(FieldError("tag", "Give a key and a value separated by a colon, such as team:blue."))
    return tuple((key, value) for key, _, value in parts)
