"""Instants are integers: milliseconds since 1970 in UTC. Text exists only at the edges.

Invariant: `parse_instant(format_instant(at)) == at` for every instant between EARLIEST and LATEST.
"""

from datetime import UTC, datetime, timedelta

SECOND_MS = 1000
MINUTE_MS = 60 * SECOND_MS
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS

EARLIEST = 0
"""1970-01-01T00:00:00Z: no instant that Timeball stores is earlier."""

LATEST = 13_569_465_600_000
"""2400-01-01T00:00:00Z: every instant that Timeball stores is earlier."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


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
    moment = _EPOCH + timedelta(milliseconds=at)
    return moment.isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"
