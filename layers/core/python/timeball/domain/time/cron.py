"""A cron expression, parsed once: its fields become sets, and the two day fields become one set per shape of a month.

The rules of cronie (crontab(5)) apply wherever cronie has one:
- Day-of-month and day-of-week both restricted: a day matches if *either* does (POSIX); otherwise it must match both. A
  field is unrestricted if it *begins* with `*` or `?`: `*/2` in day-of-month with `MON` in day-of-week means the
  Mondays that are odd days. A day that a month lacks (`31W` in June, `5#5` in most months) is skipped, never moved.
- Sunday is 0 and 7, and a range runs upwards: `FRI-SUN` is 5-7, `FRI-MON` is refused.
- An expression is *interval-like* if its minute or hour has a `*` or a step, and *fixed* otherwise; stepper.py treats
  the two differently when clocks change.

The shape of a month is its length (28 to 31) and the weekday of its first day. The days that a schedule picks depend on
nothing else. There are 28 shapes, and each that a month can have occurs within 400 years. Weekdays count from Sunday.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, NoReturn

from timeball.domain.time.cron_field import (
    DAY_OF_MONTH,
    DAY_OF_WEEK,
    HOUR,
    MINUTE,
    MONTH,
    Field,
    read_item,
    read_number,
    read_values,
    reject,
    split_items,
)

MAX_EXPRESSION_LENGTH: Final = 256

_NICKNAMES: Final = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}

_YEAR: Final = re.compile(r"(19|20|21)\d\d\b.*", re.ASCII)

SHAPES: Final = tuple((length, weekday) for length in range(28, 32) for weekday in range(7))
"""Every (length, weekday of day 1). The shape of a month is its index here: `(length - 28) * 7 + weekday`."""

_LENGTHS: Final = (0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)

Matches = Callable[[int, int, int], bool]
"""Whether an item picks a day of a month, given the day (1 to 31), its weekday, and the month's length."""

_FROM_LAST: Final = re.compile(r"L-(\d+)", re.ASCII)

_WORKDAY: Final = re.compile(r"(\d+)W", re.ASCII)

_LAST_WEEKDAY: Final = re.compile(r"(\d+|[A-Z]{3})L", re.ASCII)

_LAST_WEEKDAY_REVERSED: Final = re.compile(r"L([0-7]|[A-Z]{3})", re.ASCII)

_NTH_WEEKDAY: Final = re.compile(r"(\d+|[A-Z]{3})#(\d+)", re.ASCII)


@dataclass(frozen=True, slots=True)
class CronFields:
    """The meaning of an expression: bit sets of minutes, hours and months (bit 1 = January), and of days.

    Expressions with the same meaning are equal.
    """

    minutes: int
    """The minutes, as a bit set."""
    hours: int
    """The hours, as a bit set."""
    months: int
    """The months, as a bit set: bit 1 is January."""
    days: tuple[int, ...]
    """`days[shape]` is the set of matching days of a month of that shape."""
    fixed: bool
    """Neither minute nor hour has a `*` or a step: the schedule names times of day, not an interval."""
    first_time: int
    """The earliest matching time of a day, in minutes."""
    expression: str = field(compare=False)
    """The expression as it was written, without surrounding blanks."""


@lru_cache(maxsize=4096)
def parse_cron(expression: str) -> CronFields:
    """Return the meaning of a five-field cron expression or a nickname.

    Raises InvalidSchedule, whose text says what to write instead.
    """
    if len(expression) > MAX_EXPRESSION_LENGTH:
        reject(
            f"The cron expression has {len(expression)} characters",
            f"at most {MAX_EXPRESSION_LENGTH}, or split it into several jobs",
        )
    source = expression.strip()
    minute, hour, day_of_month, month, day_of_week = split_expression(source)
    minutes = read_values(minute, MINUTE)
    hours = read_values(hour, HOUR)
    months = read_values(month, MONTH)
    days = read_days(day_of_month, day_of_week)
    if not _ever_fires(months, days):
        reject(
            f'"{source}" never fires, because its months have no such day',
            "a day that they have, or L for the last day of the month",
        )
    return CronFields(
        minutes=minutes,
        hours=hours,
        months=months,
        days=days,
        fixed=not any(sign in minute + hour for sign in "*/"),
        first_time=_lowest(hours) * 60 + _lowest(minutes),
        expression=source,
    )


def month_length(year: int, month: int) -> int:
    """Count the days of a month."""
    is_leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return 29 if month == 2 and is_leap else _LENGTHS[month]


def shapes_of(month: int) -> range:
    """List the indexes of the shapes that a month (1 to 12) can have."""
    longest = 29 if month == 2 else _LENGTHS[month]
    return range((_LENGTHS[month] - 28) * 7, (longest - 27) * 7)


def split_expression(source: str) -> list[str]:
    """Return the five fields of an expression or a nickname, in upper case. Raises InvalidSchedule."""
    if not source:
        reject("The cron expression is empty", 'five fields, such as "0 9 * * MON-FRI"')
    for character in source:
        if not (" " <= character <= "~" or character == "\t"):
            reject(
                f"The cron expression contains the character U+{ord(character):04X}",
                "only digits, English names and the signs * , - / ? #",
            )
    if source.startswith("@"):
        return _expand(source.lower()).split()
    fields = source.upper().split()
    if len(fields) != 5:
        _reject_count(source.split())
    return fields


def _expand(nickname: str) -> str:
    if nickname == "@reboot":
        reject(
            "@reboot names no instant, because nothing here boots",
            "@hourly or @daily, or trigger the job by hand",
        )
    if nickname not in _NICKNAMES:
        reject(f'"{nickname}" is no known nickname', f"five fields or one of {', '.join(_NICKNAMES)}")
    return _NICKNAMES[nickname]


def _reject_count(fields: list[str]) -> NoReturn:
    count = len(fields)
    if count == 7:
        reject(
            "The cron expression has seven fields, with seconds and a year",
            f'"{" ".join(fields[1:6])}" with weekdays by name, and bound it with startAt and endAt',
        )
    if count == 6 and (_YEAR.fullmatch(fields[5]) or "?" in (fields[2], fields[4])):
        reject(
            "The cron expression has six fields, the last of them a year",
            f'"{" ".join(fields[:5])}" with weekdays by name, and bound it with startAt and endAt',
        )
    if count == 6:
        reject(
            "The cron expression has six fields, the first of them seconds",
            f'"{" ".join(fields[1:])}", or use everySeconds for less than a minute',
        )
    reject(
        f"The cron expression has {count} field{'s' if count > 1 else ''}",
        "five: minute, hour, day-of-month, month and day-of-week",
    )


def _ever_fires(months: int, days: tuple[int, ...]) -> bool:
    """Say whether any month of the set has a matching day, in any year."""
    return any(months >> month & 1 and any(days[shape] for shape in shapes_of(month)) for month in range(1, 13))


def _lowest(bits: int) -> int:
    return (bits & -bits).bit_length() - 1


@lru_cache(maxsize=1024)
def read_days(day_of_month: str, day_of_week: str) -> tuple[int, ...]:
    """Return a set of days per month shape, in the order of `SHAPES`, from both fields.

    The cache is separate from the expression's, because most expressions differ only in the time of day.
    """
    dates = [_date(item) for item in _items(day_of_month, DAY_OF_MONTH)]
    weekdays = [_weekday(item) for item in _items(day_of_week, DAY_OF_WEEK)]
    agree = any if day_of_month[0] not in "*?" and day_of_week[0] not in "*?" else all
    sets = []
    for length, first in SHAPES:
        days = 0
        for day in range(1, length + 1):
            of_week = (first + day - 1) % 7
            if agree(any(matches(day, of_week, length) for matches in items) for items in (dates, weekdays)):
                days |= 1 << day
        sets.append(days)
    return tuple(sets)


def _items(text: str, of: Field) -> list[str]:
    items = split_items("*" if text == "?" else text, of)
    if "?" in items:
        reject(f'The {of.name} "{text}" mixes ? with other items', "? alone, or leave it out")
    return list(dict.fromkeys(items))


def _date(item: str) -> Matches:
    if item == "L":
        return lambda day, _weekday, length: day == length
    if item == "LW":
        return lambda day, weekday, length: _is_nearest_workday(length, day, weekday, length)
    if match := _FROM_LAST.fullmatch(item):
        back = int(match[1])
        if not 1 <= back <= 30:
            reject(f'The day-of-month "{item}" is out of range', "L, or L-n with a number n from 1 to 30")
        return lambda day, _weekday, length: day == length - back
    if match := _WORKDAY.fullmatch(item):
        wanted = read_number(match[1], DAY_OF_MONTH, item)
        return lambda day, weekday, length: _is_nearest_workday(wanted, day, weekday, length)
    days = read_item(item, DAY_OF_MONTH)
    return lambda day, _weekday, _length: bool(days >> day & 1)


def _is_nearest_workday(wanted: int, day: int, weekday: int, length: int) -> bool:
    """Say whether a day is the day from Monday to Friday that is nearest to the wanted one, within its month."""
    match (weekday + wanted - day) % 7:
        case 6:
            nearest = wanted - 1 if wanted > 1 else 3
        case 0:
            nearest = wanted + 1 if wanted < length else length - 2
        case _:
            nearest = wanted
    return wanted <= length and day == nearest


def _weekday(item: str) -> Matches:
    if match := _LAST_WEEKDAY.fullmatch(item):
        wanted = read_number(match[1], DAY_OF_WEEK, item) % 7
        return lambda day, weekday, length: weekday == wanted and day > length - 7
    if match := _NTH_WEEKDAY.fullmatch(item):
        nth = int(match[2])
        if not 1 <= nth <= 5:
            reject(
                f'The "#{nth}" in the day-of-week "{item}" is out of range',
                "a number from 1 to 5 after the #",
            )
        wanted = read_number(match[1], DAY_OF_WEEK, item) % 7
        return lambda day, weekday, _length: weekday == wanted and (day + 6) // 7 == nth
    if match := _LAST_WEEKDAY_REVERSED.fullmatch(item):
        reject(f'The day-of-week "{item}" is the wrong way round', f'"{match[1]}L" for the last one of the month')
    if item == "L":
        reject('The day-of-week "L" does not say which day', '"6L" for the last Saturday of the month, or "SAT"')
    weekdays = read_item(item, DAY_OF_WEEK)
    return lambda _day, weekday, _length: bool(weekdays >> weekday & 1)
