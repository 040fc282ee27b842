"""Lateness is counted in buckets that add up; a percentile of them is exact to within a third."""

from itertools import pairwise
from random import Random

import pytest

from timeball.domain.time.instants import DAY_MS
from timeball.domain.usage.hours import BOUNDS, Figures, bucket_of, of_reasons, on_time, percentile


def test_each_bucket_ends_at_most_a_third_above_the_one_before() -> None:
    assert {1_000, 5_000, 30_000} < set(BOUNDS)
    assert all(1 < after / before <= 4 / 3 for before, after in pairwise(BOUNDS))
    assert BOUNDS[-1] > 9 * DAY_MS


@pytest.mark.parametrize(
    ("late_ms", "bound"),
    [(-3, 10), (0, 10), (10, 10), (11, 12), (999, 1_000), (1_000, 1_000), (1_001, 1_200), (10**12, BOUNDS[-1])],
)
def test_a_lateness_is_in_the_first_bucket_that_does_not_end_before_it(late_ms: int, bound: int) -> None:
    assert bucket_of(late_ms) == bound


@pytest.mark.parametrize("part", [0.5, 0.99, 1.0])
def test_a_percentile_is_never_too_low_and_at_most_a_third_too_high(part: float) -> None:
    random = Random(7)  # noqa: S311 - a draw that is the same each time
    late = sorted(int(random.lognormvariate(6, 2)) + 10 for _ in range(999))
    histogram: dict[int, int] = {}
    for one in late:
        histogram[bucket_of(one)] = histogram.get(bucket_of(one), 0) + 1
    exact = late[min(int(part * 999), 998)]
    assert exact <= (percentile(histogram, part) or 0) <= exact * 4 / 3 + 1
    assert on_time(histogram, 1_000) == sum(one <= 1_000 for one in late) / 999


def test_without_counts_there_is_no_percentile() -> None:
    none = Figures(0, 0, 0, 0, 0, {})
    assert none.percentile_ms(0.5) is None
    assert none.failure_rate is None
    assert none.on_time() == {1: None, 5: None, 30: None}


def test_the_failure_rate_is_that_of_runs_and_not_of_attempts() -> None:
    assert Figures(started=9, succeeded=6, retried=50, dead=2, skipped=3, late={}).failure_rate == 0.25


def test_counts_are_told_apart_by_the_part_after_their_dot() -> None:
    assert of_reasons({"A.x": 1, "A.y": 2, "AB.x": 4, "A": 8}, "A") == {"x": 1, "y": 2}
