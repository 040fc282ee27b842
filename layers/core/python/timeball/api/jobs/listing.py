"""List a tenant's jobs, the newest first. The list leaves out targets and payloads, which may be large."""

from collections.abc import Sequence
from typing import Final

from pydantic import Field

from timeball.api.http.access import Access
from timeball.api.http.cursor import PAGE, PageQuery, identifier, number
from timeball.api.http.edge import ApiContext
from timeball.api.http.exchange import AnswerModel, NextCursor, Reply, Request
from timeball.api.http.problems import FieldError
from timeball.api.http.route import Router
from timeball.api.jobs.answers import JobSummaryAnswer, job_summary
from timeball.api.jobs.reading import starting_at
from timeball.domain.model.ids import JOB_ID, JobKey
from timeball.domain.model.jobs.job import JobStatus
from timeball.domain.time.instants import LATEST
from timeball.engine.blackouts.read import outlooks
from timeball.engine.resolving import resolved
from timeball.engine.scheduling import list_jobs as engine
from timeball.engine.scheduling.list_jobs import RUNNING, JobFilter, starts_of

router = Router()

STATUSES: Final = (*JobStatus, RUNNING)


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
        starting_at(job_summary(job, now, one.status, calendars), starts.get(job.key))
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
