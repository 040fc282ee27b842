"""The number of pollers rises at once to what the fullest second needs, and falls only after a while of lower need."""

import pytest

from timeball.domain.sharing.executors import KEPT_MS, PollerBounds, Ready, decide, wanted
from timeball.domain.time.instants import SECOND_MS

NOW = 1_000_000_000
BOUNDS = PollerBounds(7, 105)


@pytest.mark.parametrize(
    ("instants", "shards", "pollers"),
    [
        ([], 64, 0),
        ([NOW], 64, 10),  # tens are enough: they change seldom
        ([NOW] * 100, 10, 10),  # a poller for a hundred runs of one second
        ([NOW] * 101, 10, 20),
        ([NOW + second * SECOND_MS for second in range(300)] * 10, 10, 10),  # many, but few in each second
        ([NOW] * 782 + [NOW + SECOND_MS] * 10, 128, 1010),
    ],
)
def test_the_fullest_second_of_one_shard_decides_the_number_of_pollers(
    instants: list[int], shards: int, pollers: int
) -> None:
    assert wanted(instants, shards) == pollers


@pytest.mark.parametrize(
    ("ready", "kept_for_ms", "wants", "after"),
    [
        (7, 0, 0, 7),  # nothing is due
        (7, KEPT_MS, 60, 60),  # more are provided at once
        (7, KEPT_MS, 1010, 105),  # but at most the upper bound
        (60, 1, 50, 60),  # fewer only after that time
        (60, 1, 0, 60),
        (60, 0, 50, 50),
        (60, 0, 0, 7),  # and never fewer than the lower bound
        (200, 0, 0, 7),  # from another deployment
    ],
)
def test_the_number_of_pollers_rises_at_once_and_falls_late(
    ready: int, kept_for_ms: int, wants: int, after: int
) -> None:
    assert decide(Ready(ready, NOW + kept_for_ms), wants, BOUNDS, NOW).pollers == after


def test_pollers_that_are_needed_again_are_kept_for_the_full_time_again() -> None:
    assert decide(Ready(60, NOW + 1), 60, BOUNDS, NOW) == Ready(60, NOW + KEPT_MS)
