"""The time zone file format (RFC 9636), read into the instants at which a zone's offset from UTC changes.

A file lists the changes of the past and ends with a rule for all later years (a POSIX TZ string). Here both
become one list, up to the year 2400. Instants are whole seconds UTC, offsets are seconds east of Greenwich.
"""

import re
import struct
from collections.abc import Iterator
from typing import Final

from timeball.domain.time.calendar import civil, day_number, is_leap, month_length, weekday

END_YEAR: Final = 2400
"""The first year whose changes are not listed."""

Changes = list[tuple[int, int]]
"""(instant, offset from then on), in order of time; neighbours differ in offset."""

_HEADER: Final = struct.Struct(">4sc15x6l")
_TYPE: Final = struct.Struct(">lBB")
_DAY_SECONDS: Final = 86400

_NAME: Final = r"(?:[A-Za-z]{3,}|<[-+A-Za-z0-9]{3,}>)"
_TIME: Final = r"[-+]?\d{1,3}(?::\d{2}){0,2}"
_FOOTER: Final = re.compile(
    rf"{_NAME}(?P<standard>{_TIME})(?:{_NAME}(?P<summer>{_TIME})?,(?P<begin>[^,]+),(?P<end>[^,]+))?", re.ASCII
)
_WEEKDAY_RULE: Final = re.compile(r"M(\d+)\.(\d+)\.(\d+)", re.ASCII)


def read_changes(data: bytes) -> tuple[int, Changes]:
    """Read a file: the offset before its first change, and the changes before END_YEAR.

    Raises ValueError on data that is no time zone file of version 2 or later.
    """
    magic, version, *_ = _HEADER.unpack_from(data)
    if magic != b"TZif" or version < b"2":
        raise ValueError("not a time zone file of version 2 or later")
    # The first block, with 32-bit times, is for old readers; the second holds the same and more.
    start = _block_end(data, 0, 4)
    end = _block_end(data, start, 8)
    _, _, _, _, _, change_count, type_count, _ = _HEADER.unpack_from(data, start)
    instants_at = start + _HEADER.size
    kinds_at = instants_at + 8 * change_count
    types_at = kinds_at + change_count
    instants = struct.unpack_from(f">{change_count}q", data, instants_at)
    offsets = [_TYPE.unpack_from(data, types_at + _TYPE.size * index)[0] for index in range(type_count)]
    changes = [(instant, offsets[kind]) for instant, kind in zip(instants, data[kinds_at:types_at], strict=True)]
    footer = data[end:].decode("ascii").strip()
    if footer:
        last = instants[-1] if instants else day_number(1970, 1, 1) * _DAY_SECONDS
        changes += [change for change in _rule_changes(footer, civil(last // _DAY_SECONDS)[0]) if change[0] > last]
    return offsets[0], _distinct(offsets[0], changes)


def _block_end(data: bytes, start: int, time_size: int) -> int:
    _, _, ut_count, standard_count, leap_count, change_count, type_count, name_size = _HEADER.unpack_from(data, start)
    return int(
        start
        + _HEADER.size
        + change_count * (time_size + 1)
        + type_count * _TYPE.size
        + name_size
        + leap_count * (time_size + 4)
        + standard_count
        + ut_count
    )


def _distinct(first: int, changes: Changes) -> Changes:
    """Drop the changes of name or summer-time flag only, which move no clock."""
    distinct: Changes = []
    offset = first
    for instant, new in changes:
        if new != offset:
            distinct.append((instant, new))
            offset = new
    return distinct


def _rule_changes(footer: str, from_year: int) -> Iterator[tuple[int, int]]:
    """List the changes that a POSIX TZ string makes from a year on."""
    rule = _FOOTER.fullmatch(footer)
    if not rule:
        raise ValueError(f"not a POSIX TZ string: {footer}")
    # POSIX counts offsets west of Greenwich.
    standard = -_seconds(rule["standard"])
    if rule["begin"] is None:
        return
    summer = -_seconds(rule["summer"]) if rule["summer"] else standard + 3600
    for year in range(from_year, END_YEAR):
        begin = _local_instant(rule["begin"], year) - standard
        end = _local_instant(rule["end"], year) - summer
        yield from sorted(((begin, summer), (end, standard)))


def _seconds(text: str) -> int:
    hours, minutes, seconds = (*text.lstrip("+-").split(":"), "0", "0")[:3]
    total = int(hours) * 3600 + int(minutes) * 60 + int(seconds)
    return -total if text.startswith("-") else total


def _local_instant(rule: str, year: int) -> int:
    """Find the local time of a rule such as `M3.5.0/2`, `J60` or `59`, as if local time were UTC."""
    date, _, time = rule.partition("/")
    return _rule_day(date, year) * _DAY_SECONDS + _seconds(time or "2")


def _rule_day(date: str, year: int) -> int:
    if match := _WEEKDAY_RULE.fullmatch(date):
        month, week, wanted = (int(number) for number in match.groups())
        first = day_number(year, month, 1)
        day = first + (wanted - weekday(first)) % 7 + (week - 1) * 7
        return day if day < first + month_length(year, month) else day - 7
    if date.startswith("J"):
        # Counted from 1 and without 29 February.
        nth = int(date[1:])
        return day_number(year, 1, 1) + nth - 1 + (nth >= 60 and is_leap(year))
    return day_number(year, 1, 1) + int(date)
