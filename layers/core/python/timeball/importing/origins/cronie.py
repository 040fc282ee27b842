"""When cronie runs a line of a crontab. The source is `find_jobs` and the loop of `main` in its src/cron.c.

A line is a *wildcard* job if its minute or hour begins with `*`, and a *fixed* job otherwise. Where the machine's clock
changes by up to three hours:
- a wildcard job runs in every minute that the clock shows;
- a fixed job runs once for every minute that the clock skips, at the end of the gap, and not when a minute is repeated.
A greater change makes no difference between the two. With CRON_TZ the zone of the variable decides what a clock shows.
Minutes that the machine's clock skips are lost then, and a fixed job does not run while the machine's clock repeats an
hour: the comment in `find_jobs` says that this support is not perfect.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from timeball.importing.definitions import Fires, UnreadableError
from timeball.importing.origins.dialects import (
    DATES_FIELD,
    HOURS_FIELD,
    MINUTES_FIELD,
    MONTHS_FIELD,
    WEEKDAYS_FIELD,
    Dialect,
)
from timeball.importing.origins.walls import Stretch, Wall, as_shown, both_days, either_day, instants, stretches

_CRONIE: Final = Dialect("cronie")
_TWICE_SUNDAY: Final = replace(WEEKDAYS_FIELD, high=7)
_MOST: Final = 180
"""A change of more minutes is not a clock change but a clock that was set."""

NICKNAMES: Final = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
"""What the nicknames stand for."""


@dataclass(frozen=True)
class CronieTimes:
    """The five fields of a line."""

    texts: tuple[str, ...]
    """The fields as they were written."""
    wall: Wall
    """The minutes that they name."""
    dates: frozenset[int]
    """The values of the day-of-month."""
    weekdays: frozenset[int]
    """The values of the day-of-week."""
    is_fixed: bool
    """Neither its minute nor its hour begins with `*`."""


def read_cronie(texts: tuple[str, ...]) -> CronieTimes:
    """Read the five fields as cronie does. Raises UnreadableError."""
    if any("~" in text for text in texts):
        raise UnreadableError("cronie draws the value of ~ when it starts; write a value, and jitterSeconds to spread.")
    minute, hour, date, month, weekday = texts
    dates = _CRONIE.read(date, DATES_FIELD)
    weekdays = frozenset(value % 7 for value in _CRONIE.read(_upwards(weekday), _TWICE_SUNDAY))
    days = both_days if "*" in (date[0], weekday[0]) else either_day
    wall = Wall(
        _CRONIE.read(minute, MINUTES_FIELD),
        _CRONIE.read(hour, HOURS_FIELD),
        _CRONIE.read(month, MONTHS_FIELD),
        days(dates, weekdays),
    )
    return CronieTimes(texts, wall, dates, weekdays, is_fixed="*" not in (minute[0], hour[0]))


def cronie_fires(times: CronieTimes, machine: str, cron_tz: str | None) -> Fires:
    """Return the fires on a machine whose clock has a zone; `cron_tz` is the zone of the variable CRON_TZ, if any."""
    if cron_tz is not None:
        return lambda from_at, through_at: _by_variable(times, machine, cron_tz, from_at, through_at)
    if not times.is_fixed:
        return lambda from_at, through_at: as_shown(times.wall, machine, from_at, through_at)
    return lambda from_at, through_at: instants(_fixed(times.wall, machine, from_at, through_at), from_at, through_at)


def _fixed(wall: Wall, machine: str, from_at: int, through_at: int) -> Iterator[int]:
    for stretch in stretches(machine, from_at, through_at):
        change = abs(stretch.skips)
        if change > _MOST:
            first = stretch.starts
        elif stretch.skips > 0:
            first = stretch.starts
            yield from (stretch.starts - stretch.offset for _ in wall.between(stretch.before, stretch.starts))
        else:
            first = stretch.before
        yield from (minute - stretch.offset for minute in wall.between(first, stretch.ends))


def _by_variable(times: CronieTimes, machine: str, cron_tz: str, from_at: int, through_at: int) -> list[int]:
    found = as_shown(times.wall, cron_tz, from_at, through_at)
    if not times.is_fixed:
        return found
    silent = [_repeated(stretch) for stretch in stretches(machine, from_at, through_at) if -_MOST <= stretch.skips < 0]
    return [at for at in found if not any(at // 60_000 in minutes for minutes in silent)]


def _repeated(stretch: Stretch) -> range:
    """Return the minutes (UTC) in which the clock repeats what it has shown before."""
    start = stretch.starts - stretch.offset
    return range(start, start - stretch.skips)


def _upwards(weekday: str) -> str:
    """Return the day-of-week with `fri-sun` as `fri-7`, which cronie reads from Friday on; a step undoes that."""
    items = weekday.split(",")
    return ",".join(
        f"{item.rsplit('-', 1)[0]}-7" if item.lower().endswith(("-sun", "-0")) and item[0] not in "0sS" else item
        for item in items
    )
