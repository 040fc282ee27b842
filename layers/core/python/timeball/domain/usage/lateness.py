"""Lateness as a histogram: its buckets are the same everywhere and never change, so that their counts add up.

From 10 ms on each bucket ends at most a third above the previous one. So a percentile is known to within a third, and
the share that was on time is exact where a bucket ends: at 1, 5 and 30 s.
"""

from bisect import bisect_left
from collections.abc import Mapping
from typing import Final

_STEPS: Final = (10, 12, 15, 20, 25, 30, 40, 50, 60, 80)
_DECADES: Final[int] = 8

BOUNDS: Final[tuple[int, ...]] = tuple(step * 10**decade for decade in range(_DECADES) for step in _STEPS)
"""The ends of the buckets (ms, included). Lateness beyond the last bound, 9 days, counts as that bound."""


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


def on_time(histogram: Mapping[int, int], within_ms: int) -> float | None:
    """Return the share that was not later than a bound; None if there are none."""
    total = sum(histogram.values())
    return sum(count for bound, count in histogram.items() if bound <= within_ms) / total if total else None
