"""A calendar: dates of a tenant on which jobs that name it do not fire, in a time zone of its own.

Invariant: a calendar is deleted (`is_deleted`) only when no open job names it; a job notes its use before it names it.
Each version is written once; the row is the newest, and a change stores the version that it replaces before it does.
"""

import re
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum

from timeball.domain.model.evolve import evolve
from timeball.domain.model.tenants.actor import NO_ACTOR, Action, Actor
from timeball.domain.time.spans import Spans, local_days

CALENDAR_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""The form of a calendar's name: it holds no separator of keys, URLs or headers."""

_EPOCH = date(1970, 1, 1)


class CalendarPolicy(StrEnum):
    """The treatment of a fire on a date of the calendar: it is skipped, or starts on the next day that is not on it."""

    SKIP = "skip"
    NEXT = "next"


@dataclass(frozen=True)
class CalendarUse:
    """How a job uses a calendar."""

    name: str
    """The calendar's name within the job's tenant."""
    policy: CalendarPolicy = CalendarPolicy.SKIP
    """What becomes of fires on its dates."""


@dataclass(frozen=True, order=True)
class CalendarKey:
    """The name of a calendar."""

    tenant: str
    """The tenant that owns it."""
    name: str
    """Its name within the tenant."""


@dataclass(frozen=True)
class DateRange:
    """A range of dates, as ISO 8601 text such as `2026-12-24`."""

    from_date: str
    """The first date."""
    to_date: str
    """The last date, included."""


@dataclass(frozen=True)
class Calendar:
    """One row. Instants are in ms."""

    key: CalendarKey
    """The calendar's tenant and name."""
    timezone: str
    """The IANA name of the zone whose clocks show the dates."""
    created_at: int
    """When it was created."""
    updated_at: int
    """When it was last changed."""
    dates: tuple[str, ...] = ()
    """Single dates, as ISO 8601 text."""
    ranges: tuple[DateRange, ...] = field(default_factory=tuple)
    """Ranges of dates."""
    is_deleted: bool = False
    """It was deleted: no job can name it."""
    action: Action = Action.PUT
    """What made this version."""
    by: Actor = NO_ACTOR
    """The actor that asked for it."""
    version: int = 1
    """Counts the changes of users."""
    revision: int = 1
    """Counts the writes of the row."""

    @property
    def order(self) -> tuple[int, str]:
        """Its position among the versions of the calendar."""
        return self.version, ""

    @property
    def spans(self) -> Spans:
        """The times at which clocks in its zone show one of its dates."""
        single = [(_day(one), _day(one)) for one in self.dates]
        return local_days(self.timezone, (*single, *((_day(one.from_date), _day(one.to_date)) for one in self.ranges)))


def changed_calendar(standing: Calendar, wanted: Calendar, now: int) -> Calendar:
    """Return a calendar with the values of a request: the same row if nothing differs."""
    after = evolve(
        standing, timezone=wanted.timezone, dates=wanted.dates, ranges=wanted.ranges, is_deleted=wanted.is_deleted
    )
    if after == standing:
        return after
    return evolve(after, version=standing.version + 1, updated_at=now, action=wanted.action, by=wanted.by)


def deleted_calendar(standing: Calendar, by: Actor, now: int) -> Calendar:
    """Return a calendar as deleted."""
    version = standing.version + 1
    return evolve(standing, is_deleted=True, version=version, updated_at=now, action=Action.DELETE, by=by)


def _day(text: str) -> int:
    return (date.fromisoformat(text) - _EPOCH).days
