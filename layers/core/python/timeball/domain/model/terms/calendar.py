"""A calendar: dates of a tenant on which jobs that name it do not fire, in a time zone of its own.

Invariant: it is deleted, and `is_deleted`, only when no open job names it; a job notes its use before it names it.
"""

import re
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum

from timeball.domain.model.evolve import evolve
from timeball.domain.time.spans import Spans, local_days

CALENDAR_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""What a calendar may be called: no separators of keys, urls or headers."""

_EPOCH = date(1970, 1, 1)


class CalendarPolicy(StrEnum):
    """What becomes of a fire on a date of the calendar: it is skipped, or starts on the next day that is none."""

    SKIP = "skip"
    NEXT = "next"


@dataclass(frozen=True)
class CalendarUse:
    """The calendar that a job names, and what it does to its fires."""

    name: str
    policy: CalendarPolicy = CalendarPolicy.SKIP


@dataclass(frozen=True, order=True)
class CalendarKey:
    """A calendar within its tenant."""

    tenant: str
    name: str


@dataclass(frozen=True)
class DateRange:
    """Dates from one to another, both included: `2026-12-24`."""

    from_date: str
    to_date: str


@dataclass(frozen=True)
class Calendar:
    """One row. Its dates are ISO 8601 text, as they were given; `version` counts users' changes."""

    key: CalendarKey
    timezone: str
    created_at: int
    updated_at: int
    dates: tuple[str, ...] = ()
    ranges: tuple[DateRange, ...] = field(default_factory=tuple)
    is_deleted: bool = False
    version: int = 1
    revision: int = 1

    @property
    def spans(self) -> Spans:
        """When clocks in its zone show one of its dates."""
        single = [(_day(one), _day(one)) for one in self.dates]
        return local_days(self.timezone, (*single, *((_day(one.from_date), _day(one.to_date)) for one in self.ranges)))


def changed_calendar(standing: Calendar, wanted: Calendar, now: int) -> Calendar:
    """Return a calendar as a request wants it: the same row if nothing differs."""
    after = evolve(
        standing, timezone=wanted.timezone, dates=wanted.dates, ranges=wanted.ranges, is_deleted=wanted.is_deleted
    )
    return after if after == standing else evolve(after, version=standing.version + 1, updated_at=now)


def _day(text: str) -> int:
    return (date.fromisoformat(text) - _EPOCH).days
