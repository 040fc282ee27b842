"""What is left of a tenant's jobs: those counted, and whole what was taken since the index can be trusted."""

import pytest

from timeball.domain.sharing.intake import GRACE_MS, Intake, counted_until, may_count, reckoned
from timeball.domain.time.instants import SECOND_MS

NOW = 1_000_000_250


@pytest.mark.parametrize(
    ("taken", "counted", "left"),
    [
        ({}, 0, 10),
        ({}, 4, 6),
        ({NOW - 250: 3}, 4, 3),  # just now: they may not be in the index yet
        ({NOW - 250 - GRACE_MS: 3}, 4, 3),  # the second from which on nothing is counted
        ({NOW - 250 - GRACE_MS - SECOND_MS: 3}, 4, 6),  # counted, or over
        ({}, 12, 0),  # the quota was lowered
    ],
)
def test_what_is_left_lacks_what_was_counted_and_what_was_taken_since(
    taken: dict[int, int], counted: int, left: int
) -> None:
    found = reckoned(Intake("acme", taken), counted, 10, NOW)
    assert found == Intake("acme", taken, most=10, left=left, counted_at=NOW)


def test_every_job_is_counted_or_taken_lately_and_none_is_both() -> None:
    assert counted_until(NOW) == NOW - 250 - GRACE_MS


@pytest.mark.parametrize(
    ("most", "after_ms", "may"),
    [(10, 0, False), (10, 999, False), (10, 1_001, True), (100_000, 10_000, False), (100_000, 11_000, True)],
)
def test_the_more_jobs_there_may_be_the_less_often_they_are_counted(most: int, after_ms: int, *, may: bool) -> None:
    assert may_count(Intake("acme", most=most, counted_at=NOW), most, NOW + after_ms) is may


def test_another_quota_is_reckoned_for_at_once() -> None:
    assert may_count(Intake("acme", most=10, counted_at=NOW), 11, NOW)
