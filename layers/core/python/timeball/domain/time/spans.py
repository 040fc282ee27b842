"""Stretches of time, such as the days of a calendar: each from its start up to its end, which is no part of it.

Invariant: they are in order, and apart from each other; so an instant lies in one of them at most.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from timeball.domain.time.instants import DAY_MS, LATEST, SECOND_MS
from timeball.domain.time.zones import load_zone

_DAY_SECONDS = DAY_MS // SECOND_MS


@dataclass(frozen=True)
class Spans:
    """Where the stretches begin and end (ms); the tuples run in parallel."""

    starts: tuple[int, ...] = ()
    ends: tuple[int, ...] = ()

    def start_of(self, at: int) -> int | None:
        """Return where the stretch begins that holds an instant; None if none does."""
        position = self._position(at)
        return None if position is None else self.starts[position]

    def end_of(self, at: int) -> int | None:
        """Return where the stretch ends that holds an instant; None if none does."""
        position = self._position(at)
        return None if position is None else self.ends[position]

    def next_edge(self, at: int) -> int:
        """Return the first instant after `at` at which a stretch begins or ends; LATEST if there is none."""
        end_at = self.end_of(at)
        position = bisect_right(self.starts, at)
        return end_at if end_at is not None else self.starts[position] if position < len(self.starts) else LATEST

    def _position(self, at: int) -> int | None:
        position = bisect_right(self.starts, at) - 1
        return position if position >= 0 and at < self.ends[position] else None


NO_TIME = Spans()


def spans_of(parts: Iterable[tuple[int, int]]) -> Spans:
    """Return stretches in any order as such that are apart: what meets or overlaps is one."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(parts):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        elif start < end:
            merged.append((start, end))
    return Spans(tuple(start for start, _ in merged), tuple(end for _, end in merged))


@lru_cache(maxsize=64)
def local_days(timezone: str, days: tuple[tuple[int, int], ...]) -> Spans:
    """Return when clocks in a zone show a date of these: each from a first to a last day number, both included.

    Where clocks go back over midnight the day before is shown again: a date is then more than one stretch.
    """
    return spans_of(part for first, last in days for part in _shown(timezone, first, last))


def _shown(timezone: str, first: int, last: int) -> Iterator[tuple[int, int]]:
    zone = load_zone(timezone)
    from_local, to_local = first * _DAY_SECONDS, (last + 1) * _DAY_SECONDS
    # No clock is as much as two days off: only these periods may show the dates.
    near = range(zone.period_at(from_local - 2 * _DAY_SECONDS), zone.period_at(to_local + 2 * _DAY_SECONDS) + 1)
    for period in near:
        start = max(from_local - zone.offsets[period], zone.starts[period])
        following = zone.starts[period + 1] if period + 1 < len(zone.starts) else to_local + _DAY_SECONDS
        end = min(to_local - zone.offsets[period], following)
        if start < end:
            yield start * SECOND_MS, end * SECOND_MS
