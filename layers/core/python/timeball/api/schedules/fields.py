"""The fields of a schedule, which requests for jobs and for previews share."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final, TypeVar

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from timeball.api.http.exchange import AnswerModel, time_of
from timeball.api.http.fields import CalendarName, Instant
from timeball.api.http.problems import FieldError
from timeball.api.http.request_model import ByValue, Strict, stated
from timeball.domain.model.jobs.calendar import CalendarPolicy, CalendarUse
from timeball.domain.model.jobs.job import JobSpec
from timeball.domain.time.cron import MAX_EXPRESSION_LENGTH, parse_cron
from timeball.domain.time.instants import LATEST, LONGEST_PERIOD_SECONDS, SECOND_MS, format_instant, parse_duration
from timeball.domain.time.schedule import At, Cron, Every, Schedule, Timing
from timeball.domain.time.stepper import DstOverlap, Gap
from timeball.domain.time.words import schedule_text
from timeball.domain.time.zones import load_zone


def _duration(value: object) -> object:
    """Convert an ISO 8601 duration to whole seconds; leave anything but text to the next check."""
    return parse_duration(value) if isinstance(value, str) else value


def _cron(expression: str) -> str:
    return parse_cron(expression).expression


def _zone(name: str) -> str:
    return load_zone(name).name


_DURATION: Final = "^P([0-9]{1,9}W|([0-9]{1,9}D)?(T([0-9]{1,9}H)?([0-9]{1,9}M)?([0-9]{1,9}S)?)?)$"
"""Without years and months, whose lengths differ."""


def _seconds_schema(least: int, most: int) -> dict[str, Any]:
    seconds = {"type": "integer", "minimum": least, "maximum": most}
    duration = {"type": "string", "format": "duration", "pattern": _DURATION}
    return {"anyOf": [seconds, duration], "examples": [900, "PT15M"]}


def _cron_pattern() -> str:
    """Return the pattern of five fields or a nickname; a pattern cannot say whether an expression ever matches."""

    def items(value: str, *others: str) -> str:
        item = "|".join([rf"(\*|{value}(-{value})?)(/[1-9][0-9]?)?", *others])
        return f"({item})(,({item}))*"

    date, weekday = "(0?[1-9]|[12][0-9]|3[01])", "([0-7]|[A-Za-z]{3})"
    fields = (
        items("[0-5]?[0-9]"),
        items("([01]?[0-9]|2[0-3])"),
        r"(\?|" + items(date, f"{date}[Ww]", "[Ll]([Ww]|-[1-9][0-9]?)?") + ")",
        items("(0?[1-9]|1[0-2]|[A-Za-z]{3})"),
        r"(\?|" + items(weekday, f"{weekday}[Ll]", f"{weekday}#[1-5]") + ")",
    )
    return r"^[ \t]*(@(hourly|daily|midnight|weekly|monthly|yearly|annually)|" + r"[ \t]+".join(fields) + r")[ \t]*$"


_EXPRESSION_SCHEMA: Final = {
    "type": "string",
    "format": "cron",
    "maxLength": MAX_EXPRESSION_LENGTH,
    "pattern": _cron_pattern(),
    "examples": ["0 9 * * MON-FRI"],
}
_ZONE_SCHEMA: Final = {
    "type": "string",
    "format": "time-zone",
    "pattern": "^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*$",
    "examples": ["Europe/Berlin"],
}

Delay = Annotated[int, BeforeValidator(_duration), Field(ge=0), WithJsonSchema(_seconds_schema(0, LATEST // SECOND_MS))]
Period = Annotated[
    int,
    BeforeValidator(_duration),
    Field(ge=1, le=LONGEST_PERIOD_SECONDS),
    WithJsonSchema(_seconds_schema(1, LONGEST_PERIOD_SECONDS)),
]
"""Whole seconds, also as an ISO 8601 duration."""

Expression = Annotated[str, AfterValidator(_cron), WithJsonSchema(_EXPRESSION_SCHEMA)]
ZoneName = Annotated[str, AfterValidator(_zone), WithJsonSchema(_ZONE_SCHEMA)]

RECURRING: Final = ("cronExpression", "everySeconds")
NEEDS: Final[Mapping[str, tuple[str, ...]]] = {
    "dstPolicy": ("cronExpression",),
    "anchorAt": ("everySeconds",),
    "startAt": RECURRING,
    "endAt": RECURRING,
}
"""Fields that are only valid beside one of others, in every request."""


class DstPolicy(Strict):
    """The effect of a clock change on local times; a policy that is not given follows from the expression."""

    gap: Annotated[Gap, ByValue] | None = Field(
        None, description="For local times that clocks skip: `next` fires once after the gap, `skip` does not fire."
    )
    overlap: Annotated[DstOverlap, ByValue] | None = Field(
        None, description="For local times that occur twice: fire at the `first`, or at `both`."
    )


class CalendarUseField(Strict):
    """The calendar on whose dates a job does not fire."""

    name: CalendarName = Field(description="The name of one of your calendars.")
    policy: Annotated[CalendarPolicy, ByValue] = Field(
        CalendarPolicy.SKIP,
        description="`skip` skips a fire on its dates; `next` starts it at the same time of the next allowed day.",
    )


class ScheduleFields(Strict):
    """When a job fires."""

    schedule_at: Instant | None = Field(None, description="Run once, at this time.")
    cron_expression: Expression | None = Field(None, description="Run when this five-field expression matches.")
    timezone: ZoneName | None = Field(
        None, description="The IANA time zone of `cronExpression`; default: the tenant's, or UTC."
    )
    dst_policy: DstPolicy | None = Field(None, description="The effect of a clock change on fires of `cronExpression`.")
    every_seconds: Period | None = Field(
        None, description="Run at this interval: seconds, or a duration such as `PT15M`."
    )
    anchor_at: Instant | None = Field(
        None, description="An instant of the interval; default `startAt`, otherwise the next whole second."
    )
    start_at: Instant | None = Field(None, description="The job does not fire before this time.")
    end_at: Instant | None = Field(None, description="The job does not fire after this time.")


_Fields = TypeVar("_Fields", bound=ScheduleFields)


def bad_window(request: ScheduleFields) -> Iterator[FieldError]:
    """Yield an error if the window ends before it begins."""
    if request.start_at is not None and request.end_at is not None and request.end_at < request.start_at:
        yield FieldError("endAt", "This is before startAt; give a later time.")


def calendar_use(asked: CalendarUseField | None) -> CalendarUse | None:
    """Return the domain's value for the calendar of a request."""
    return None if asked is None else CalendarUse(**stated(asked))


def no_calendar() -> FieldError:
    """Return the error for a calendar that does not exist."""
    return FieldError("calendar.name", "You have no calendar with this name; create it at /v1/calendars first.")


def in_zone(request: _Fields, zone: str | None) -> _Fields:
    """Return a request with the default time zone of its tenant, unless it names one itself."""
    return request if zone is None or request.timezone is not None else request.model_copy(update={"timezone": zone})


def timing_of(request: ScheduleFields, now: int) -> Timing | None:
    """Return the timing that a valid request asks for at an instant (ms); None if it has none."""
    if request.cron_expression is not None:
        return Cron(request.cron_expression, request.timezone or "UTC", **stated(request.dst_policy))
    if request.every_seconds is not None:
        anchor_at = request.anchor_at if request.anchor_at is not None else request.start_at
        return Every(request.every_seconds, -(-now // SECOND_MS) * SECOND_MS if anchor_at is None else anchor_at)
    return None if request.schedule_at is None else At(request.schedule_at)


_FORM_FIELDS: Final = ("scheduleAt", "cronExpression", "timezone", "dstPolicy", "everySeconds", "anchorAt")


def schedule_fields(schedule: Schedule) -> dict[str, Any]:
    """Return a schedule by the names of the API; fields of another form of schedule are None."""
    window = {
        "startAt": time_of(schedule.start_at),
        "endAt": time_of(schedule.end_at),
        "maxRuns": schedule.max_runs,
    }
    form: dict[str, Any] = {}
    match schedule.timing:
        case At(at):
            form = {"scheduleAt": format_instant(at)}
        case Cron(expression, timezone, gap, overlap):
            policy = {"gap": gap, "overlap": overlap}
            form = {"cronExpression": expression, "timezone": timezone, "dstPolicy": policy}
        case Every(seconds, anchor_at):
            form = {"everySeconds": seconds, "anchorAt": format_instant(anchor_at)}
    return {**dict.fromkeys(_FORM_FIELDS), **form, **window}


def text_of_schedule(spec: JobSpec) -> str:
    """Return the schedule of a job in words, with what else must happen before it runs."""
    if spec.inherits and spec.schedule.is_one_off:
        return "after its parents"
    text = schedule_text(spec.schedule)
    if spec.event is not None and spec.schedule.is_recurring:
        text += ", if an event came"
    if not spec.depends_on:
        return text
    return f"{text}, after its parents" if spec.cycle_keys else f"{text}, if its parents' latest cycles allow"


ScheduleText = Annotated[
    str, Field(description="The schedule in words; the cron expression where these would be too long.")
]


class RulesAnswer(AnswerModel):
    """The rules that fire times depend on besides the schedule."""

    version: int = Field(description="Grows when the same schedule may fire at other instants than before.")
    tzdata: str = Field(description="The release of the time zone database, such as `2026a`.")
