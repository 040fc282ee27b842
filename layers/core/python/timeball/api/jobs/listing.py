"""List jobs: the newest first, or sorted. A list leaves out targets and payloads, which may be large.

In the order of creation a page continues from any position, so a filter only makes pages short. Any other order is
known only once all jobs that may match have been read. If these are more than MAX_SORTED, the roster nominates the jobs
(engine/scheduling/roster.py); in the order of creation it does so for searches, if it is known already.
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
from timeball.api.http.exchange import AnswerModel, NextCursor, Reply, Request, Time
from timeball.api.http.problems import FieldError, invalid
from timeball.api.http.quotas import defaults_of
from timeball.api.http.route import Router
from timeball.api.jobs.answers import JobHeadAnswer, JobSummaryAnswer, job_head, job_summary, starting_at, upcoming
from timeball.domain.model.ids import JOB_ID, JobKey
from timeball.domain.model.jobs.job import Job, JobStatus, Priority
from timeball.domain.model.jobs.job_states import Among
from timeball.domain.time.instants import LATEST, format_instant
from timeball.engine.blackouts.read import NO_CALENDAR, CalendarOutlook, outlooks
from timeball.engine.filtered_pages import read_page
from timeball.engine.resolving import resolved
from timeball.engine.scheduling import list_jobs as engine
from timeball.engine.scheduling.list_jobs import RUNNING, JobFacts, JobFilter, Kind, ListedJob, starts_of, with_recent
from timeball.engine.scheduling.roster import MOST_LISTED, Roster, is_known, read_last_ends, read_roster

STATUSES: Final = (*JobStatus, RUNNING)
SUMMARY: Final = "summary"

ANY_TEXT: Final = re.compile(r"[^\x00-\x1f\x7f-\x9f]{1,200}")
_TOO_MANY: Final = (
    f"More than {MOST_LISTED:,} jobs would have to be read for this order; narrow the list by taskId, from or to, ask "
    "for status=pending,paused,blocked, or sort by createdAt."
)
_TEXT_ADVICE: Final = "Give 1 to 200 characters without control characters."

Value = str | int | None
"""The value by which a job is sorted; None: it has no such value."""

BEGINNING: Final = ("^", "0")
"""The position before all jobs."""
_NONE: Final = "-"
"""The text of no value in a position."""

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

    model_config = ConfigDict(json_schema_extra={"required": ["items", "nextCursor"]})

    items: list[ListedJobAnswer] = Field(description="The jobs.")
    next_cursor: NextCursor
    digest_at: Time | None = Field(
        description="When the jobs were read that this page was chosen and sorted by. Null: they are being read, "
        "1,000 with each request, so ask again with `nextCursor`. Left out: they were read for this page."
    )


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
    is_searched = bool(wanted.prefix) or form.next_before is not None
    if is_searched and is_known(edge.context, request.tenant, is_open=_is_open(wanted)):
        return _digest_page(edge, request, asked, wanted, form, after)
    position = after and (after[0], JobKey(request.tenant, after[1]))
    page = engine.list_jobs(edge.context, wanted, asked.limit, position, _Starts(edge).before(form.next_before))
    if is_searched and page.next_after is not None and len(page.items) < asked.limit:
        _read_digest(edge, wanted, form)
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
    position = (read[0][0], read[1]) if read and read[0] else None
    starts = _Starts(edge)
    found = engine.all_jobs(edge.context, wanted, starts.before(form.next_before))
    if found is None:
        return _digest_page(edge, request, asked, wanted, form, position)
    if form.order is Order.LAST_FINISHED:
        found = with_recent(edge.context, found)
    values = _values(form.order, found, starts)
    ordered = sorted_after(values, position, is_descending=form.is_descending)
    by_id = {one.job.key.job_id: one for one in found}
    shown = [by_id[job_id] for _, job_id in ordered[: asked.limit]]
    positions = [_position(one) for one in ordered[: asked.limit]]
    answers = _answers(edge, request, with_recent(edge.context, shown), form)
    next_after = positions[-1] if len(ordered) > asked.limit else None
    return asked.page(edge, zip(answers, positions, strict=True), next_after)


def _digest_page(
    edge: ApiContext,
    request: Request,
    asked: PageQuery,
    wanted: JobFilter,
    form: _Form,
    after: tuple[Value, str] | None,
) -> Reply:
    """Return a page of jobs that the roster nominates, in its order; their rows decide whether they match.

    Each page may come from the roster of another process: it continues after the value and the id of the last job.
    While the roster is being made, the page is empty and the list continues from the same position.
    """
    starts, digest = _Starts(edge), _read_digest(edge, wanted, form)
    if digest is None:
        return asked.page(edge, (), BEGINNING if after is None else _position(after), digestAt=None)
    roster, values = digest
    if roster.is_cut:
        raise invalid([FieldError("sort", _TOO_MANY)])
    ordered = sorted_after(values, after, is_descending=form.is_descending)

    def name(at_once: int, last: tuple[int, JobKey] | None) -> list[tuple[int, JobKey]]:
        first = 0 if last is None else last[0] + 1
        named = enumerate(ordered[first : first + at_once], first)
        return [(index, JobKey(wanted.tenant, job_id)) for index, (_, job_id) in named]

    def read(keys: Sequence[JobKey]) -> list[ListedJob | None]:
        return engine.read_listed(edge.context, wanted, keys, starts.before(form.next_before))

    page = read_page(name, read, asked.limit, None, engine.most_examined(wanted))
    positions = [_position(ordered[index]) for index, _ in page.positions]
    next_after = None if page.next_after is None else _position(ordered[page.next_after[0]])
    answers = _answers(edge, request, with_recent(edge.context, page.items), form)
    return asked.page(edge, zip(answers, positions, strict=True), next_after, digestAt=format_instant(roster.at))


def _position(one: tuple[Value, str]) -> tuple[str, str]:
    return _text(one[0]), one[1]


def _read_digest(edge: ApiContext, wanted: JobFilter, form: _Form) -> tuple[Roster, dict[str, Value]] | None:
    """Return the roster, and the values by which its jobs are sorted that may match; None: it is being made."""
    is_open = _is_open(wanted)
    roster = read_roster(edge.context, wanted.tenant, _Starts(edge).of, is_open=is_open)
    if roster is None or roster.is_cut:
        return None if roster is None else (roster, {})
    ends: Mapping[JobKey, int | None] = {}
    if form.order is Order.LAST_FINISHED:
        read = read_last_ends(edge.context, wanted.tenant, is_open=is_open)
        if read is None:
            return None
        ends = read.finished_at
    found = [one for one in roster.jobs.values() if wanted.may_match(one) and _may_start(roster, one, form)]
    return roster, {one.key.job_id: _value(form.order, one, roster, ends) for one in found}


def _value(order: Order, one: JobFacts, roster: Roster, ends: Mapping[JobKey, int | None]) -> Value:
    """Return what a job of the roster is sorted by."""
    match order:
        case Order.NAME:
            return _folded(one.name)
        case Order.CREATED:
            return one.created_at
        case Order.NEXT_RUN:
            return roster.next_at[one.key]
        case Order.LAST_FINISHED:
            return ends.get(one.key)


def _is_open(wanted: JobFilter) -> bool:
    """Return whether a list is about open jobs alone."""
    return wanted.parts == [Among.OPEN]


def _may_start(roster: Roster, one: JobFacts, form: _Form) -> bool:
    """Return whether a job starts before the instant that is asked for, if one is."""
    next_at = roster.next_at[one.key]
    return form.next_before is None or (next_at is not None and next_at < form.next_before)


def _values(order: Order, found: Sequence[ListedJob], starts: _Starts) -> dict[str, Value]:
    """Return what each job is sorted by. Names are compared in any case."""
    if order is Order.NEXT_RUN:
        return {key.job_id: at for key, at in starts.of([one.job for one in found]).items()}
    if order is Order.LAST_FINISHED:
        return {one.job.key.job_id: None if one.recent is None else one.recent.finished_at for one in found}
    return {one.job.key.job_id: _folded(one.job.spec.name) for one in found}


def _folded(name: str | None) -> str | None:
    return None if name is None else name.casefold()


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
    """Return the text of a value in a position."""
    return _NONE if value is None else str(value) if isinstance(value, int) else f"={quote(value, safe='')}"


def _value_of(order: Order) -> Callable[[str], tuple[Value, ...] | None]:
    """Return the function that reads a value in a position, as (value,), or () at the beginning.

    It returns None for a text that is no value.
    """

    def read(text: str) -> tuple[Value, ...] | None:
        if text in (_NONE, BEGINNING[0]):
            return (None,) if text == _NONE else ()
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
