"""The least distance between two fires of a schedule."""

from itertools import pairwise

import pytest

from timeball.domain.time.instants import SECOND_MS
from timeball.domain.time.schedule import At, Cron, Every, Schedule, fires, least_period_seconds

HOUR, DAY = 3600, 86_400


@pytest.mark.parametrize(
    ("expression", "seconds"),
    [
        ("* * * * *", 60),
        ("*/5 * * * *", 300),
        ("0,7 * * * *", 420),
        ("0 9 * * *", DAY),
        ("0 0,23 * * *", HOUR),  # from one day to the next
        ("0 0,23 * * MON", 23 * HOUR),  # no two adjacent days
        ("0 0,23 1,28 * *", HOUR),  # adjacent in February
        ("58 23 L * *", DAY),
        ("0 0 1 1 *", DAY),  # a year, in truth: a day is the longest period that is returned
    ],
)
def test_the_least_period_of_a_cron_comes_from_its_times_of_day(expression: str, seconds: int) -> None:
    schedule = Schedule(Cron(expression))
    assert least_period_seconds(schedule) == seconds
    times = list(fires(schedule, 0, 800 * DAY * SECOND_MS))[:5_000]
    assert min(later - earlier for earlier, later in pairwise(times)) >= seconds * SECOND_MS


def test_an_interval_states_its_period_and_a_one_off_has_none() -> None:
    assert least_period_seconds(Schedule(Every(7, 0))) == 7
    assert least_period_seconds(Schedule(At(5))) is None
