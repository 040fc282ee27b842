"""The shapes of a month: its length (28 to 31) and the weekday of its first day. There are 28 of them.

The days of a month that a schedule picks depend on nothing else. Every shape that a month can have occurs within 400
years. Weekdays count from Sunday = 0.
"""

from typing import Final

SHAPES: Final = tuple((length, weekday) for length in range(28, 32) for weekday in range(7))
"""Every (length, weekday of day 1). The shape of a month is its index here: `(length - 28) * 7 + weekday`."""

_LENGTHS: Final = (0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def month_length(year: int, month: int) -> int:
    """Count the days of a month."""
    is_leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return 29 if month == 2 and is_leap else _LENGTHS[month]


def shapes_of(month: int) -> range:
    """List the indexes of the shapes that a month (1 to 12) can have."""
    longest = 29 if month == 2 else _LENGTHS[month]
    return range((_LENGTHS[month] - 28) * 7, (longest - 27) * 7)
