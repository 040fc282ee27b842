"""The two day fields of a cron expression, resolved together into one set of days for each month shape.

If both fields are restricted, a day matches if *either* does (POSIX); otherwise it must match both. As in cronie, a
field is unrestricted if it *begins* with `*` or `?`: `*/2` in day-of-month with `MON` in day-of-week means the Mondays
that are odd days. A day that a month lacks (`31W` in June, `5#5` in most months) is skipped, never moved.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final

from timeball.domain.time.calendar import SHAPES
from timeball.domain.time.cron_field import (
    DAY_OF_MONTH,
    DAY_OF_WEEK,
    Field,
    read_item,
    read_number,
    reject,
    split_items,
)

Matches = Callable[[int, int, int], bool]
"""Whether an item picks a day of a month, given the day (1 to 31), its weekday, and the month's length."""

_FROM_LAST: Final = re.compile(r"L-(\d+)", re.ASCII)
_WORKDAY: Final = re.compile(r"(\d+)W", re.ASCII)
_LAST_WEEKDAY: Final = re.compile(r"(\d+|[A-Z]{3})L", re.ASCII)
_LAST_WEEKDAY_REVERSED: Final = re.compile(r"L([0-7]|[A-Z]{3})", re.ASCII)
_NTH_WEEKDAY: Final = re.compile(r"(\d+|[A-Z]{3})#(\d+)", re.ASCII)


@lru_cache(maxsize=1024)
def read_days(day_of_month: str, day_of_week: str) -> tuple[int, ...]:
    """Return a set of days per month shape, in the order of `calendar.SHAPES`, from both fields.

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
