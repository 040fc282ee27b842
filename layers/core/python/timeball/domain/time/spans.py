"""Spans of time, such as the days of a calendar: each from its start up to its end, which is excluded.

Invariant: they are in order and do not touch each other, so an instant lies in one of them at most.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from timeball.domain.time.cron import parse_cron
from timeball.domain.time.instants import DAY_MS, LATEST, MINUTE_MS, SECOND_MS
from timeball.domain.time.stepper import DstOverlap, Gap, next_fire
from timeball.domain.time.zones import load_zone

_DAY_SECONDS = DAY_MS // SECOND_MS


@dataclass(frozen=True)
class Spans:
    """The starts and ends of spans; the tuples run in parallel."""

    starts: tuple[int, ...] = ()
    """When each begins (ms)."""
    ends: tuple[int, ...] = ()
    """When each ends (ms), excluded."""

    def start_of(self, at: int) -> int | None:
        """Return the start of the span that contains an instant; None if none does."""
        position = self._position(at)
        return None if position is None else self.starts[position]

    def end_of(self, at: int) -> int | None:
        """Return the end of the span that contains an instant; None if none does."""
        position = self._position(at)
        return None if position is None else self.ends[position]

    def next_edge(self, at: int) -> int:
        """Return the first instant after `at` at which a span begins or ends; LATEST if there is none."""
        end_at = self.end_of(at)
        position = bisect_right(self.starts, at)
        return end_at if end_at is not None else self.starts[position] if position < len(self.starts) else LATEST

    def _position(self, at: int) -> int | None:
        position = bisect_right(self.starts, at) - 1
        return position if position >= 0 and at < self.ends[position] else None


NO_TIME = Spans()


def spans_of(parts: Iterable[tuple[int, int]]) -> Spans:
    """Return ordered, separate spans from spans in any order: spans that touch or overlap are merged."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(parts):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        elif start < end:
            merged.append((start, end))
    return Spans(tuple(start for start, _ in merged), tuple(end for _, end in merged))


@lru_cache(maxsize=64)
def local_days(timezone: str, days: tuple[tuple[int, int], ...]) -> Spans:
    """Return when clocks in a zone show any of the dates: each pair is a first and a last day number, both included.

    If clocks go back over midnight, the previous day is shown again: a date may then have more than one span.
    """
    return spans_of(part for first, last in days for part in _shown(timezone, first, last))


def _shown(timezone: str, first: int, last: int) -> Iterator[tuple[int, int]]:
    zone = load_zone(timezone)
    from_local, to_local = first * _DAY_SECONDS, (last + 1) * _DAY_SECONDS
    # Every offset is less than two days, so only these periods may show the dates.
    near = range(zone.period_at(from_local - 2 * _DAY_SECONDS), zone.period_at(to_local + 2 * _DAY_SECONDS) + 1)
    for period in near:
        start = max(from_local - zone.offsets[period], zone.starts[period])
        following = zone.starts[period + 1] if period + 1 < len(zone.starts) else to_local + _DAY_SECONDS
        end = min(to_local - zone.offsets[period], following)
        if start < end:
            yield start * SECOND_MS, end * SECOND_MS


_MINUTES_OF_A_DAY = 1440


def same_time_later(at: int, timezone: str) -> Iterator[int]:
    """Yield when clocks show the same time as at an instant (ms), once on each later day, however long the day is.

    If clocks skip the time, it is the instant at which they have skipped it; if they show it twice, it is the first.
    """
    zone = load_zone(timezone)
    instant = at // SECOND_MS
    local = instant + zone.offsets[zone.period_at(instant)]
    past_ms = local * SECOND_MS % MINUTE_MS + at % SECOND_MS
    hour, minute = divmod(local // 60 % _MINUTES_OF_A_DAY, 60)
    daily = parse_cron(f"{minute} {hour} * * *")
    later: int | None = at - past_ms
    while later is not None and (later := next_fire(daily, zone, later, Gap.NEXT, DstOverlap.FIRST)) is not None:
        yield later + past_ms
