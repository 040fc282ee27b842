"""The request for a calendar: a time zone, dates and ranges of dates; and everything that can be wrong with it."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta
from typing import Annotated, Any, Final

from pydantic import AfterValidator, ConfigDict, Field, WithJsonSchema

from timeball.api.calendars.ics import MAX_CHARACTERS, Days, read_ics
from timeball.api.http.fields import DATE, CalendarName
from timeball.api.http.problems import FieldError
from timeball.api.http.request_model import Strict, read_fields
from timeball.api.http.schema_rules import needed
from timeball.api.schedules.fields import ZoneName
from timeball.domain.model.jobs.calendar import Calendar, CalendarKey, DateRange

MAX_DATES: Final = 1_000
MAX_RANGES: Final = 100
MAX_RANGE_DAYS: Final = 3_660


def _date(text: str) -> str:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        raise ValueError("Write a date as 2026-12-25.") from None
    if len(text) != len("2026-12-25") or not 1970 <= day.year < 2400:
        raise ValueError("Write a date between the years 1970 and 2399 as 2026-12-25.")
    return text


Day = Annotated[
    str,
    AfterValidator(_date),
    WithJsonSchema({"type": "string", "format": "date", "pattern": f"^{DATE}$", "examples": ["2026-12-25"]}),
]


class DateRangeField(Strict):
    """A range of dates."""

    from_date: Day = Field(alias="from", description="The first date.")
    to_date: Day = Field(alias="to", description="The last date, which is included.")


class CalendarBody(Strict):
    """A calendar without its name."""

    model_config = ConfigDict(json_schema_extra=needed("timezone"))

    timezone: ZoneName | None = Field(None, description="The IANA time zone of the dates.")
    dates: list[Day] | None = Field(None, max_length=MAX_DATES, description="Single dates.")
    ranges: list[DateRangeField] | None = Field(
        None, max_length=MAX_RANGES, description=f"Ranges of dates, each of at most {MAX_RANGE_DAYS} days."
    )
    ics: Annotated[str, Field(max_length=MAX_CHARACTERS, json_schema_extra={"format": "icalendar"})] | None = Field(
        None,
        description="An iCalendar file (RFC 5545); the dates of its events are added to the others.",
    )


class CalendarRequest(CalendarBody):
    """A calendar."""

    model_config = ConfigDict(json_schema_extra=needed("name", "timezone"))

    name: CalendarName | None = Field(None, description="The name by which jobs refer to it.")


def read_calendar(
    body: Mapping[str, Any], tenant: str, now: int, name: str | None = None
) -> tuple[Calendar, list[FieldError]]:
    """Validate the body of a calendar, which includes its name unless `name` is given.

    The calendar is valid only without errors.
    """
    wanted, given, errors = read_fields(CalendarRequest if name is None else CalendarBody, body)
    said = {*given, *(error.field for error in errors)}
    if isinstance(wanted, CalendarRequest):
        name = wanted.name or ""
        if "name" not in said:
            errors.append(FieldError("name", "Give the calendar a name, such as holidays-de."))
    errors += _together(wanted, said)
    return _calendar(wanted, CalendarKey(tenant, name or ""), now, errors), errors


def _together(wanted: CalendarBody, said: set[str]) -> Iterator[FieldError]:
    if "timezone" not in said:
        yield FieldError("timezone", "Give the IANA time zone of the dates, such as Europe/Berlin.")
    for index, one in enumerate(wanted.ranges or ()):
        days = (date.fromisoformat(one.to_date) - date.fromisoformat(one.from_date)).days
        if days < 0:
            yield FieldError(f"ranges.{index}.to", "This is before from; give a later date.")
        if days >= MAX_RANGE_DAYS:
            yield FieldError(
                f"ranges.{index}.to", f"A range may have at most {MAX_RANGE_DAYS} days; give an earlier date."
            )


def _calendar(wanted: CalendarBody, key: CalendarKey, now: int, errors: list[FieldError]) -> Calendar:
    """Return the calendar of a request; errors of its file are added to `errors`."""
    dates, ranges = [*(wanted.dates or ())], [*(wanted.ranges or ())]
    if wanted.ics is not None and wanted.timezone is not None:
        taken, faults = read_ics(wanted.ics, wanted.timezone, now)
        single, long = _split(taken, MAX_RANGES - len(ranges))
        if not faults and len({*dates, *single}) > MAX_DATES:
            faults = [f"This gives the calendar {len({*dates, *single})} dates; at most {MAX_DATES} are allowed."]
        errors += [FieldError("ics", fault) for fault in faults]
        dates, ranges = [*dates, *single], [*ranges, *long]
    # The order in a request makes no difference, and neither do duplicates.
    bounds = sorted({(one.from_date, one.to_date) for one in ranges})
    return Calendar(
        key=key,
        timezone=wanted.timezone or "UTC",
        created_at=now,
        updated_at=now,
        dates=tuple(sorted(set(dates))),
        ranges=tuple(DateRange(first, last) for first, last in bounds),
    )


def _split(taken: Sequence[Days], most: int) -> tuple[list[str], list[DateRangeField]]:
    """Return ranges as single dates, and the `most` longest of them as ranges."""
    longest = sorted((one for one in taken if one[0] < one[1]), key=lambda one: (one[0] - one[1], one))[:most]
    others = {*taken} - {*longest}
    single = [str(first + timedelta(days=n)) for first, last in others for n in range((last - first).days + 1)]
    ranges = [DateRangeField.model_validate({"from": str(first), "to": str(last)}) for first, last in longest]
    return single, ranges
