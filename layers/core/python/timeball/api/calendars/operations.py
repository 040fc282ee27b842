"""Create, list, read, replace and delete calendars, and list their past; a job's calendar cannot be deleted."""

from pydantic import Field

from timeball.api.calendars.request import CalendarBody, CalendarRequest, read_calendar
from timeball.api.http.access import Access
from timeball.api.http.cursor import PAGE, PageQuery, number, text_like
from timeball.api.http.edge import ApiContext, note
from timeball.api.http.exchange import (
    ActorAnswer,
    AnswerModel,
    CreatedAt,
    NextCursor,
    Reply,
    Request,
    Time,
    UpdatedAt,
    Version,
    attribute,
    created,
    expected_version,
    expects_nothing,
    idempotency_key,
    ok,
    read_body,
    refuse_fields,
    stale,
)
from timeball.api.http.problems import FieldError, Problem, ProblemError, invalid, not_found
from timeball.api.http.route import Router
from timeball.domain.model.evolve import evolve
from timeball.domain.model.jobs.calendar import CALENDAR_NAME, Calendar, CalendarKey
from timeball.domain.model.tenants.actor import NO_ACTOR, Action, Resource, ResourceKind
from timeball.engine.blackouts import calendars as engine
from timeball.engine.blackouts.calendars import CalendarOutcome, list_versions, standing_calendar

router = Router()


class RangeAnswer(AnswerModel):
    """A range of dates."""

    from_date: str = Field(serialization_alias="from", description="The first date.")
    to_date: str = Field(serialization_alias="to", description="The last date, which is included.")


class CalendarAnswer(AnswerModel):
    """A calendar."""

    name: str = attribute("key.name", description="The name by which jobs refer to it.")
    timezone: str = Field(description="The IANA time zone of its dates.")
    dates: list[str] = Field(description="The single dates, in order and without duplicates.")
    ranges: list[RangeAnswer] = Field(description="The ranges of dates.")
    created_at: CreatedAt
    updated_at: UpdatedAt
    version: Version


class CalendarDatesAnswer(AnswerModel):
    """The dates of a calendar, in the form of a request."""

    timezone: str = Field(description="The IANA time zone of its dates.")
    dates: list[str] = Field(description="The single dates, in order and without duplicates.")
    ranges: list[RangeAnswer] = Field(description="The ranges of dates.")


class CalendarRevisionAnswer(AnswerModel):
    """A change of a calendar."""

    revision: int = attribute("version", description="The version of the calendar that the change made.")
    at: Time = attribute("updated_at", description="When the change was made.")
    actor: ActorAnswer | None = Field(description="The caller that made the change; null if it is not known.")
    action: Action = Field(
        description="The action; `restore` where a delete was taken back, because a job had just begun to name it."
    )
    before: CalendarDatesAnswer | None = Field(
        description="The calendar before the change; null if there was none, or if it is no longer kept."
    )
    after: CalendarDatesAnswer | None = Field(description="The calendar after the change; null after a delete.")


class CalendarRevisionPageAnswer(AnswerModel):
    """A page of the changes of a calendar, the newest first."""

    items: list[CalendarRevisionAnswer] = Field(description="The changes.")
    next_cursor: NextCursor


class CalendarPageAnswer(AnswerModel):
    """A page of calendars, by name."""

    items: list[CalendarAnswer] = Field(description="The calendars.")
    next_cursor: NextCursor


@router.post(
    "/v1/calendars",
    "Create a calendar of dates on which jobs do not fire",
    CalendarAnswer,
    status=201,
    body=CalendarRequest,
    headers=("Idempotency-Key",),
    problems=(Problem.CALENDAR_EXISTS,),
    access=Access.OPERATE,
)
def create_calendar(edge: ApiContext, request: Request) -> Reply:
    """Create a calendar; repeat the answer to the same Idempotency-Key and body."""
    now = edge.context.clock.now()
    wanted, errors = read_calendar(read_body(request), request.tenant, now)
    key = idempotency_key(request, errors)
    if errors:
        raise invalid(errors)
    note(edge, request, Action.CREATE, Resource(ResourceKind.CALENDAR, wanted.key.name))
    wanted = evolve(wanted, action=Action.CREATE, by=request.by)
    done = engine.create_calendar(edge.context, wanted, now)
    if done.outcome is not CalendarOutcome.EXISTS:
        return _created(done.calendar or wanted)
    if key is not None and done.calendar is not None and _says(done.calendar) == _says(wanted):
        return _created(done.calendar, is_repeated=True)
    raise ProblemError(
        Problem.CALENDAR_EXISTS, "You have a calendar with this name; change it at /v1/calendars/{name}, with PUT."
    )


@router.put(
    "/v1/calendars/{name}",
    "Create or replace a calendar; repeating the request changes nothing",
    CalendarAnswer,
    body=CalendarBody,
    also={201: CalendarAnswer},
    headers=("If-Match", "If-None-Match"),
    access=Access.OPERATE,
)
def replace_calendar(edge: ApiContext, request: Request) -> Reply:
    """Create a calendar under the name in the path, or replace all of its fields."""
    name, now = request.path["name"], edge.context.clock.now()
    if not CALENDAR_NAME.fullmatch(name):
        raise invalid([FieldError("name", "Give 1 to 64 letters, digits, - or _.")])
    version, is_to_be_new = expected_version(request), expects_nothing(request)
    wanted, errors = read_calendar(read_body(request), request.tenant, now, name)
    if errors:
        raise invalid(errors)
    note(edge, request, Action.PUT, Resource(ResourceKind.CALENDAR, name))
    wanted = evolve(wanted, action=Action.PUT, by=request.by)
    is_to_stand = "if-match" in request.headers
    if is_to_be_new:
        done = engine.create_calendar(edge.context, wanted, now)
    else:
        done = engine.replace_calendar(edge.context, wanted, version, now, is_to_stand=is_to_stand)
    if done.outcome is CalendarOutcome.CREATED:
        return _created(done.calendar or wanted)
    if done.outcome is CalendarOutcome.EXISTS or done.calendar is None:
        there = "a" if is_to_be_new else "no"
        header = "If-None-Match" if is_to_be_new else "If-Match"
        raise ProblemError(Problem.STALE_VERSION, f"You have {there} calendar with this name; leave out {header}.")
    if done.outcome is CalendarOutcome.STALE:
        raise stale("calendar", done.calendar.version, "replace")
    return _shown(done.calendar)


@router.get("/v1/calendars", "List calendars by name", CalendarPageAnswer, query=PAGE, access=Access.READ)
def list_calendars(edge: ApiContext, request: Request) -> Reply:
    """List a tenant's calendars by name."""
    asked = PageQuery(request)
    (after,) = asked.after(text_like(CALENDAR_NAME)) or ("",)
    found = edge.context.store.calendars.of_owner(request.tenant, after, asked.limit + 1)
    return asked.first(edge, found, CalendarAnswer.about, lambda one: (one.key.name,))


@router.get("/v1/calendars/{name}", "Read a calendar", CalendarAnswer, access=Access.READ)
def get_calendar(edge: ApiContext, request: Request) -> Reply:
    """Read a calendar."""
    calendar = standing_calendar(edge.context, _key(request))
    if calendar is None:
        raise _no_calendar()
    return _shown(calendar)


@router.get(
    "/v1/calendars/{name}/revisions",
    "List the changes of a calendar, the newest first, also of a deleted one",
    CalendarRevisionPageAnswer,
    query=PAGE,
    access=Access.READ,
)
def list_calendar_revisions(edge: ApiContext, request: Request) -> Reply:
    """List the changes that made a calendar's versions."""
    asked = PageQuery(request)
    (through,) = asked.after(number) or (None,)
    found, next_through = list_versions(edge.context, _key(request), asked.limit, through)
    if not found and through is None:
        raise _no_calendar()
    shown = ((_revision(one, before), (one.version - 1,)) for one, before in found)
    return asked.page(edge, shown, None if next_through is None else (next_through,))


@router.delete(
    "/v1/calendars/{name}",
    "Delete a calendar that no job names",
    CalendarAnswer,
    headers=("If-Match",),
    problems=(Problem.CALENDAR_IN_USE,),
    access=Access.OPERATE,
)
def delete_calendar(edge: ApiContext, request: Request) -> Reply:
    """Delete a calendar that no job names; answer with its last state."""
    refuse_fields(request)
    version, key = expected_version(request), _key(request)
    note(edge, request, Action.DELETE, Resource(ResourceKind.CALENDAR, key.name))
    done = engine.delete_calendar(edge.context, key, version, edge.context.clock.now(), request.by)
    if done.calendar is None:
        raise _no_calendar()
    if done.outcome is CalendarOutcome.STALE:
        raise stale("calendar", done.calendar.version, "delete")
    if done.used_by is not None:
        raise ProblemError(
            Problem.CALENDAR_IN_USE,
            f"Job {done.used_by.job_id} names this calendar; give the job another calendar, or none, and try again.",
        )
    return ok(CalendarAnswer.about(done.calendar))


def _key(request: Request) -> CalendarKey:
    if not CALENDAR_NAME.fullmatch(request.path["name"]):
        raise _no_calendar()
    return CalendarKey(request.tenant, request.path["name"])


def _created(calendar: Calendar, *, is_repeated: bool = False) -> Reply:
    location = f"/v1/calendars/{calendar.key.name}"
    return created(CalendarAnswer.about(calendar), location, version=calendar.version, is_repeated=is_repeated)


def _shown(calendar: Calendar) -> Reply:
    return ok(CalendarAnswer.about(calendar), version=calendar.version)


def _revision(calendar: Calendar, before: Calendar | None) -> CalendarRevisionAnswer:
    return CalendarRevisionAnswer.about(
        calendar,
        actor=None if calendar.by == NO_ACTOR else calendar.by,
        before=_dates(before),
        after=_dates(calendar),
    )


def _dates(calendar: Calendar | None) -> CalendarDatesAnswer | None:
    return None if calendar is None or calendar.is_deleted else CalendarDatesAnswer.about(calendar)


def _says(calendar: Calendar) -> tuple[object, ...]:
    return calendar.timezone, calendar.dates, calendar.ranges


def _no_calendar() -> ProblemError:
    return not_found("You have no calendar with this name; list yours at /v1/calendars.")
