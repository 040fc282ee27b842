"""What the API answers about calendars."""

from pydantic import Field

from functions.api.http.reply import Answer, Time
from timeball.domain.model.terms.calendar import Calendar
from timeball.domain.time.instants import format_instant


class RangeAnswer(Answer):
    """Dates from one to another, both included."""

    from_date: str = Field(alias="from")
    to_date: str = Field(alias="to")


class CalendarAnswer(Answer):
    """A calendar as it stands."""

    name: str
    timezone: str
    dates: list[str] = Field(description="In order, each once.")
    ranges: list[RangeAnswer]
    created_at: Time
    updated_at: Time
    version: int = Field(description="Counts the changes of users; the ETag.")


class CalendarPageAnswer(Answer):
    """A page of calendars, by name."""

    items: list[CalendarAnswer]
    next_cursor: str | None


def calendar_answer(calendar: Calendar) -> CalendarAnswer:
    """Return the answer about a calendar."""
    return CalendarAnswer(
        name=calendar.key.name,
        timezone=calendar.timezone,
        dates=list(calendar.dates),
        ranges=[RangeAnswer(**{"from": one.from_date, "to": one.to_date}) for one in calendar.ranges],
        created_at=format_instant(calendar.created_at),
        updated_at=format_instant(calendar.updated_at),
        version=calendar.version,
    )
