"""The Gregorian calendar in whole numbers: a day is a number (0 = 1970-01-01), a month is one of 28 shapes.

Which days of a month a schedule picks depends on nothing but the month's shape: its length (28 to 31) and the
weekday of its first day. Every shape that a month can have does come up within 400 years.

A set of days is an int whose bit `d` stands for day `d` (1 to 31); weekdays count from Sunday = 0.
"""

from typing import Final

SHAPES: Final = tuple((length, weekday) for length in range(28, 32) for weekday in range(7))
"""Every (length, weekday of day 1); a month's shape is its index here: `(length - 28) * 7 + weekday`."""

_LENGTHS: Final = (0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def civil(day: int) -> tuple[int, int, int]:
    """Turn a day number into (year, month, day of month), for any year, also before 1970."""
    # Counted from 1 March 0000, so that the leap day is the last of its year.
    shifted = day + 719468
    era, of_era = divmod(shifted, 146097)
    year = (of_era - of_era // 1460 + of_era // 36524 - of_era // 146096) // 365
    of_year = of_era - (365 * year + year // 4 - year // 100)
    month = (5 * of_year + 2) // 153
    of_month = of_year - (153 * month + 2) // 5 + 1
    if month < 10:
        return era * 400 + year, month + 3, of_month
    return era * 400 + year + 1, month - 9, of_month


def day_number(year: int, month: int, day: int) -> int:
    """Turn a date into its day number."""
    if month <= 2:
        year -= 1
        month += 12
    era, of_era = divmod(year, 400)
    of_year = (153 * (month - 3) + 2) // 5 + day - 1
    return era * 146097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719468


def is_leap(year: int) -> bool:
    """Say whether a year has a 29 February."""
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def month_length(year: int, month: int) -> int:
    """Count the days of a month."""
    return 29 if month == 2 and is_leap(year) else _LENGTHS[month]


def shapes_of(month: int) -> range:
    """List the indexes of the shapes that a month (1 to 12) can have."""
    longest = 29 if month == 2 else _LENGTHS[month]
    return range((_LENGTHS[month] - 28) * 7, (longest - 27) * 7)


def weekday(day: int) -> int:
    """Name the weekday of a day number, Sunday = 0."""
    return (day + 4) % 7


def all_days(length: int) -> int:
    """Give the set of every day of a month."""
    return (1 << length + 1) - 2


def weekday_days(length: int, first: int, wanted: int) -> int:
    """Give the set of days of a month that fall on one weekday."""
    start = 1 + (wanted - first) % 7
    return sum(1 << day for day in range(start, length + 1, 7))


def nearest_workday(length: int, first: int, day: int) -> int | None:
    """Find the day from Monday to Friday nearest to `day` within the month; None if it has no `day`."""
    if day > length:
        return None
    fallen_on = (first + day - 1) % 7
    if fallen_on == 6:
        return day - 1 if day > 1 else 3
    if fallen_on == 0:
        return day + 1 if day < length else length - 2
    return day
