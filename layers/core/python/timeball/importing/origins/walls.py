"""The minutes that an expression names by a local clock, and the instants at which that clock shows them.

The schedulers that jobs are imported from differ in what they do where clocks change. Each states its rule in a module
of its own, over the stretches of this one. The zones' data are those of timeball.domain.time; the rules are not.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

from timeball.domain.time.cron import month_length
from timeball.domain.time.zones import Zone, load_zone
from timeball.importing.definitions import Fires

DAY: Final = 1440
"""The minutes of a day."""
_EPOCH: Final = date(1970, 1, 1)
_EARLIER: Final = 2 * DAY

Days = Callable[[int, int, int], bool]
"""Whether a day matches, given the day of the month, its weekday (0 is Sunday) and the length of the month."""


@dataclass(frozen=True)
class Wall:
    """The minutes of a local clock that an expression names."""

    minutes: frozenset[int]
    """The minutes of an hour."""
    hours: frozenset[int]
    """The hours of a day."""
    months: frozenset[int]
    """The months, from 1."""
    days: Days
    """The days of a month."""

    def between(self, first: int, end: int) -> Iterator[int]:
        """Yield the local minutes since 1970 that match, from `first` to just before `end`."""
        times = sorted(hour * 60 + minute for hour in self.hours for minute in self.minutes)
        for number in range(first // DAY, -(-end // DAY)):
            today = _EPOCH + timedelta(days=number)
            if today.month in self.months and self.days(
                today.day, today.isoweekday() % 7, month_length(today.year, today.month)
            ):
                start = number * DAY
                if first <= start and start + DAY <= end:
                    yield from [start + time for time in times]
                else:
                    yield from (start + time for time in times if first <= start + time < end)


@dataclass(frozen=True)
class Stretch:
    """A time in which a clock runs on without a change. All numbers are minutes."""

    starts: int
    """The local time at its beginning."""
    ends: int
    """The local time at its end."""
    offset: int
    """Local time minus UTC."""
    before: int
    """The local time at which the stretch before ended; the start for the first one."""

    @property
    def skips(self) -> int:
        """How many local minutes the change at its beginning leaves out; negative: it repeats so many."""
        return self.starts - self.before


def stretches(zone: str, from_at: int, through_at: int) -> Iterator[Stretch]:
    """Yield the stretches of a zone from some days before an instant (ms) to another one."""
    clock: Zone = load_zone(zone)
    begin, end = from_at // 60_000 - _EARLIER, through_at // 60_000 + 1
    before: int | None = None
    for period in range(clock.period_at(begin * 60), clock.period_at(end * 60) + 1):
        offset = clock.offsets[period] // 60
        starts = max(clock.starts[period] // 60, begin)
        ends = min(clock.starts[period + 1] // 60, end) if period + 1 < len(clock.starts) else end
        yield Stretch(starts + offset, ends + offset, offset, starts + offset if before is None else before)
        before = ends + offset


def as_shown(wall: Wall, zone: str, from_at: int, through_at: int) -> list[int]:
    """Return every instant at which the clock shows a minute of the wall: twice if it shows the minute twice."""
    minutes = (
        minute - stretch.offset
        for stretch in stretches(zone, from_at, through_at)
        for minute in wall.between(stretch.starts, stretch.ends)
    )
    return instants(minutes, from_at, through_at)


def once_shown(wall: Wall, zone: str, from_at: int, through_at: int) -> list[int]:
    """Return the instants at which the clock shows each minute of the wall for the first time."""
    minutes = (
        minute - stretch.offset
        for stretch in stretches(zone, from_at, through_at)
        for minute in wall.between(max(stretch.starts, stretch.before), stretch.ends)
    )
    return instants(minutes, from_at, through_at)


def elapsed(seconds: int, anchor_at: int, end_at: int | None = None) -> Fires:
    """Return the fires of an interval that counts elapsed time from an instant (ms), up to the end of its window."""
    period = seconds * 1000

    def between(from_at: int, through_at: int) -> list[int]:
        first_at = anchor_at + max(0, -((anchor_at - from_at) // period)) * period
        last_at = through_at if end_at is None else min(through_at, end_at)
        return [*range(first_at, last_at + 1, period)]

    return between


def instants(minutes: Iterator[int], from_at: int, through_at: int) -> list[int]:
    """Return those of some minutes (UTC, since 1970) that lie between two instants (ms), as instants."""
    first, last = -(-from_at // 60_000), through_at // 60_000
    return [minute * 60_000 for minute in minutes if first <= minute <= last]


def either_day(dates: frozenset[int], weekdays: frozenset[int]) -> Days:
    """Return the rule of crontab(5) for two restricted fields: a day matches if one of them does."""
    return lambda day, weekday, _length: day in dates or weekday in weekdays


def both_days(dates: frozenset[int], weekdays: frozenset[int]) -> Days:
    """Return the rule by which a day must match both fields."""
    return lambda day, weekday, _length: day in dates and weekday in weekdays
