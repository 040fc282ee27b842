"""Time zones from the pinned `tzdata` package, never from the machine, as periods of constant offset.

A zone is a sequence of periods. Its clock shows local times (seconds, counted as if they were UTC) that run
on within a period and jump between two: forwards over a gap, or back, and then a stretch of local time is
shown twice.

Invariant, tested for every zone: a period is longer than the steps at its ends. So no local time is shown
three times or both skipped and shown, and the local starts of the periods only increase.
"""

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NoReturn

from timeball.domain.time.errors import InvalidSchedule
from timeball.domain.time.tzif import read_changes

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

_BEFORE_ALL: Final = -(1 << 62)
_AFTER_ALL: Final = 1 << 62
_FIXED_OFFSET: Final = re.compile(r"(?:UTC|GMT)?([+-])0?(\d{1,2})(?::?00)?", re.ASCII)


@dataclass(frozen=True, slots=True, eq=False)
class Zone:
    """Hold a zone's periods, in order of time; all numbers are seconds, and the tuples run in parallel.

    Zones compare by identity; `load_zone` gives the same one for the same name.
    """

    name: str
    starts: tuple[int, ...]
    """The instant (UTC) at which each period begins."""
    offsets: tuple[int, ...]
    """Local time minus UTC, in each period."""
    local_starts: tuple[int, ...]
    """The local time at which each period begins."""
    local_ends: tuple[int, ...]
    """The local time at which each period ends (the first that it does not show)."""
    reached: tuple[int, ...]
    """The first local time not shown before: a gap if it is below the local start, a repeat if above."""

    def period_at(self, instant: int) -> int:
        """Find the index of the period that holds an instant (seconds UTC)."""
        return bisect_right(self.starts, instant) - 1

    def offset_at(self, at: int) -> int:
        """Give local time minus UTC, in seconds, at an instant in ms."""
        return self.offsets[self.period_at(at // 1000)]


@lru_cache(maxsize=256)
def load_zone(name: str) -> Zone:
    """Load a zone by its IANA name.

    Raises InvalidSchedule on an unknown name; the text gives the nearest valid one.
    """
    if name not in _names():
        _reject(name)
    first_offset, changes = read_changes(_data().joinpath("zoneinfo", *name.split("/")).read_bytes())
    starts = (_BEFORE_ALL, *(instant for instant, _ in changes))
    offsets = (first_offset, *(offset for _, offset in changes))
    local_starts = tuple(start + offset for start, offset in zip(starts, offsets, strict=True))
    local_ends = tuple(end + offset for end, offset in zip((*starts[1:], _AFTER_ALL), offsets, strict=True))
    reached = (_BEFORE_ALL, *local_ends[:-1])
    return Zone(name, starts, offsets, (_BEFORE_ALL, *local_starts[1:]), local_ends, reached)


@lru_cache(maxsize=1)
def tzdata_version() -> str:
    """Name the release of the time zone database in use, such as `2026a`."""
    with _data().joinpath("zoneinfo", "tzdata.zi").open(encoding="ascii") as source:
        return source.readline().removeprefix("# version ").strip()


def _data() -> "Traversable":
    from importlib.resources import files  # noqa: PLC0415 - costs as much as all of this package

    return files("tzdata")


@lru_cache(maxsize=1)
def _names() -> frozenset[str]:
    return frozenset(_data().joinpath("zones").read_text("ascii").split())


def _reject(name: str) -> NoReturn:
    shown = name if len(name) <= 64 else f"{name[:61]}..."
    raise InvalidSchedule(f'The time zone "{shown}" is unknown; write {_advice(shown)}.')


def _advice(name: str) -> str:
    """Suggest the valid name that was probably meant."""
    if match := _FIXED_OFFSET.fullmatch(name.strip().upper()):
        fixed = f"Etc/GMT{'-' if match[1] == '+' else '+'}{match[2]}"
        if fixed in _names():
            return f'"{fixed}" (such names count hours west of Greenwich)'
    nearest = _nearest(name.strip().replace(" ", "_").lower())
    return f'"{nearest}"' if nearest else 'an IANA name, such as "Europe/Berlin" or "UTC"'


def _nearest(wanted: str) -> str | None:
    from difflib import get_close_matches  # noqa: PLC0415 - for a mistake only

    by_name = {name.lower(): name for name in sorted(_names())}
    if wanted in by_name:
        return by_name[wanted]
    # The name most like an abbreviation is another abbreviation, hours away.
    if len(wanted) <= 4:
        return None
    by_city = {lower.rpartition("/")[2]: name for lower, name in by_name.items()}
    for known in (by_city, by_name) if "/" not in wanted else (by_name, by_city):
        if close := get_close_matches(wanted, known, n=1):
            return known[close[0]]
    return None
