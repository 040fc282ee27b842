"""How robfig/cron v3 walks from one fire to the next where clocks change (`SpecSchedule.Next` in its spec.go).

Away from clock changes a schedule fires in each minute whose local time matches. Around a change the walk has habits of
its own: it goes on by whole hours of elapsed time, and looks for a minute only up to the end of an hour. So in Lord
Howe, whose clocks change by half an hour, it passes over the rest of such a day; and it treats a midnight that clocks
skip in a special way. The fires of the four days around each change are therefore walked as the library walks.
"""

from bisect import bisect_right
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Final

from timeball.domain.time.cron import month_length
from timeball.domain.time.zones import Zone, load_zone
from timeball.importing.origins.walls import DAY, Wall, as_shown

_MINUTE_MS: Final = 60_000
_AROUND: Final = 2 * DAY
_YEARS: Final = 5
_HOUR: Final = 60


def robfig_fires(wall: Wall, timezone: str, from_at: int, through_at: int) -> list[int]:
    """Return the fires between two instants (ms) by the clock of a zone."""
    zone = load_zone(timezone)
    first, last = from_at // _MINUTE_MS - _AROUND, through_at // _MINUTE_MS + _AROUND
    changes = [start // 60 for start in zone.starts[1:] if first <= start // 60 <= last]
    fires = as_shown(wall, timezone, from_at, through_at)
    for change in changes:
        begin, end = change - _AROUND, change + _AROUND
        before = bisect_right(fires, begin * _MINUTE_MS)
        after = bisect_right(fires, end * _MINUTE_MS)
        walked = (minute * _MINUTE_MS for minute in _walk(wall, zone, begin, end))
        fires[before:after] = [at for at in walked if from_at <= at <= through_at]
    return fires


def _walk(wall: Wall, zone: Zone, begin: int, end: int) -> Iterator[int]:
    """Yield the fires after one instant up to another (minutes UTC).

    In Chatham the library can return a time that is past, and goes round for ever; the walk ends there.
    """
    before, found = begin, _next(wall, zone, begin)
    while found is not None and before < found <= end:
        yield found
        before, found = found, _next(wall, zone, found)


def _next(wall: Wall, zone: Zone, after: int) -> int | None:
    walker = _Walker(zone, after + 1)
    last_year = walker.local.year + _YEARS
    while walker.local.year <= last_year:
        if walker.month(wall) and walker.day(wall) and walker.hour(wall) and walker.minute(wall):
            return walker.at
    return None


class _Walker:
    """The place of a walk, and its four steps; each says whether the walk goes on to the next field."""

    def __init__(self, zone: Zone, at: int) -> None:
        self._zone = zone
        self.at = at
        self.local = self._shown()
        self._is_cut = False
        """Whether a field has been increased, so that the smaller ones have been set to their beginning."""

    def month(self, wall: Wall) -> bool:
        while self.local.month not in wall.months:
            if not self._is_cut:
                self._is_cut = True
                self._set(self.local.replace(day=1, hour=0, minute=0))
            days = month_length(self.local.year, self.local.month)
            self._set(self.local + timedelta(days=days))
            if self.local.month == 1:
                return False
        return True

    def day(self, wall: Wall) -> bool:
        while not self._is_day(wall):
            if not self._is_cut:
                self._is_cut = True
                self._set(self.local.replace(hour=0, minute=0))
            self._set(self.local + timedelta(days=1))
            if self.local.hour != 0:  # clocks skip this midnight
                self._add((24 - self.local.hour if self.local.hour > 12 else -self.local.hour) * _HOUR)
            if self.local.day == 1:
                return False
        return True

    def hour(self, wall: Wall) -> bool:
        while self.local.hour not in wall.hours:
            if not self._is_cut:
                self._is_cut = True
                self._set(self.local.replace(minute=0))
            self._add(_HOUR)
            if self.local.hour == 0:
                return False
        return True

    def minute(self, wall: Wall) -> bool:
        while self.local.minute not in wall.minutes:
            self._is_cut = True
            self._add(1)
            if self.local.minute == 0:
                return False
        return True

    def _is_day(self, wall: Wall) -> bool:
        local = self.local
        return wall.days(local.day, local.isoweekday() % 7, month_length(local.year, local.month))

    def _add(self, minutes: int) -> None:
        self.at += minutes
        self.local = self._shown()

    def _set(self, local: datetime) -> None:
        """Go to a local time; Go's `time.Date` decides which instant that is where clocks change."""
        seconds = int(local.timestamp())
        period = self._zone.period_at(seconds)
        utc = seconds - self._zone.offsets[period]
        self.at = (seconds - self._zone.offsets[self._zone.period_at(utc)]) // 60
        self.local = self._shown()

    def _shown(self) -> datetime:
        offset = self._zone.offsets[self._zone.period_at(self.at * 60)]
        return datetime.fromtimestamp(self.at * 60 + offset, UTC)
