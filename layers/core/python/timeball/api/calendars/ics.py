"""Read an iCalendar file (RFC 5545): the dates of its events, in the calendar's time zone.

Invariant: a file costs little, whatever it contains: its length, its events, the years that are read and the processor
time are bounded. An event that cannot be read is an error of the file and is never left out.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from itertools import takewhile
from typing import Any, Final
from zoneinfo import ZoneInfo

from timeball.api.http.problems import ENOUGH_ERRORS, shortened
from timeball.api.schemas.accepted import Allowance, OutOfTimeError
from timeball.domain.time.instants import SECOND_MS

MAX_CHARACTERS: Final = 200_000
MAX_EVENTS: Final = 1_000
YEARS_AHEAD: Final = 5

Days = tuple[date, date]
"""A first and a last date, both included."""

Component = Any
"""A component of the file; its library declares each property as any of thirty types."""

_DAY: Final = timedelta(days=1)
_SELDOM: Final = ("YEARLY", "MONTHLY", "WEEKLY", "DAILY")
_WITHIN_A_DAY: Final = ("BYHOUR", "BYMINUTE", "BYSECOND")
_UNREADABLE: Final = "This is not a readable iCalendar file; it goes from BEGIN:VCALENDAR to END:VCALENDAR (RFC 5545)."
_TOO_LONG: Final = "Reading this takes too long; leave out events whose rules match seldom, or begin long ago."


@dataclass(frozen=True)
class _Event:
    """An event: its first beginning by its own clock, and its length; `zone` None: it takes whole dates."""

    first: datetime
    length: timedelta
    zone: tzinfo | None


class _NotUnderstoodError(Exception):
    """An event cannot be read; the text is a phrase that says why."""


def read_ics(text: str, timezone: str, now: int) -> tuple[list[Days], list[str]]:
    """Return the dates that events take, in order and without overlaps, and every error.

    Dates range from the year before an instant (ms) to YEARS_AHEAD years after it.
    """
    year = datetime.fromtimestamp(now // SECOND_MS, UTC).year
    window = (date(year - 1, 1, 1), date(year + YEARS_AHEAD, 12, 31))
    try:
        with Allowance().spent():
            return _read(text, ZoneInfo(timezone), window)
    except OutOfTimeError:
        return [], [_TOO_LONG]


def _read(text: str, zone: tzinfo, window: Days) -> tuple[list[Days], list[str]]:
    from icalendar import Calendar  # noqa: PLC0415 - slow to import, and needed for files only

    try:
        events: list[Component] = [
            one for file in Calendar.from_ical(text, multiple=True) for one in file.walk("VEVENT")
        ]
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return [], [_UNREADABLE]
    fault = _fault(text, events)
    return ([], [fault]) if fault else _read_events(events, zone, window)


def _fault(text: str, events: Sequence[Component]) -> str | None:
    """Return what is wrong with a file as a whole."""
    if not text.rstrip().upper().endswith("END:VCALENDAR"):
        return _UNREADABLE
    if not events:
        return "This file has no event (VEVENT), so it has no dates."
    if len(events) > MAX_EVENTS:
        return f"This file has {len(events)} events; at most {MAX_EVENTS} are allowed."
    return None


def _read_events(events: Sequence[Component], zone: tzinfo, window: Days) -> tuple[list[Days], list[str]]:
    moved = {(str(one.get("UID")), _instant(one["RECURRENCE-ID"].dt, zone)) for one in events if _is_moved(one)}
    found: list[Days] = []
    faults: list[str] = []
    for number, one in enumerate(events, start=1):
        try:
            found += _dates(one, moved, zone, window)
        except _NotUnderstoodError as wrong:
            faults.append(f"Event {number}{_called(one)}: {wrong}")
        except (ValueError, LookupError, TypeError, AttributeError, OverflowError):
            faults.append(f"Event {number}{_called(one)}: its times, or its rule, cannot be read.")
        if len(faults) >= ENOUGH_ERRORS:
            break
    return merged(found), faults


def _called(event: Component) -> str:
    name = event.get("SUMMARY") or event.get("UID")
    return "" if name is None else f" ({shortened(str(name))})"


def _has(event: Component, name: str) -> bool:
    """Say whether an event has a readable property exactly once."""
    is_broken = any(broken == name for broken, _ in event.errors)
    return name in event and not is_broken and not isinstance(event[name], list)


def _is_moved(event: Component) -> bool:
    """Say whether an event replaces one occurrence of another."""
    return _has(event, "RECURRENCE-ID") and isinstance(event["RECURRENCE-ID"].dt, date)


def _dates(event: Component, moved: set[tuple[str, datetime]], zone: tzinfo, window: Days) -> Iterator[Days]:
    """Yield the dates of one event within the window."""
    if str(event.get("STATUS", "")).upper() == "CANCELLED":
        return
    read = _event(event, zone)
    for begin in _begins(event, read, window[1]):
        if not _is_moved(event) and (str(event.get("UID")), _as_instant(begin, read.zone)) in moved:
            continue
        first, last = _taken(begin, read, zone)
        if first <= window[1] and last >= window[0]:
            yield max(first, window[0]), min(last, window[1])


def _event(event: Component, zone: tzinfo) -> _Event:
    _refuse(event)
    start = event["DTSTART"].dt
    end = event["DTEND"].dt if _has(event, "DTEND") else None
    lasts = event["DURATION"].dt if _has(event, "DURATION") else timedelta()
    if end is not None and isinstance(end, datetime) is not isinstance(start, datetime):
        raise _NotUnderstoodError("its beginning and its end must both be dates, or both times.")
    if isinstance(start, datetime):
        lasts = lasts if end is None else _aware(end, zone) - _aware(start, zone)
        read = _Event(start.replace(tzinfo=None), lasts, start.tzinfo or zone)
    else:
        lasts = lasts if end is None else end - start
        read = _Event(datetime.combine(start, time()), lasts if lasts < timedelta() else max(lasts, _DAY), None)
    if read.length < timedelta():
        raise _NotUnderstoodError("it ends before it begins.")
    return read


def _refuse(event: Component) -> None:
    """Raise _NotUnderstoodError for an event with unreadable or unsupported properties."""
    broken = sorted({str(name) for name, _ in event.errors})
    if broken:
        raise _NotUnderstoodError(f"its {' and its '.join(broken)} cannot be read.")
    if not _has(event, "DTSTART"):
        raise _NotUnderstoodError("it needs exactly one beginning (DTSTART).")
    if "EXRULE" in event:
        raise _NotUnderstoodError("its EXRULE is not part of RFC 5545; list the dates in an EXDATE.")
    if _is_moved(event) and "RANGE" in event["RECURRENCE-ID"].params:
        raise _NotUnderstoodError("it moves all later occurrences (RANGE=THISANDFUTURE); split the event there.")
    for name in ("DTSTART", "DTEND"):
        at = event[name].dt if _has(event, name) else None
        if isinstance(at, datetime) and at.tzinfo is None and "TZID" in event[name].params:
            zone = shortened(str(event[name].params["TZID"]))
            raise _NotUnderstoodError(f"the file does not define the time zone {zone} of its {name}.")


def _begins(event: Component, read: _Event, last: date) -> Iterator[datetime]:
    """Yield the beginnings of an event by its own clock, from its rule and its lists of dates."""
    end = datetime.combine(last, time.max)
    without = {_local(one, read) for one in _listed(event, "EXDATE")}
    begins = {read.first, *(_local(one, read) for one in _listed(event, "RDATE"))}
    if "RRULE" in event:
        begins.update(takewhile(lambda at: at <= end, _rule(event, read, end)))
    yield from sorted(begins - without)


def _rule(event: Component, read: _Event, end: datetime) -> Iterator[datetime]:
    from dateutil.rrule import rrulestr  # noqa: PLC0415 - as above

    rule = event["RRULE"]
    if isinstance(rule, list):
        raise _NotUnderstoodError("it has more than one rule (RRULE); split the event.")
    if str(rule.get("FREQ", [""])[0]).upper() not in _SELDOM or any(name in rule for name in _WITHIN_A_DAY):
        raise _NotUnderstoodError(
            f"its rule must repeat {', '.join(_SELDOM)}, and may not name hours, minutes or seconds."
        )
    if int(rule.get("INTERVAL", [1])[0]) < 1:
        raise _NotUnderstoodError("the INTERVAL of its rule is less than 1.")
    said = {name: value for name, value in rule.items() if name.upper() != "UNTIL"}
    found: Any = rrulestr(type(rule)(said).to_ical().decode(), dtstart=read.first, cache=False)
    if "COUNT" in rule:
        return iter(found)
    (until,) = rule.get("UNTIL", [None])
    if until is None:
        return iter(found.replace(until=end))
    by_own_clock = _local(until, read) if isinstance(until, datetime) else datetime.combine(until, time.max)
    return iter(found.replace(until=min(by_own_clock, end)))


def _listed(event: Component, name: str) -> Iterator[date | datetime]:
    values = event.get(name, [])
    for value in values if isinstance(values, list) else [values]:
        for one in value.dts:
            if not isinstance(one.dt, date):
                raise _NotUnderstoodError(f"its {name} has periods; give dates or times.")
            yield one.dt


def _local(at: date | datetime, read: _Event) -> datetime:
    """Return a time of an event by the event's own clock."""
    if not isinstance(at, datetime):
        return datetime.combine(at, read.first.time())
    own = at if at.tzinfo is None or read.zone is None else at.astimezone(read.zone)
    return own.replace(tzinfo=None)


def _taken(begin: datetime, read: _Event, zone: tzinfo) -> Days:
    """Return the dates of an occurrence in the calendar's time zone; its end is excluded."""
    if read.zone is None:
        return begin.date(), (begin + read.length - _DAY).date()
    start = begin.replace(tzinfo=read.zone).astimezone(UTC)
    last = start + max(read.length - timedelta(microseconds=1), timedelta())
    return start.astimezone(zone).date(), last.astimezone(zone).date()


def _aware(at: datetime, zone: tzinfo) -> datetime:
    return at if at.tzinfo is not None else at.replace(tzinfo=zone)


def _as_instant(begin: datetime, zone: tzinfo | None) -> datetime:
    return begin.replace(tzinfo=zone or UTC).astimezone(UTC)


def _instant(at: date | datetime, zone: tzinfo) -> datetime:
    if isinstance(at, datetime):
        return _aware(at, zone).astimezone(UTC)
    return datetime.combine(at, time(), UTC)  # as `_as_instant` treats whole dates


def merged(days: Sequence[Days]) -> list[Days]:
    """Return ranges of dates in order, where adjacent and overlapping ranges become one."""
    found: list[Days] = []
    for first, last in sorted(days):
        if found and first <= found[-1][1] + _DAY:
            found[-1] = (found[-1][0], max(last, found[-1][1]))
        else:
            found.append((first, last))
    return found
