"""Time zones from the pinned `tzdata` package, never from the machine, as periods of constant offset.

A zone is a sequence of periods. Its clock shows local times (seconds, counted as if they were UTC) that run on within a
period and jump between two periods: forwards over a gap, or back, so that a stretch of local time is shown twice.

Invariant, tested for every zone: a period is longer than the jumps at its ends. So no local time is shown three times,
or is both skipped and shown, and the local starts of the periods only increase.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Final, NoReturn, cast

from timeball.domain.time.instants import InvalidSchedule

_BEFORE_ALL: Final = -(1 << 62)
_AFTER_ALL: Final = 1 << 62

_EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001 - local times, all three
_FIRST: Final = datetime(1840, 1, 1)  # noqa: DTZ001 - no zone had changed its clocks
_END: Final = datetime(2400, 1, 1)  # noqa: DTZ001 - later changes are not listed
_SECOND: Final = timedelta(seconds=1)
_BETWEEN_CHANGES: Final = timedelta(days=6)
"""No zone changes its clocks twice within this time; a test checks every zone."""

_FIXED_OFFSET: Final = re.compile(r"(?:UTC|GMT)?([+-])0?(\d{1,2})(?::?00)?", re.ASCII)


@dataclass(frozen=True, slots=True, eq=False)
class Zone:
    """A zone's periods, in order of time. All numbers are seconds, and the tuples run in parallel.

    Zones compare by identity; `load_zone` returns the same zone for the same name.
    """

    name: str
    """The IANA name."""
    starts: tuple[int, ...]
    """The instant (UTC) at which each period begins."""
    offsets: tuple[int, ...]
    """Local time minus UTC, in each period."""
    local_starts: tuple[int, ...]
    """The local time at which each period begins."""
    reached: tuple[int, ...]
    """The first local time not shown before a period: below its local start after a gap, above it after a repeat. It
    has one entry more than there are periods: a period ends where the next entry is."""

    def period_at(self, instant: int) -> int:
        """Return the index of the period that contains an instant (seconds UTC)."""
        return bisect_right(self.starts, instant) - 1


@lru_cache(maxsize=256)
def load_zone(name: str) -> Zone:
    """Return a zone by its IANA name. Loading takes some milliseconds, so zones are cached.

    Raises InvalidSchedule for an unknown name; its text suggests the nearest valid name.
    """
    if name not in _names():
        _reject(name)
    starts, offsets = zip(*_periods(name), strict=True)
    local_starts = (_BEFORE_ALL, *map(sum, zip(starts[1:], offsets[1:], strict=True)))
    reached = (_BEFORE_ALL, *map(sum, zip(starts[1:], offsets, strict=False)), _AFTER_ALL)
    return Zone(name, starts, offsets, local_starts, reached)


def tzdata_version() -> str:
    """Return the release of the time zone database in use, such as `2026a`."""
    from tzdata import IANA_VERSION  # type: ignore[import-untyped] # noqa: PLC0415 - as below

    return str(IANA_VERSION)


def _data() -> Path:
    import tzdata  # noqa: PLC0415 - a process that needs no zone pays for none

    return Path(tzdata.__file__).parent


def _periods(name: str) -> Iterator[tuple[int, int]]:
    """Yield the start of each period and its offset, from zoneinfo.

    zoneinfo returns the offset of a local time. For a local time that is shown twice, or never, it is the offset from
    before the change. So the offset changes at the end of the repeat, or of the gap.
    """
    from zoneinfo import ZoneInfo  # noqa: PLC0415 - as above

    with _data().joinpath("zoneinfo", *name.split("/")).open("rb") as file:
        offset_at = cast("Callable[[datetime], timedelta]", ZoneInfo.from_file(file).utcoffset)
    offsets = list(map(offset_at, _samples()))
    yield _BEFORE_ALL, offsets[0] // _SECOND
    for sample, (before, after) in zip(_samples(), pairwise(offsets), strict=False):
        if before != after:
            seconds = range(_BETWEEN_CHANGES // _SECOND)
            unchanged = bisect_left(seconds, x=True, key=lambda s: offset_at(sample + s * _SECOND) != before)
            changed_at = sample + unchanged * _SECOND - max(before, after)
            yield (changed_at - _EPOCH) // _SECOND, after // _SECOND


@lru_cache(maxsize=1)
def _samples() -> tuple[datetime, ...]:
    """Return local times so close to each other that no zone changes its clocks twice between two of them."""
    return tuple(_FIRST + number * _BETWEEN_CHANGES for number in range((_END - _FIRST) // _BETWEEN_CHANGES + 2))


@lru_cache(maxsize=1)
def _names() -> frozenset[str]:
    return frozenset((_data() / "zones").read_text("ascii").split())


def _reject(name: str) -> NoReturn:
    shown = name if len(name) <= 64 else f"{name[:61]}..."
    raise InvalidSchedule(f'The time zone "{shown}" is unknown; write {_advice(shown)}.')


def _advice(name: str) -> str:
    """Return the valid name that was probably meant."""
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
