"""Counts by the hour: by tenant, subject (such as a priority) and name; and the figures that they add up to.

Counts are only ever added to. Lateness is counted in a histogram, whose buckets are the same everywhere and never
change, so that they add up too. From 10 ms on each bucket ends at most a third above the previous one. So a percentile
is known to within a third, and the share that was on time is exact where a bucket ends: at 1, 5 and 30 s.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from timeball.domain.time.instants import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS

UNKNOWN_TENANT: Final = ""
"""The tenant of counts whose tenant is unknown."""

CALLERS: Final = "callers"
"""The subject of counts of requests; all other subjects so far are the priorities of runs."""

KEPT_DAYS: Final = 40

MISSED: Final = "FiresMissed"
"""The name of the count of fires that were due while Timeball ran nothing, and that their catch-up policy skipped."""

SHORT_MS: Final = 5 * MINUTE_MS
"""The windows below an hour begin with a multiple of this since the hour; the others begin with an hour."""

WINDOWS: Final = {
    "fiveMinutes": SHORT_MS,
    "halfHour": 30 * MINUTE_MS,
    "hour": HOUR_MS,
    "sixHours": 6 * HOUR_MS,
    "day": DAY_MS,
    "threeDays": 3 * DAY_MS,
    "month": 30 * DAY_MS,
}
"""How far back each window reaches from now, at least."""

ON_TIME_SECONDS: Final = (1, 5, 30)

_STEPS: Final = (10, 12, 15, 20, 25, 30, 40, 50, 60, 80)

_DECADES: Final[int] = 8

BOUNDS: Final[tuple[int, ...]] = tuple(step * 10**decade for decade in range(_DECADES) for step in _STEPS)
"""The ends of the buckets (ms, included). Lateness beyond the last bound, 9 days, counts as that bound."""

Counts = Mapping[str, int]
"""Counts by name. A name is that of a metric, and after a dot its reason, or the bucket of a timing."""


@dataclass(frozen=True, order=True)
class HourKey:
    """The name of an hour's counts."""

    tenant: str
    """The tenant."""
    began_at: int
    """When the hour began (ms)."""
    subject: str
    """What the counts are about."""


@dataclass(frozen=True)
class Figures:
    """The figures of a span of time."""

    started: int
    """Runs that started."""
    succeeded: int
    """Runs that succeeded."""
    retried: int
    """Attempts that were followed by another."""
    dead: int
    """Runs that failed for good."""
    skipped: int
    """Fires that were skipped."""
    late: Mapping[int, int]
    """The lateness of first attempts as a histogram: counts by the upper bounds of its buckets (ms)."""
    missed: int = 0
    """Fires that were skipped because Timeball ran nothing when they were due."""
    overdue: tuple[int, ...] = ()
    """How late (ms) the starts are by now that are due and have not happened."""
    is_coarse: bool = False
    """The buckets of lateness are those of ON_TIME_SECONDS alone, too few for percentiles."""

    @property
    def failure_rate(self) -> float | None:
        """The share of failures among the runs that succeeded or failed for good; None if there are none."""
        ended = self.succeeded + self.dead
        return self.dead / ended if ended else None

    def percentile_ms(self, part: float) -> int | None:
        """Return the lateness that a part of the runs did not exceed (ms); None if there are none.

        An overdue start counts with its lateness so far.
        """
        so_far = Counter(map(bucket_of, self.overdue))
        return None if self.is_coarse else percentile(so_far + Counter(self.late), part)

    def on_time(self) -> dict[int, float | None]:
        """Return the share of starts that were at most this many seconds late, for each of ON_TIME_SECONDS.

        A missed fire was not on time. An overdue start is not, as soon as it is later than that.
        """
        return {seconds: self._on_time(seconds * SECOND_MS) for seconds in ON_TIME_SECONDS}

    def _on_time(self, within_ms: int) -> float | None:
        not_started = self.missed + sum(late_ms > within_ms for late_ms in self.overdue)
        return on_time(self.late, within_ms, not_started)


def hour_of(at: int) -> int:
    """Return when the hour of an instant began (ms)."""
    return at - at % HOUR_MS


def window_from(window: str, now: int) -> int:
    """Return when a window begins (ms)."""
    from_at = now - WINDOWS[window]
    return max(0, from_at - from_at % SHORT_MS if is_short(window) else hour_of(from_at))


def is_short(window: str) -> bool:
    """Return whether a window is shorter than an hour."""
    return WINDOWS[window] < HOUR_MS


def added(hours: Iterable[Counts]) -> Counter[str]:
    """Return the sum of all counts."""
    total: Counter[str] = Counter()
    for counts in hours:
        total.update(counts)
    return total


def of_reasons(counts: Counts, name: str) -> dict[str, int]:
    """Return the counts of a metric by the text after its dot: reasons, or the buckets of a timing."""
    parted = [(one.partition("."), count) for one, count in counts.items()]
    return {detail: count for (metric, _, detail), count in parted if metric == name and detail}


def bucket_of(late_ms: int) -> int:
    """Return the bound of the bucket of a lateness."""
    return BOUNDS[min(bisect_left(BOUNDS, late_ms), len(BOUNDS) - 1)]


def percentile(histogram: Mapping[int, int], part: float) -> int | None:
    """Return the lateness (ms) that a part of all did not exceed, as the bound of a bucket; None if there are none."""
    left = part * sum(histogram.values())
    for bound in sorted(histogram):
        left -= histogram[bound]
        if left <= 0:
            return bound
    return None


def on_time(histogram: Mapping[int, int], within_ms: int, others: int = 0) -> float | None:
    """Return the share that was not later than a bound, of all and of others that were; None if there are none."""
    total = sum(histogram.values()) + others
    return sum(count for bound, count in histogram.items() if bound <= within_ms) / total if total else None
