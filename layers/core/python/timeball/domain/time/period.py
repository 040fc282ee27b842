"""The shortest time between two fires of a schedule, by local clocks."""

from itertools import pairwise
from typing import Final

from timeball.domain.time.calendar import SHAPES
from timeball.domain.time.cron import parse_cron
from timeball.domain.time.schedule import Cron, Every, Schedule

_DAY_MINUTES: Final = 24 * 60
_MINUTE_SECONDS: Final = 60


def least_period_seconds(schedule: Schedule) -> int | None:
    """Return the shortest time between two fires of a schedule, in seconds; None: it has one fire at most.

    For a cron expression only the times of day count: rare days or months lengthen no interval except the one
    overnight.
    """
    match schedule.timing:
        case Every(seconds):
            return seconds
        case Cron(expression):
            fields = parse_cron(expression)
            minutes = [minute for minute in range(60) if fields.minutes >> minute & 1]
            times = [hour * 60 + minute for hour in range(24) if fields.hours >> hour & 1 for minute in minutes]
            apart = [later - earlier for earlier, later in pairwise(times)]
            overnight = times[0] + _DAY_MINUTES - times[-1]
            return min([*apart, overnight if _has_neighbours(fields.days) else _DAY_MINUTES]) * _MINUTE_SECONDS
        case _:
            return None


def _has_neighbours(days: tuple[int, ...]) -> bool:
    """Say whether two days in a row may match: within a month, or the last day of one and the first of the next."""
    within = any(of_shape & of_shape >> 1 for of_shape in days)
    first_matches = [any(days[shape] >> 1 & 1 for shape in range(weekday, len(days), 7)) for weekday in range(7)]
    ends = zip(days, SHAPES, strict=True)
    return within or any(
        of_shape >> length & 1 and first_matches[(weekday + length) % 7] for of_shape, (length, weekday) in ends
    )
