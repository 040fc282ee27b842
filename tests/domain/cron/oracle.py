"""The meaning of a cron expression by brute force: enumerate minutes, ask zoneinfo, compare.

The oracle shares no code with the code under test. It parses expressions anew, in the plainest way, and understands
only those that cases.py writes.
"""

import calendar
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cache
from importlib.resources import files
from zoneinfo import ZoneInfo

EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - naive on purpose: local times are counted from here
MINUTE_MS = 60_000

_NAMES = {
    name: number
    for names, start in (
        ("JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC", 1),
        ("SUN MON TUE WED THU FRI SAT", 0),
    )
    for number, name in enumerate(names.split(), start)
}


@cache
def zone(name: str) -> ZoneInfo:
    """Read a zone from the tzdata package; ZoneInfo(name) would use the machine's."""
    with files("tzdata").joinpath("zoneinfo", *name.split("/")).open("rb") as data:
        return ZoneInfo.from_file(data, key=name)


def _number(text: str) -> int:
    return _NAMES[text] if text in _NAMES else int(text)


@cache
def _values(text: str, low: int, high: int) -> frozenset[int]:
    found: set[int] = set()
    for item in text.split(","):
        span, _, step = item.partition("/")
        if span == "*":
            first, last = low, high
        elif "-" in span:
            first, last = (_number(end) for end in span.split("-"))
        else:
            first = _number(span)
            last = high if step else first
        found |= {value for value in range(first, last + 1) if (value - first) % int(step or 1) == 0}
    return frozenset(found)


@cache
def _workdays(year: int, month: int) -> list[int]:
    days = range(1, calendar.monthrange(year, month)[1] + 1)
    return [day for day in days if date(year, month, day).isoweekday() <= 5]


def _is_date(item: str, day: date) -> bool:
    """Say whether a day matches an item of the day-of-month field."""
    length = calendar.monthrange(day.year, day.month)[1]
    if item == "L":
        return day.day == length
    if item.startswith("L-"):
        return day.day == length - int(item[2:])
    if item.endswith("W"):
        wanted = length if item == "LW" else int(item[:-1])
        if wanted > length:
            return False
        return day.day == min(_workdays(day.year, day.month), key=lambda d: abs(d - wanted))
    return day.day in _values(item, 1, 31)


def _is_weekday(item: str, day: date) -> bool:
    """Say whether a day matches an item of the day-of-week field."""
    weekday = day.isoweekday() % 7
    if item.endswith("L"):
        return weekday == _number(item[:-1]) % 7 and (day + timedelta(days=7)).month != day.month
    if "#" in item:
        name, _, nth = item.partition("#")
        return weekday == _number(name) % 7 and (day.day + 6) // 7 == int(nth)
    return weekday in {value % 7 for value in _values(item, 0, 6 if item.startswith("*") else 7)}


@dataclass(frozen=True)
class Expression:
    """The five fields, as text."""

    minute: str
    hour: str
    day_of_month: str
    month: str
    day_of_week: str

    @property
    def fixed(self) -> bool:
        return not set("*/") & set(self.minute + self.hour)

    def times(self) -> set[tuple[int, int]]:
        minutes = _values(self.minute, 0, 59)
        return {(hour, minute) for hour in _values(self.hour, 0, 23) for minute in minutes}

    def has_day(self, day: date) -> bool:
        if day.month not in _values(self.month, 1, 12):
            return False
        by_date = self.day_of_month == "?" or any(_is_date(item, day) for item in self.day_of_month.split(","))
        by_weekday = self.day_of_week == "?" or any(_is_weekday(item, day) for item in self.day_of_week.split(","))
        if self.day_of_month[0] in "*?" or self.day_of_week[0] in "*?":
            return by_date and by_weekday
        return by_date or by_weekday


@cache
def read(text: str) -> Expression:
    return Expression(*text.upper().split())


@dataclass(frozen=True)
class Window:
    """All UTC minutes of a span of time, with the local times that clocks show at them."""

    zone: str
    shown: tuple[tuple[int, datetime], ...]
    """(instant in ms, naive local time)"""

    @property
    def start_at(self) -> int:
        return self.shown[0][0]

    @property
    def end_at(self) -> int:
        return self.shown[-1][0] + MINUTE_MS

    @property
    def step_minutes(self) -> int:
        """Return how far the clocks go forward within the window, in minutes."""
        (first_at, first), (last_at, last) = self.shown[0], self.shown[-1]
        return int((last - first) / timedelta(minutes=1)) - (last_at - first_at) // MINUTE_MS

    @property
    def goes_back_at_midnight(self) -> bool:
        """Say whether the repeated local times begin or end with a day."""
        return any(
            now <= before and (0, 0) in {(now.hour, now.minute), ((before.hour + 1) % 24, (before.minute + 1) % 60)}
            for (_, before), (_, now) in zip(self.shown, self.shown[1:], strict=False)
        )

    def skipped(self) -> Iterator[tuple[int, list[datetime]]]:
        """List the instants at which clocks jumped, with the local minutes that they left out."""
        for (_, before), (at, now) in zip(self.shown, self.shown[1:], strict=False):
            missing = int((now - before) / timedelta(minutes=1)) - 1
            if missing > 0:
                yield at, [before + timedelta(minutes=1 + m) for m in range(missing)]


def window(name: str, middle: datetime, hours: int) -> Window:
    """Enumerate the minutes around an instant."""
    tz = zone(name)
    start = middle - timedelta(hours=hours)
    minutes = (start + timedelta(minutes=m) for m in range(2 * hours * 60))
    return Window(name, tuple((int(m.timestamp()) * 1000, m.astimezone(tz).replace(tzinfo=None)) for m in minutes))


@dataclass(frozen=True)
class Matches:
    """The fires of an expression in a window, before any policy applies."""

    once: tuple[int, ...]
    again: tuple[int, ...]
    """At local times that clocks had already shown."""
    jumps: tuple[int, ...]
    """Ends of gaps that contain a matching local time."""

    def fires(self, *, at_jump: bool, both: bool) -> list[int]:
        return sorted({*self.once, *(self.again if both else ()), *(self.jumps if at_jump else ())})


def matches(text: str, within: Window) -> Matches:
    """Try every minute of a window."""
    expression = read(text)
    times = expression.times()
    days: dict[date, bool] = {}

    def match(local: datetime) -> bool:
        if (local.hour, local.minute) not in times:
            return False
        day = local.date()
        if day not in days:
            days[day] = expression.has_day(day)
        return days[day]

    once: list[int] = []
    again: list[int] = []
    seen: set[datetime] = set()
    for at, local in within.shown:
        if match(local):
            (again if local in seen else once).append(at)
            seen.add(local)
    jumps = [at for at, missing in within.skipped() if any(match(local) for local in missing)]
    return Matches(tuple(once), tuple(again), tuple(jumps))


def clock_changes(name: str, first: datetime, last: datetime) -> list[datetime]:
    """Find the instants at which a zone's offset changes, to the second, by looking at every hour."""
    tz = zone(name)

    def offset(instant: datetime) -> timedelta | None:
        return instant.astimezone(tz).utcoffset()

    found = []
    hour = timedelta(hours=1)
    at = first
    while at < last:
        if offset(at) != offset(at + hour):
            low, high = at, at + hour
            while high - low > timedelta(seconds=1):
                middle = low + timedelta(seconds=int((high - low).total_seconds()) // 2)
                low, high = (middle, high) if offset(middle) == offset(low) else (low, middle)
            found.append(high)
        at += hour
    return found


def shown_at(name: str, local: datetime) -> list[datetime]:
    """List the instants (none, one or two) at which clocks show a local time: ask zoneinfo both ways."""
    tz = zone(name)
    candidates = {local.replace(tzinfo=tz, fold=fold).astimezone(UTC) for fold in (0, 1)}
    return sorted(at for at in candidates if at.astimezone(tz).replace(tzinfo=None, fold=0) == local)
