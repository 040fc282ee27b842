"""When EventBridge Scheduler runs a schedule, by its user guide ("Schedule types in EventBridge Scheduler").

The guide says of clock changes that a time which the clock skips is skipped, and that a time which it repeats runs
once. It makes no exception for expressions such as `cron(*/30 * * * ? *)`, so none is made here. A rate counts elapsed
time, days as 24 hours, from the start date or else from the creation.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from timeball.importing.definitions import UnreadableError
from timeball.importing.origins.dialects import (
    DATES_FIELD,
    HOURS_FIELD,
    MINUTES_FIELD,
    MONTHS_FIELD,
    WEEKDAYS,
    WEEKDAYS_FIELD,
    Dialect,
    listed,
)
from timeball.importing.origins.walls import Days, Wall

_SCHEDULER: Final = Dialect("EventBridge Scheduler", question_mark=True, step_from_value=True, wraps=True)
_FROM_ONE: Final = replace(WEEKDAYS_FIELD, low=1, high=7, first_named=1)
"""Sunday is 1."""
_RATE: Final = re.compile(r"rate\(\s*(\d{1,9})\s+(minute|hour|day)s?\s*\)", re.ASCII)
_AT: Final = re.compile(r"at\(\s*(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\s*\)", re.ASCII)
_CRON: Final = re.compile(r"cron\((.*)\)", re.ASCII)
_UNITS: Final[Mapping[str, int]] = {"minute": 60, "hour": 3600, "day": 86_400}
_YEARS: Final = re.compile(r"(\d{4})(?:-(\d{4}))?", re.ASCII)
_NTH: Final = re.compile(r"(\w+)#([1-5])", re.ASCII)
_LAST: Final = re.compile(r"(\w+)L", re.ASCII)
_WORKDAY: Final = re.compile(r"(\d{1,2})W", re.ASCII)


@dataclass(frozen=True)
class SixFields:
    """A `cron()` of six fields."""

    wall: Wall
    """The minutes that its first five fields name."""
    texts: tuple[str, ...]
    """Its first five fields for Timeball: weekdays count from 0."""
    years: tuple[int, int] | None
    """The first and the last year; None: every year."""


def rate_seconds(expression: str) -> int | None:
    """Return the seconds of a `rate()`; None: it is none."""
    match = _RATE.fullmatch(expression)
    return int(match[1]) * _UNITS[match[2]] if match else None


def local_time(expression: str) -> datetime | None:
    """Return the local time of an `at()`; None: it is none. Raises UnreadableError."""
    match = _AT.fullmatch(expression)
    if not match:
        return None
    try:
        return datetime.fromisoformat(match[1])
    except ValueError:
        raise UnreadableError(f"There is no such time as {match[1]}.") from None


def read_six_fields(expression: str) -> SixFields:
    """Read a `cron()`. Raises UnreadableError."""
    match = _CRON.fullmatch(expression)
    fields = match[1].upper().split() if match else []
    if len(fields) != 6:
        raise UnreadableError(f'EventBridge Scheduler refuses "{expression}", so it has never run this.')
    minute, hour, date, month, weekday, year = fields
    if (date == "?") == (weekday == "?"):
        raise UnreadableError(
            "EventBridge Scheduler wants ? in the day-of-month or in the day-of-week, so it has never run this."
        )
    of_month, of_week = _dates(date), _weekdays(weekday)
    wall = Wall(
        _SCHEDULER.read(minute, MINUTES_FIELD),
        _SCHEDULER.read(hour, HOURS_FIELD),
        _SCHEDULER.read(month, MONTHS_FIELD),
        lambda day, of, length: of_month(day, of, length) and of_week(day, of, length),
    )
    return SixFields(wall, (minute, hour, date, month, _from_zero(weekday)), _years(year))


def _years(text: str) -> tuple[int, int] | None:
    if text in {"*", "?"}:
        return None
    match = _YEARS.fullmatch(text)
    if not match:
        raise UnreadableError(f'The years "{text}" are no single range; make a schedule of each range.')
    return int(match[1]), int(match[2] or match[1])


def _dates(text: str) -> Days:
    return _any_of([_date(item) for item in text.split(",")])


def _date(item: str) -> Days:
    if item == "L":
        return lambda day, _weekday, length: day == length
    if match := _WORKDAY.fullmatch(item):
        wanted = int(match[1])
        return lambda day, weekday, length: wanted <= length and day == _workday(wanted, day, weekday, length)
    days = _SCHEDULER.read(item, DATES_FIELD)
    return lambda day, _weekday, _length: day in days


def _workday(wanted: int, day: int, weekday: int, length: int) -> int:
    """Return the day from Monday to Friday that is nearest to a day of the month, within the month."""
    of_wanted = (weekday + wanted - day) % 7
    if of_wanted == 6:
        return wanted - 1 if wanted > 1 else wanted + 2
    if of_wanted == 0:
        return wanted + 1 if wanted < length else wanted - 2
    return wanted


def _weekdays(text: str) -> Days:
    return _any_of([_weekday(item) for item in text.split(",")])


def _weekday(item: str) -> Days:
    if match := _NTH.fullmatch(item):
        nth, of_nth = int(match[2]), _single(match[1])
        return lambda day, weekday, _length: weekday == of_nth and (day - 1) // 7 + 1 == nth
    if item == "L":
        return lambda _day, weekday, _length: weekday == 6
    if (match := _LAST.fullmatch(item)) and item.lower() not in WEEKDAYS:
        of_last = _single(match[1])
        return lambda day, weekday, length: weekday == of_last and day > length - 7
    weekdays = {value - 1 for value in _SCHEDULER.read(item, _FROM_ONE)}
    return lambda _day, weekday, _length: weekday in weekdays


def _single(text: str) -> int:
    return min(_SCHEDULER.read(text, _FROM_ONE)) - 1


def _any_of(items: list[Days]) -> Days:
    if len(items) == 1:
        return items[0]
    return lambda day, weekday, length: any(matches(day, weekday, length) for matches in items)


def _from_zero(text: str) -> str:
    """Return a day-of-week with numbers from 0, as Timeball counts."""
    return ",".join(_item_from_zero(item) for item in text.split(","))


def _item_from_zero(item: str) -> str:
    if item == "L":
        return "SAT"
    if item in {"*", "?"}:
        return item
    if match := _NTH.fullmatch(item):
        return f"{_weekday_text(match[1])}#{match[2]}"
    if (match := _LAST.fullmatch(item)) and item.lower() not in WEEKDAYS:
        return f"{_weekday_text(match[1])}L"
    return listed([value - 1 for value in sorted(_SCHEDULER.read(item, _FROM_ONE))])


def _weekday_text(text: str) -> str:
    return str(int(text) - 1) if text.isdigit() else text
