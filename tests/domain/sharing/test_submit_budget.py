"""The jobs that a tenant may still submit: its quota without the counted jobs and the recently submitted ones."""

import pytest

from timeball.domain.sharing.submit_budget import GRACE_MS, SubmitBudget, counted_until, may_count, reckoned
from timeball.domain.time.instants import SECOND_MS

NOW = 1_000_000_250


@pytest.mark.parametrize(
    ("taken", "counted", "left"),
    [
        ({}, 0, 10),
        ({}, 4, 6),
        ({NOW - 250: 3}, 4, 3),  # just now: the index may not show them yet
        ({NOW - 250 - GRACE_MS: 3}, 4, 3),  # the first second that no count covers
        ({NOW - 250 - GRACE_MS - SECOND_MS: 3}, 4, 6),  # counted, or over
        ({}, 12, 0),  # the quota was lowered
    ],
)
def test_the_remaining_quota_lacks_the_counted_jobs_and_those_submitted_since(
    taken: dict[int, int], counted: int, left: int
) -> None:
    found = reckoned(SubmitBudget("acme", taken), counted, 10, NOW)
    assert found == SubmitBudget("acme", taken, most=10, left=left, counted_at=NOW)


def test_every_job_is_either_counted_or_recently_submitted() -> None:
    assert counted_until(NOW) == NOW - 250 - GRACE_MS


@pytest.mark.parametrize(
    ("most", "after_ms", "may"),
    [(10, 0, False), (10, 999, False), (10, 1_001, True), (100_000, 10_000, False), (100_000, 11_000, True)],
)
def test_a_larger_quota_is_counted_less_often(most: int, after_ms: int, *, may: bool) -> None:
    assert may_count(SubmitBudget("acme", most=most, counted_at=NOW), most, NOW + after_ms) is may


def test_a_changed_quota_is_counted_at_once() -> None:
    assert may_count(SubmitBudget("acme", most=10, counted_at=NOW), 11, NOW)
