"""Instants are ints in ms since 1970 in UTC, and durations are whole seconds. Text exists only at the edges.

Invariant: `parse_instant(format_instant(at)) == at` for every instant between EARLIEST and LATEST.
"""

import re
from datetime import UTC, datetime, timedelta
from typing import Final

SECOND_MS = 1000
MINUTE_MS = 60 * SECOND_MS
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS
EARLIEST = 0
"""1970-01-01T00:00:00Z: no instant that Timeball stores is earlier."""

LATEST = 13_569_465_600_000
"""2400-01-01T00:00:00Z: every instant that Timeball stores is earlier."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_WITHOUT_ZONE = _EPOCH.replace(tzinfo=None)
"""For lists of instants: a time without a zone is written a third faster."""

LONGEST_PERIOD_SECONDS: Final = 10 * 366 * 86_400
"""Ten years: no interval is longer."""

_DURATION: Final = re.compile(
    r"P(?:(?P<weeks>\d{1,9})W|(?:(?P<days>\d{1,9})D)?"
    r"(?:T(?=\d)(?:(?P<hours>\d{1,9})H)?(?:(?P<minutes>\d{1,9})M)?(?:(?P<seconds>\d{1,9})S)?)?)",
    re.ASCII,
)

_UNITS: Final = {"weeks": 604_800, "days": 86_400, "hours": 3600, "minutes": 60, "seconds": 1}


class InvalidSchedule(ValueError):  # noqa: N818 - it says what is wrong, as an API error does
    """A schedule that is invalid: its text says what is wrong and what to write instead."""


def parse_instant(text: str) -> int:
    """Return the instant that an ISO 8601 time with an offset names, in ms; finer digits are cut off.

    Raises ValueError, with a sentence, for anything else: no offset, no such date, outside 1970 to 2399.
    """
    if "T" not in text.upper():
        raise ValueError("Write a time as 2026-11-21T09:30:00Z.")
    try:
        moment = datetime.fromisoformat(text.upper())
    except ValueError:
        raise ValueError("Write a time as 2026-11-21T09:30:00Z.") from None
    if moment.tzinfo is None:
        raise ValueError("Give the time an offset, such as Z or +02:00.")
    at = (moment - _EPOCH) // timedelta(milliseconds=1)
    if not EARLIEST <= at < LATEST:
        raise ValueError("Give a time between the years 1970 and 2399.")
    return at


def format_instant(at: int) -> str:
    """Return an instant as ISO 8601 in UTC with milliseconds: `2026-11-21T09:30:00.000Z`."""
    moment = _EPOCH_WITHOUT_ZONE + timedelta(milliseconds=at)
    return moment.isoformat(timespec="milliseconds") + "Z"


def parse_duration(text: str) -> int:
    """Return the whole seconds of an ISO 8601 duration without months and years, such as `PT15M`.

    Raises ValueError, with a sentence, for anything else.
    """
    match = _DURATION.fullmatch(text)
    parts = {unit: int(count) for unit, count in match.groupdict().items() if count} if match else {}
    if not parts:
        raise ValueError("Give whole seconds, such as 900, or a duration such as PT15M or P1DT12H.")
    return sum(_UNITS[unit] * count for unit, count in parts.items())
