"""When a failed attempt is tried again: statuses, limits, waits and what an answer may ask for."""

from dataclasses import replace
from typing import Any

import pytest

from timeball.domain.ids import JobKey, Origin, RunId
from timeball.domain.outcome import after_attempt, lost_attempt
from timeball.domain.retry import Jitter, RetryPolicy, RetryReason, decide_retry, is_retriable, longest_life_ms
from timeball.domain.run import Attempt, Outcome, Reason, Run, RunState

RUN = RunId(JobKey("acme", "job"), 0, Origin.SCHEDULE)
PLAIN = RetryPolicy(max_retries=3, base_seconds=5, factor=2.0, max_seconds=60, jitter=Jitter.NONE)


@pytest.mark.parametrize("status", [None, 408, 425, 429, 500, 502, 503, 504, 599, 199])
def test_an_answer_that_may_be_better_next_time_is_worth_another_try(status: int | None) -> None:
    assert is_retriable(status)


@pytest.mark.parametrize("status", [300, 301, 304, 400, 401, 403, 404, 409, 410, 422, 499])
def test_an_answer_that_blames_the_request_is_not(status: int) -> None:
    assert not is_retriable(status)


# Of each: what differs from PLAIN, the attempt, the status, Retry-After, and the wait in ms, or why there is none.
DECISIONS: dict[str, tuple[dict[str, Any], int, int | None, float | None, int | RetryReason]] = {
    "the first wait": ({}, 1, 500, None, 5_000),
    "it doubles": ({}, 3, 500, None, 20_000),
    "no answer at all": ({}, 1, None, None, 5_000),
    "up to the longest": ({"max_retries": 99}, 50, 500, None, 60_000),
    "a factor that overflows nothing": ({"max_retries": 2_000, "factor": 1.5}, 1_500, 500, None, 60_000),
    "retries used up": ({}, 4, 500, None, RetryReason.RETRIES_EXHAUSTED),
    "no retries": ({"max_retries": 0}, 1, 500, None, RetryReason.RETRIES_EXHAUSTED),
    "not retriable": ({}, 1, 404, None, RetryReason.NOT_RETRIABLE),
    "retry-after lengthens": ({}, 1, 429, 30.0, 30_000),
    "retry-after never shortens": ({}, 1, 429, 1.0, 5_000),
    "retry-after up to the longest": ({}, 1, 429, 86_400.0, 60_000),
    "old enough, but not too old": ({"max_age_seconds": 15}, 1, 500, None, 5_000),
    "too old": ({"max_age_seconds": 14}, 1, 500, None, RetryReason.TOO_OLD),
}


@pytest.mark.parametrize("case", DECISIONS)
def test_a_retry_is_decided_by_its_policy(case: str) -> None:
    changes, attempt, status, retry_after, expected = DECISIONS[case]
    decision = decide_retry(replace(PLAIN, **changes), RUN, attempt, status, 10_000, retry_after)
    if isinstance(expected, RetryReason):
        assert (decision.retry_at, decision.reason) == (None, expected)
    else:
        assert (decision.retry_at, decision.reason) == (10_000 + expected, RetryReason.RETRY)


def test_full_jitter_spreads_over_the_whole_wait_and_a_replay_decides_the_same() -> None:
    policy = replace(PLAIN, jitter=Jitter.FULL)
    runs = [replace(RUN, fire_at=step) for step in range(500)]
    waits = [decide_retry(policy, run, 2, 500, 0).retry_at or 0 for run in runs]
    assert waits == [decide_retry(policy, run, 2, 500, 0).retry_at or 0 for run in runs]
    assert 0 <= min(waits) < 200
    assert 9_800 < max(waits) < 10_000
    assert 4_500 < sum(waits) / len(waits) < 5_500


def test_the_timetable_shows_the_longest_waits_and_the_longest_life_holds_them_all() -> None:
    assert PLAIN.timetable() == (5_000, 10_000, 20_000)
    assert longest_life_ms(PLAIN, 30) == (3 * 60 + 4 * 30) * 1_000
    assert longest_life_ms(replace(PLAIN, max_age_seconds=20), 30) == (20 + 4 * 30) * 1_000


# Of each: whether a cancel was asked, the attempt's outcome and status, and what the run becomes.
OUTCOMES = {
    "success": (False, Outcome.SUCCEEDED, 200, RunState.SUCCEEDED, None),
    "success although a cancel was asked": (True, Outcome.SUCCEEDED, 200, RunState.SUCCEEDED, None),
    "failure": (False, Outcome.FAILED, 500, RunState.RETRYING, None),
    "failure, and a cancel was asked": (True, Outcome.FAILED, 500, RunState.CANCELLED, Reason.JOB_CANCELLED),
    "refusal": (False, Outcome.FAILED, 400, RunState.FAILED, Reason.NOT_RETRIABLE),
    "no answer in time": (False, Outcome.TIMED_OUT, None, RunState.RETRYING, None),
}


@pytest.mark.parametrize("case", OUTCOMES)
def test_an_attempt_makes_of_its_run_what_its_outcome_says(case: str) -> None:
    asked, outcome, status, state, reason = OUTCOMES[case]
    running = Run(RUN, RunState.RUNNING, 1, "normal", 0, 0, 0, attempt=1, cancel_requested=asked)
    attempt = Attempt(1, outcome, 0, 0, 5, status)
    row = after_attempt(running, PLAIN, attempt, 10)
    assert (row.state, row.reason, row.last) == (state, reason, attempt)
    assert (row.due_at is not None) == (state is RunState.RETRYING)
    assert lost_attempt(running).outcome is Outcome.LOST
