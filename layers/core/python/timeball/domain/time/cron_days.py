"""The two day fields of a cron expression, resolved together into one set of days for each month shape.

If both fields are restricted, a day matches if *either* does (POSIX); else it must match both. As in cronie,
a field is unrestricted if it *begins* with `*` or `?`: `*/2` in day-of-month and `MON` in day-of-week are the
Mondays that are odd days. A day that a month lacks (`31W` in June, `5#5` in most months) is passed over,
never moved.
"""

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Final

from timeball.domain.time.calendar import SHAPES, all_days, nearest_workday, weekday_days
from timeball.domain.time.cron_field import (
    DAY_OF_MONTH,
    DAY_OF_WEEK,
    Field,
    read_item,
    read_number,
    reject,
    split_items,
)

Selector = Callable[[int, int], int]
"""From a month's length and the weekday of its first day to a set of days, which may exceed the month."""

_FROM_LAST: Final = re.compile(r"L-(\d+)", re.ASCII)
_WORKDAY: Final = re.compile(r"(\d+)W", re.ASCII)
_LAST_WEEKDAY: Final = re.compile(r"(\d+|[A-Z]{3})L", re.ASCII)
_LAST_WEEKDAY_REVERSED: Final = re.compile(r"L([0-7]|[A-Z]{3})", re.ASCII)
_NTH_WEEKDAY: Final = re.compile(r"(\d+|[A-Z]{3})#(\d+)", re.ASCII)


@lru_cache(maxsize=1024)
def read_days(day_of_month: str, day_of_week: str) -> tuple[int, ...]:
    """Read both fields; the result holds a set of days per month shape, in the order of `calendar.SHAPES`.

    Cached apart from the expression, because most of these differ only in the time of day.
    """
    dates = [_date(item) for item in _items(day_of_month, DAY_OF_MONTH)]
    weekdays = [_weekday(item) for item in _items(day_of_week, DAY_OF_WEEK)]
    either = day_of_month[0] not in "*?" and day_of_week[0] not in "*?"
    sets = []
    for length, first in SHAPES:
        by_date = _union(dates, length, first)
        by_weekday = _union(weekdays, length, first)
        matching = by_date | by_weekday if either else by_date & by_weekday
        sets.append(matching & all_days(length))
    return tuple(sets)


def _items(text: str, of: Field) -> list[str]:
    items = split_items("*" if text == "?" else text, of)
    if "?" in items:
        reject(f'The {of.name} "{text}" mixes ? with other items', "? alone, or leave it out")
    return list(dict.fromkeys(items))


def _union(selectors: Iterable[Selector], length: int, first: int) -> int:
    days = 0
    for select in selectors:
        days |= select(length, first)
    return days


def _date(item: str) -> Selector:
    if item == "L":
        return lambda length, _first: 1 << length
    if item == "LW":
        return lambda length, first: _workday(length, first, length)
    if match := _FROM_LAST.fullmatch(item):
        back = int(match[1])
        if not 1 <= back <= 30:
            reject(f'The day-of-month "{item}" is out of range', "L, or L-n with a number n from 1 to 30")
        return lambda length, _first: 1 << max(length - back, 0)
    if match := _WORKDAY.fullmatch(item):
        day = read_number(match[1], DAY_OF_MONTH, item)
        return lambda length, first: _workday(length, first, day)
    days = read_item(item, DAY_OF_MONTH)
    return lambda _length, _first: days


def _workday(length: int, first: int, day: int) -> int:
    found = nearest_workday(length, first, day)
    return 0 if found is None else 1 << found


def _weekday(item: str) -> Selector:
    if match := _LAST_WEEKDAY.fullmatch(item):
        wanted = read_number(match[1], DAY_OF_WEEK, item) % 7
        return lambda length, first: weekday_days(length, first, wanted) & ~all_days(length - 7)
    if match := _NTH_WEEKDAY.fullmatch(item):
        nth = int(match[2])
        if not 1 <= nth <= 5:
            reject(
                f'The "#{nth}" in the day-of-week "{item}" is out of range',
                "a number from 1 to 5 after the #",
            )
        wanted = read_number(match[1], DAY_OF_WEEK, item) % 7
        week = all_days(nth * 7) & ~all_days(nth * 7 - 7)
        return lambda length, first: weekday_days(length, first, wanted) & week
    if match := _LAST_WEEKDAY_REVERSED.fullmatch(item):
        reject(f'The day-of-week "{item}" is the wrong way round', f'"{match[1]}L" for the last one of the month')
    if item == "L":
        reject('The day-of-week "L" does not say which day', '"6L" for the last Saturday of the month, or "SAT"')
    bits = read_item(item, DAY_OF_WEEK)
    wanted_days = [day for day in range(7) if bits >> day & 1]
    return lambda length, first: sum(weekday_days(length, first, day) for day in wanted_days)
