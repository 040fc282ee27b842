"""List jobs: the newest first, or sorted. A list leaves out targets and payloads, which may be large.

In the order of creation a page continues from any position, so a filter only makes pages short. Any other order is
known only once all jobs that may match have been read: a list of more than MAX_SORTED candidates is refused.
"""

import re
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final
from urllib.parse import quote, unquote

from pydantic import ConfigDict, Field

from timeball.api.http.access import Access
from timeball.api.http.cursor import PAGE, PageQuery, identifier, number, tags_of
from timeball.api.http.edge import ApiContext
from timeball.api.http.exchange import AnswerModel, NextCursor, Reply, Request
from timeball.api.http.problems import FieldError, invalid
from timeball.api.http.quotas import defaults_of
from timeball.api.http.route import Router
from timeball.api.jobs.answers import JobHeadAnswer, JobSummaryAnswer, job_head, job_summary, starting_at, upcoming
from timeball.domain.model.ids import JOB_ID, JobKey
from timeball.domain.model.jobs.job import Job, JobStatus, Priority
from timeball.domain.time.instants import LATEST
from timeball.engine.blackouts.read import NO_CALENDAR, CalendarOutlook, outlooks
from timeball.engine.resolving import resolved
from timeball.engine.scheduling import list_jobs as engine
from timeball.engine.scheduling.list_jobs import MAX_SORTED, RUNNING, JobFilter, Kind, ListedJob, starts_of, with_recent

STATUSES: Final = (*JobStatus, RUNNING)
SUMMARY: Final = "summary"

ANY_TEXT: Final = re.compile(r"[^\x00-\x1f\x7f-\x9f]{1,200}")
_TEXT_ADVICE: Final = "Give 1 to 200 characters without control characters."
_NONE: Final = "-"

Value = str | int | None
"""The value by which a job is sorted; None: it has no such value."""

router = Router()


class Order(StrEnum):
    """The value by which a list is sorted; with a minus before it, the last comes first."""

    NAME = "name"
    CREATED = "createdAt"
    NEXT_RUN = "nextRunAt"
    LAST_FINISHED = "lastFinishedAt"


ORDERS: Final = tuple(sign + order for order in Order for sign in ("", "-"))


class ListedJobAnswer(JobSummaryAnswer):
    """A job in a list: all of its fields but its target and its payload, or the first ones with `fields=summary`."""

    model_config = ConfigDict(
        json_schema_extra={"required": [field.alias for field in JobHeadAnswer.model_fields.values()]}
    )


class JobPageAnswer(AnswerModel):
    """A page of jobs, the newest first or sorted. A filter may leave a page short or empty although more follow."""

    items: list[ListedJobAnswer] = Field(description="The jobs.")
    next_cursor: NextCursor


@dataclass(frozen=True)
class _Form:
    """The form and the order in which a request asks for the jobs that it finds."""

    next_before: int | None
    order: Order
    is_descending: bool
    is_summary: bool

    @property
    def is_by_creation(self) -> bool:
        return self.order is Order.CREATED


@router.get(
    "/v1/jobs",
    "List jobs, the newest first, or sorted",
    JobPageAnswer,
    query=(
        *("status", "taskId", "tag", "q", "name", "owner", "priority", "kind", "nextRunBefore", "from", "to"),
        *("sort", "fields", *PAGE),
    ),
    keeps_bounds=True,
    access=Access.READ,
)
def list_jobs(edge: ApiContext, request: Request) -> Reply:
    """List a tenant's jobs that match, a page at a time."""
    asked = PageQuery(request)
    form = _form(asked)
    wanted = _filter(request, asked, oldest_first=form.is_by_creation and not form.is_descending)
    if not form.is_by_creation:
        return _sorted_page(edge, request, asked, wanted, form)
    after = asked.after(number, identifier)
    position = after and (after[0], JobKey(request.tenant, after[1]))
    page = engine.list_jobs(edge.context, wanted, asked.limit, position, _Starts(edge).before(form.next_before))
    positions = ((at, key.job_id) for at, key in page.positions)
    next_after = page.next_after and (page.next_after[0], page.next_after[1].job_id)
    return asked.page(edge, zip(_answers(edge, request, page.items, form), positions, strict=True), next_after)


def _answers(edge: ApiContext, request: Request, found: Sequence[ListedJob], form: _Form) -> Iterator[JobHeadAnswer]:
    jobs, now = resolved(edge.context, [one.job for one in found]), edge.context.clock.now()
    calendars, starts = outlooks(edge.context, jobs, now), starts_of(edge.context, jobs)
    ceiling = defaults_of(edge, request).priority_ceiling
    answer_of = job_head if form.is_summary else job_summary
    for job, one in zip(jobs, found, strict=True):
        yield starting_at(answer_of(job, now, ceiling, one.status, one.recent, calendars), starts.get(job.key))


class _Starts:
    """When jobs start next, as their answers show it."""

    def __init__(self, edge: ApiContext) -> None:
        self._context = edge.context

    def of(self, jobs: Sequence[Job]) -> dict[JobKey, int | None]:
        """Return the next start of each job (ms); None for a job without one."""
        now = self._context.clock.now()
        calendars, own = outlooks(self._context, jobs, now), starts_of(self._context, jobs)
        return {job.key: own.get(job.key) or _next_of(job, now, calendars) for job in jobs}

    def before(self, before_at: int | None) -> engine.Narrow | None:
        """Return the filter of jobs that start before an instant (ms); None without an instant."""
        if before_at is None:
            return None

        def narrow(jobs: Sequence[Job]) -> Container[JobKey]:
            return {key for key, at in self.of(jobs).items() if at is not None and at < before_at}

        return narrow


def _next_of(job: Job, now: int, calendars: Mapping[JobKey, CalendarOutlook]) -> int | None:
    return next(iter(upcoming(job, now, 1, calendars.get(job.key, NO_CALENDAR))), None)


def _sorted_page(edge: ApiContext, request: Request, asked: PageQuery, wanted: JobFilter, form: _Form) -> Reply:
    """Return a page of jobs sorted by a value of theirs. Jobs with equal values are sorted by id; those without: last.

    The cursor has the value and the id of the last job, so a job whose value stays is in the list once.
    """
    read = asked.after(_value_of(form.order), identifier)
    position = read and (read[0][0], read[1])
    starts = _Starts(edge)
    found = engine.all_jobs(edge.context, wanted, starts.before(form.next_before))
    if found is None:
        raise invalid(
            [
                FieldError(
                    "sort",
                    f"More than {MAX_SORTED} jobs would have to be read for this order; narrow the list by "
                    "taskId, from or to, or sort by createdAt.",
                )
            ]
        )
    if form.order is Order.LAST_FINISHED:
        found = with_recent(edge.context, found)
    values = _values(form.order, found, starts)
    ordered = sorted_after(
        {key.job_id: value for key, value in values.items()}, position, is_descending=form.is_descending
    )
    by_id = {one.job.key.job_id: one for one in found}
    shown = [by_id[job_id] for _, job_id in ordered[: asked.limit]]
    positions = [(_text(value), job_id) for value, job_id in ordered[: asked.limit]]
    answers = _answers(edge, request, with_recent(edge.context, shown), form)
    next_after = positions[-1] if len(ordered) > asked.limit else None
    return asked.page(edge, zip(answers, positions, strict=True), next_after)


def _values(order: Order, found: Sequence[ListedJob], starts: _Starts) -> Mapping[JobKey, Value]:
    """Return what each job is sorted by. Names are compared in any case."""
    if order is Order.NEXT_RUN:
        return starts.of([one.job for one in found])
    if order is Order.LAST_FINISHED:
        return {one.job.key: None if one.recent is None else one.recent.finished_at for one in found}
    return {one.job.key: None if one.job.spec.name is None else one.job.spec.name.casefold() for one in found}


def sorted_after(
    values: Mapping[str, Value], after: tuple[Value, str] | None, *, is_descending: bool
) -> list[tuple[Value, str]]:
    """Return values and their names in order, those after a position; names without a value are last, by name."""
    some = sorted(((value, name) for name, value in values.items() if value is not None), reverse=is_descending)
    without: list[tuple[Value, str]] = [(None, name) for name in sorted(values) if values[name] is None]
    if after is None:
        return [*some, *without]
    if after[0] is None:
        return [one for one in without if one[1] > after[1]]
    return [*(one for one in some if (one < after if is_descending else one > after)), *without]


def _text(value: Value) -> str:
    return _NONE if value is None else str(value) if isinstance(value, int) else f"={quote(value, safe='')}"


def _value_of(order: Order) -> Callable[[str], tuple[Value] | None]:
    """Return the function that reads a value in a position; it returns None for a text that is no value."""

    def read(text: str) -> tuple[Value] | None:
        if text == _NONE:
            return (None,)
        if order is Order.NAME:
            return (unquote(text[1:]),) if text.startswith("=") else None
        at = number(text)
        return None if at is None else (at,)

    return read


def _form(asked: PageQuery) -> _Form:
    sort = asked.choice("sort", ORDERS) or "-createdAt"
    is_summary = asked.choice("fields", (SUMMARY,)) is not None
    return _Form(asked.instant("nextRunBefore"), Order(sort.removeprefix("-")), sort.startswith("-"), is_summary)


def _filter(request: Request, asked: PageQuery, *, oldest_first: bool) -> JobFilter:
    from_at, to_at = asked.window()
    return JobFilter(
        request.tenant,
        statuses=asked.choices("status", STATUSES),
        tags=tags_of(request.each("tag"), asked.errors),
        bounds=request.bounds,
        task_id=asked.text("taskId", JOB_ID, "No task can have this id; give the taskId of an answer."),
        from_at=from_at or 0,
        to_at=LATEST if to_at is None else to_at,
        prefix=asked.text("q", ANY_TEXT, _TEXT_ADVICE) or "",
        name=asked.text("name", ANY_TEXT, _TEXT_ADVICE),
        owner=asked.text("owner", ANY_TEXT, _TEXT_ADVICE),
        priorities=asked.choices("priority", tuple(Priority)),
        kinds=asked.choices("kind", tuple(Kind)),
        oldest_first=oldest_first,
    )
