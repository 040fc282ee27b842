"""A cron expression, parsed once: its fields become sets, and the two day fields become one set per month shape.

The rules of cronie (crontab(5)) apply wherever cronie has one:
- Day-of-month and day-of-week both restricted: a day matches if *either* does; otherwise it must match both (see
  cron_days.py for what counts as restricted).
- Sunday is 0 and 7, and a range runs upwards: `FRI-SUN` is 5-7, `FRI-MON` is refused.
- An expression is *interval-like* if its minute or hour has a `*` or a step, and *fixed* otherwise; stepper.py treats
  the two differently when clocks change.
"""

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, NoReturn

from timeball.domain.time import calendar
from timeball.domain.time.cron_days import read_days
from timeball.domain.time.cron_field import HOUR, MINUTE, MONTH, read_values, reject

MAX_EXPRESSION_LENGTH: Final = 256

_NICKNAMES: Final = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_YEAR: Final = re.compile(r"(19|20|21)\d\d\b.*", re.ASCII)


@dataclass(frozen=True, slots=True)
class CronFields:
    """The meaning of an expression: bit sets of minutes, hours and months (bit 1 = January), and of days.

    Expressions with the same meaning are equal.
    """

    minutes: int
    """The minutes, as a bit set."""
    hours: int
    """The hours, as a bit set."""
    months: int
    """The months, as a bit set: bit 1 is January."""
    days: tuple[int, ...]
    """`days[shape]` is the set of matching days of a month of that shape (see calendar.py)."""
    fixed: bool
    """Neither minute nor hour has a `*` or a step: the schedule names times of day, not an interval."""
    first_time: int
    """The earliest matching time of a day, in minutes."""
    expression: str = field(compare=False)
    """The expression as it was written, without surrounding blanks."""


@lru_cache(maxsize=4096)
def parse_cron(expression: str) -> CronFields:
    """Return the meaning of a five-field cron expression or a nickname.

    Raises InvalidSchedule, whose text says what to write instead.
    """
    if len(expression) > MAX_EXPRESSION_LENGTH:
        reject(
            f"The cron expression has {len(expression)} characters",
            f"at most {MAX_EXPRESSION_LENGTH}, or split it into several jobs",
        )
    source = expression.strip()
    minute, hour, day_of_month, month, day_of_week = _split(source)
    minutes = read_values(minute, MINUTE)
    hours = read_values(hour, HOUR)
    months = read_values(month, MONTH)
    days = read_days(day_of_month, day_of_week)
    if not _ever_fires(months, days):
        reject(
            f'"{source}" never fires, because its months have no such day',
            "a day that they have, or L for the last day of the month",
        )
    return CronFields(
        minutes=minutes,
        hours=hours,
        months=months,
        days=days,
        fixed=not any(sign in minute + hour for sign in "*/"),
        first_time=_lowest(hours) * 60 + _lowest(minutes),
        expression=source,
    )


def _lowest(bits: int) -> int:
    return (bits & -bits).bit_length() - 1


def _split(source: str) -> list[str]:
    if not source:
        reject("The cron expression is empty", 'five fields, such as "0 9 * * MON-FRI"')
    for character in source:
        if not (" " <= character <= "~" or character == "\t"):
            reject(
                f"The cron expression contains the character U+{ord(character):04X}",
                "only digits, English names and the signs * , - / ? #",
            )
    if source.startswith("@"):
        return _expand(source.lower()).split()
    fields = source.upper().split()
    if len(fields) != 5:
        _reject_count(source.split())
    return fields


def _expand(nickname: str) -> str:
    if nickname == "@reboot":
        reject(
            "@reboot names no instant, because nothing here boots",
            "@hourly or @daily, or trigger the job by hand",
        )
    if nickname not in _NICKNAMES:
        reject(f'"{nickname}" is no known nickname', f"five fields or one of {', '.join(_NICKNAMES)}")
    return _NICKNAMES[nickname]


def _reject_count(fields: list[str]) -> NoReturn:
    count = len(fields)
    if count == 7:
        reject(
            "The cron expression has seven fields, with seconds and a year",
            f'"{" ".join(fields[1:6])}" with weekdays by name, and bound it with startAt and endAt',
        )
    if count == 6 and (_YEAR.fullmatch(fields[5]) or "?" in (fields[2], fields[4])):
        reject(
            "The cron expression has six fields, the last of them a year",
            f'"{" ".join(fields[:5])}" with weekdays by name, and bound it with startAt and endAt',
        )
    if count == 6:
        reject(
            "The cron expression has six fields, the first of them seconds",
            f'"{" ".join(fields[1:])}", or use everySeconds for less than a minute',
        )
    reject(
        f"The cron expression has {count} field{'s' if count > 1 else ''}",
        "five: minute, hour, day-of-month, month and day-of-week",
    )


def _ever_fires(months: int, days: tuple[int, ...]) -> bool:
    """Say whether any month of the set has a matching day, in any year."""
    return any(
        months >> month & 1 and any(days[shape] for shape in calendar.shapes_of(month)) for month in range(1, 13)
    )
