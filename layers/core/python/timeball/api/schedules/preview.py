"""Preview the fire times of a schedule before there is a job, and why some do not fire; nothing is stored.

The schedule is read as if its job were created at the first instant of the preview.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any, Final, Literal

from pydantic import ConfigDict, Field

from timeball.api.http.access import Access
from timeball.api.http.edge import ApiContext
from timeball.api.http.exchange import AnswerModel, Reply, Request, Time, ok, read_body
from timeball.api.http.fields import Instant
from timeball.api.http.problems import FieldError, invalid, refuse
from timeball.api.http.quotas import defaults_of
from timeball.api.http.request_model import misplaced, read_fields
from timeball.api.http.route import Router
from timeball.api.http.schema_rules import together
from timeball.api.schedules.fields import (
    NEEDS,
    CalendarUseField,
    RulesAnswer,
    ScheduleFields,
    ScheduleText,
    ZoneName,
    bad_window,
    calendar_use,
    in_zone,
    no_calendar,
    timing_of,
)
from timeball.domain.model.jobs.calendar import CalendarKey
from timeball.domain.model.jobs.job import RuleSet
from timeball.domain.planning.blackouts import Blackouts, moves_in
from timeball.domain.time.preview import preview
from timeball.domain.time.schedule import Schedule
from timeball.domain.time.spans import spans_of
from timeball.domain.time.words import schedule_text
from timeball.engine.blackouts.calendars import standing_calendar
from timeball.engine.blackouts.freezes import freezes_of

router = Router()

MAX_COUNT: Final = 100
"""The most expensive schedules take some 5 ms of CPU for so many fires."""

_COUNT: Final = 5
_FORMS: Final = ("scheduleAt", "cronExpression", "everySeconds")


class PreviewRequest(ScheduleFields):
    """A schedule, and how many fires to show. Null counts as not given."""

    model_config = ConfigDict(json_schema_extra=together(one_of=_FORMS, exclusive=[_FORMS], beside=NEEDS))

    timezone: ZoneName | None = Field(
        None,
        description="The IANA time zone of `cronExpression` and all local times; default: the tenant's, or UTC.",
    )
    calendar: CalendarUseField | None = Field(None, description="The calendar that the job would name.")
    from_at: Instant | None = Field(None, alias="from", description="Show no fire before this time; default: now.")
    count: int | None = Field(
        None, ge=1, le=MAX_COUNT, description="The number of fire times, default 5; fewer if the schedule ends."
    )


class FireAnswer(AnswerModel):
    """A fire of a preview."""

    fire_time: Time = Field(description="The fire time.")
    local_time: str = Field(description="The local time without an offset, such as `2026-10-25T02:30:00`.")
    utc_offset: str = Field(description="Local time minus UTC, such as `+02:00`.")
    note: str | None = Field(description="The effect of a clock change on this fire, if any.")
    moved_to: Time | None = Field(description="When it starts instead, if the calendar's policy is `next`.")
    reason: Literal["calendar", "frozen"] | None = Field(
        description="Why it does not fire: its date on the calendar, or a freeze of all jobs; null if it fires."
    )


class PreviewAnswer(AnswerModel):
    """The next fires of a schedule."""

    schedule_text: ScheduleText
    items: list[FireAnswer] = Field(description="The fires.")
    rules: RulesAnswer = Field(description="The rules by which they were calculated.")


@router.post(
    "/v1/schedules:preview",
    "Show the next fire times of a schedule; nothing is stored",
    PreviewAnswer,
    body=PreviewRequest,
    keeps_bounds=True,
    access=Access.READ,
)
def preview_schedule(edge: ApiContext, request: Request) -> Reply:
    """Show the next fire times of a schedule."""
    wanted, errors = read_preview_request(read_body(request))
    refuse(errors)
    wanted = in_zone(wanted, defaults_of(edge, request).timezone)
    from_at = edge.context.clock.now() if wanted.from_at is None else wanted.from_at
    timing = timing_of(wanted, from_at)
    if timing is None:
        raise ValueError("a faultless request names one form of schedule")
    schedule = Schedule(timing, wanted.start_at, wanted.end_at)
    excluded = _excluded(edge, request.tenant, wanted, schedule)
    shown = preview(schedule, from_at, wanted.count or _COUNT, wanted.timezone or "UTC")
    fires = [{**asdict(fire), "fire_time": fire.fire_at, **_start(excluded, schedule, fire.fire_at)} for fire in shown]
    return ok(
        PreviewAnswer.model_validate({"schedule_text": schedule_text(schedule), "items": fires, "rules": RuleSet()})
    )


def _excluded(edge: ApiContext, tenant: str, wanted: PreviewRequest, schedule: Schedule) -> Blackouts:
    """Return the blackouts of a preview: the calendar's dates, and the freezes of all jobs.

    Raises ProblemError if there is no such calendar.
    """
    freezes = freezes_of(edge.context, tenant).open_at(edge.context.clock.now())
    frozen = spans_of(one.span for one in freezes if one.match.everything)
    use = calendar_use(wanted.calendar)
    if use is None:
        return Blackouts(frozen=frozen)
    calendar = standing_calendar(edge.context, CalendarKey(tenant, use.name))
    if calendar is None:
        raise invalid([no_calendar()])
    return Blackouts(calendar.spans, frozen, moves_in=moves_in(use, calendar, schedule))


def _start(excluded: Blackouts, schedule: Schedule, fire_at: int) -> dict[str, Any]:
    """Return when a fire starts instead, or why it does not fire."""
    starts_at = excluded.starts_at(schedule, fire_at)
    if starts_at is None:
        return {"moved_to": None, "reason": "calendar"}
    is_frozen = excluded.frozen.end_of(starts_at) is not None
    return {"moved_to": None if starts_at == fire_at else starts_at, "reason": "frozen" if is_frozen else None}


def read_preview_request(body: Mapping[str, Any]) -> tuple[PreviewRequest, list[FieldError]]:
    """Validate a body: return what is valid of it, and every error."""
    request, given, errors = read_fields(PreviewRequest, body)
    return request, [*errors, *_together(request, given)]


def _together(request: PreviewRequest, given: set[str]) -> Iterator[FieldError]:
    forms = [form for form in _FORMS if form in given]
    if not forms:
        yield FieldError("cronExpression", f"Give a schedule: one of {', '.join(_FORMS)}.")
    if len(forms) > 1:
        for form in forms:
            yield FieldError(form, f"Give only one of {', '.join(forms)}.")
    yield from misplaced(given, NEEDS)
    yield from bad_window(request)
