"""When Kubernetes runs a CronJob: by robfig/cron v3 (`parser.go`, `spec.go`), which its controller asks.

A schedule fires in each minute whose local time matches: not in a gap of the clock, and twice where the clock repeats
the minute, whatever the expression. Two differences from crontab(5): `5/15` means `5-59/15`, and `*/2` counts as a
restricted field, so that beside a weekday one of the two is enough.
"""

import re
from typing import Final

from timeball.importing.definitions import UnreadableError
from timeball.importing.origins.dialects import (
    DATES_FIELD,
    HOURS_FIELD,
    MINUTES_FIELD,
    MONTHS_FIELD,
    WEEKDAYS_FIELD,
    Dialect,
)
from timeball.importing.origins.walls import Wall, both_days, either_day

_ROBFIG: Final = Dialect("Kubernetes", question_mark=True, step_from_value=True)
_ZONE: Final = re.compile(r"(?:CRON_)?TZ=(\S+)\s+(.*)", re.ASCII)
_EVERY: Final = re.compile(r"@every\s+((?:\d+(?:\.\d+)?(?:ns|us|ms|h|m|s))+)", re.ASCII)
_PART: Final = re.compile(r"(\d+(?:\.\d+)?)(ns|us|ms|h|m|s)", re.ASCII)
_SECONDS: Final = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
_FREE: Final = re.compile(r"[*?](?:/0*1)?", re.ASCII)

DESCRIPTORS: Final = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
"""What the descriptors stand for."""


def zone_and_rest(schedule: str) -> tuple[str | None, str]:
    """Split a schedule into the zone of its prefix `TZ=` or `CRON_TZ=`, if it has one, and the rest."""
    match = _ZONE.fullmatch(schedule.strip())
    return (match[1], match[2].strip()) if match else (None, schedule.strip())


def every_seconds(schedule: str) -> int | None:
    """Return the seconds of `@every 1h30m`, at least one; None: it is no such schedule."""
    match = _EVERY.fullmatch(schedule)
    if not match:
        return None
    return max(1, int(sum(float(number) * _SECONDS[unit] for number, unit in _PART.findall(match[1]))))


def read_robfig(texts: tuple[str, ...]) -> tuple[Wall, frozenset[int], frozenset[int]]:
    """Read the five fields: the minutes that they name, and the values of the two day fields.

    Raises UnreadableError.
    """
    minute, hour, date, month, weekday = texts
    dates, weekdays = _ROBFIG.read(date, DATES_FIELD), _ROBFIG.read(weekday, WEEKDAYS_FIELD)
    is_free = any(_FREE.fullmatch(item) for text in (date, weekday) for item in text.split(","))
    days = (both_days if is_free else either_day)(dates, weekdays)
    wall = Wall(
        _ROBFIG.read(minute, MINUTES_FIELD), _ROBFIG.read(hour, HOURS_FIELD), _ROBFIG.read(month, MONTHS_FIELD), days
    )
    return wall, dates, weekdays


def five_fields(schedule: str) -> tuple[str, ...]:
    """Return the five fields of a schedule without its zone. Raises UnreadableError."""
    text = DESCRIPTORS.get(schedule, schedule)
    fields = tuple(text.split())
    if text.startswith("@") or len(fields) != 5:
        raise UnreadableError(f'Kubernetes refuses the schedule "{schedule}", so it has never run this.')
    return fields
