"""The models of answers about calendars."""

from pydantic import Field

from timeball.api.http.reply import AnswerModel, CreatedAt, NextCursor, UpdatedAt, Version
from timeball.domain.model.terms.calendar import Calendar
from timeball.domain.time.instants import format_instant


class RangeAnswer(AnswerModel):
    """A range of dates."""

    from_date: str = Field(serialization_alias="from", description="The first date.")
    to_date: str = Field(serialization_alias="to", description="The last date, which is included.")


class CalendarAnswer(AnswerModel):
    """A calendar."""

    name: str = Field(description="The name by which jobs refer to it.")
    timezone: str = Field(description="The IANA time zone of its dates.")
    dates: list[str] = Field(description="The single dates, in order and without duplicates.")
    ranges: list[RangeAnswer] = Field(description="The ranges of dates.")
    created_at: CreatedAt
    updated_at: UpdatedAt
    version: Version


class CalendarPageAnswer(AnswerModel):
    """A page of calendars, by name."""

    items: list[CalendarAnswer] = Field(description="The calendars.")
    next_cursor: NextCursor


def calendar_answer(calendar: Calendar) -> CalendarAnswer:
    """Return the answer about a calendar."""
    return CalendarAnswer(
        name=calendar.key.name,
        timezone=calendar.timezone,
        dates=list(calendar.dates),
        ranges=[RangeAnswer.about(one) for one in calendar.ranges],
        created_at=format_instant(calendar.created_at),
        updated_at=format_instant(calendar.updated_at),
        version=calendar.version,
    )
