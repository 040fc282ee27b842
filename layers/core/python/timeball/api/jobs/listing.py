"""List a tenant's jobs, the newest first. The list leaves out targets and payloads, which may be large."""

from collections.abc import Mapping, Sequence
from typing import Final

from pydantic import Field

from timeball.api.http.access import Access
from timeball.api.http.edge import ApiContext
from timeball.api.http.paging import FOREIGN, QueryReader, cursor_of, page_of, position_in
from timeball.api.http.problems import FieldError, invalid
from timeball.api.http.reply import AnswerModel, NextCursor, Reply
from timeball.api.http.request import Request
from timeball.api.http.route import Router
from timeball.api.jobs.answers import JobSummaryAnswer, job_summary
from timeball.api.jobs.of_tasks import shown
from timeball.api.jobs.reading import starting_at
from timeball.domain.model.ids import JOB_ID, JobKey
from timeball.domain.model.jobs.job import JobStatus
from timeball.domain.time.instants import LATEST
from timeball.engine.blackouts.read import outlooks
from timeball.engine.scheduling import list_jobs as engine
from timeball.engine.scheduling.list_jobs import RUNNING, JobFilter, starts_of

router = Router()

JOB_PARAMETERS: Final = ("status", "taskId", "tag", "from", "to", "limit", "cursor")
STATUSES: Final = (*JobStatus, RUNNING)

_Position = tuple[int, JobKey]


class JobPageAnswer(AnswerModel):
    """A page of jobs, the newest first. A filter may leave a page short or empty although more pages follow."""

    items: list[JobSummaryAnswer] = Field(description="The jobs.")
    next_cursor: NextCursor


@router.get(
    "/v1/jobs",
    "List jobs, the newest first",
    JobPageAnswer,
    query=JOB_PARAMETERS,
    keeps_bounds=True,
    access=Access.READ,
)
def list_jobs(edge: ApiContext, request: Request) -> Reply:
    """List a tenant's jobs, the newest first."""
    reader = QueryReader(request.query, JOB_PARAMETERS)
    limit = reader.limit()
    asked = _filter(request, reader)
    if reader.errors:
        raise invalid(reader.errors)
    page = engine.list_jobs(edge.context, asked, limit, _after(asked, request.query))
    now = edge.context.clock.now()
    jobs = shown(edge, [one.job for one in page.items])
    calendars = outlooks(edge.context, jobs, now)
    starts = starts_of(edge.context, jobs)
    items = (
        starting_at(job_summary(job, now, one.status, calendars), starts.get(job.key))
        for job, one in zip(jobs, page.items, strict=True)
    )
    cursors = (_cursor(asked, one) for one in page.positions)
    next_cursor = None if page.next_after is None else _cursor(asked, page.next_after)
    return page_of(zip(items, cursors, strict=True), next_cursor, edge.page_bytes)


def _filter(request: Request, reader: QueryReader) -> JobFilter:
    from_at, to_at = reader.instant("from"), reader.instant("to")
    if from_at is not None and to_at is not None and to_at < from_at:
        reader.errors.append(FieldError("to", "This is before from; give a later time."))
    return JobFilter(
        request.tenant,
        statuses=_statuses(request.query, reader.errors),
        tags=_tags(request.each("tag"), reader.errors),
        bounds=request.bounds,
        task_id=_task_id(request.query, reader.errors),
        from_at=from_at or 0,
        to_at=LATEST if to_at is None else to_at,
    )


def _statuses(query: Mapping[str, str], errors: list[FieldError]) -> frozenset[str]:
    names = frozenset(query["status"].split(",")) if "status" in query else frozenset()
    if not names <= frozenset(STATUSES):
        errors.append(FieldError("status", f"Give one or more of {', '.join(STATUSES)}, separated by commas."))
    return names


def _task_id(query: Mapping[str, str], errors: list[FieldError]) -> str | None:
    if "taskId" in query and not JOB_ID.fullmatch(query["taskId"]):
        errors.append(FieldError("taskId", "No task can have this id; give the taskId of an answer."))
    return query.get("taskId")


def _tags(given: Sequence[str], errors: list[FieldError]) -> tuple[tuple[str, str], ...]:
    """Return the key and the value of each tag; a key has no colon."""
    parts = [text.partition(":") for text in given]
    if not all(key and colon for key, colon, _ in parts):
        errors.append(FieldError("tag", "Give a key and a value separated by a colon, such as team:blue."))
    return tuple((key, value) for key, _, value in parts)


def _cursor(asked: JobFilter, position: _Position) -> str:
    bound = (asked.tenant, ",".join(sorted(asked.statuses)), asked.tags, asked.task_id, asked.from_at, asked.to_at)
    return cursor_of(("jobs", *bound), f"{position[0]}.{position[1].job_id}")


def _after(asked: JobFilter, query: Mapping[str, str]) -> _Position | None:
    """Return the position at which the page before ended. Raises ProblemError for a cursor of another query."""
    if "cursor" not in query:
        return None
    created_at, _, job_id = position_in(query["cursor"]).partition(".")
    if created_at.isascii() and created_at.isdecimal() and len(created_at) <= 14 and JOB_ID.fullmatch(job_id):
        position = int(created_at), JobKey(asked.tenant, job_id)
        if _cursor(asked, position) == query["cursor"]:
            return position
    raise invalid([FOREIGN])
