"""When a failed attempt is tried again: statuses, limits, waits and what an answer may ask for."""

from dataclasses import replace
from typing import Any

import pytest

from timeball.domain.attempt import Attempt, Outcome
from timeball.domain.guarantor import Guarantor
from timeball.domain.ids import JobKey, Origin, RunId
from timeball.domain.instants import MINUTE_MS
from timeball.domain.job import Guarantee, Job, JobSpec, with_spec
from timeball.domain.outcome import after_attempt, lost_attempt
from timeball.domain.reason import Reason
from timeball.domain.retry import Cause, Jitter, RetryPolicy, decide_retry, longest_life_ms
from timeball.domain.run import Callback, Run, RunState
from timeball.domain.schedule import At, Schedule

KEY = JobKey("acme", "job")
RUN = Run(RunId(KEY, 0, Origin.SCHEDULE), RunState.RUNNING, 1, "normal", 0, 0, 0, attempt=1)
PLAIN = RetryPolicy(max_retries=3, base_seconds=5, factor=2.0, max_seconds=60, jitter=Jitter.NONE)


# Of each: whether a policy that says nothing of it tries again.
CAUSES = {
    **dict.fromkeys(("timeout", "connection", "reported", "lost", "408", "425", "429"), True),
    **dict.fromkeys(("500", "502", "503", "504", "599"), True),
    **dict.fromkeys(("300", "301", "304", "400", "401", "403", "404", "409", "410", "422", "499", "199"), False),
}


@pytest.mark.parametrize("cause", CAUSES)
def test_what_may_be_better_next_time_is_worth_another_try_and_what_blames_the_request_is_not(cause: str) -> None:
    assert RetryPolicy().retries(cause) is CAUSES[cause]


# Of each: what a policy retries on, a cause, and whether it is worth another try.
RETRY_ON = {
    "a status that is listed": (("404",), "404", True),
    "a status that is not": (("404",), "500", False),
    "a class of statuses": (("4xx",), "404", True),
    "a class of other statuses": (("4xx",), "500", False),
    "a cause that is listed": (("timeout",), "timeout", True),
    "a cause that is not": (("5xx",), "timeout", False),
    "whoever vanished is no failure of the target's": ((), "lost", True),
}


@pytest.mark.parametrize("case", RETRY_ON)
def test_a_policy_may_say_itself_what_is_worth_another_try(case: str) -> None:
    retry_on, cause, expected = RETRY_ON[case]
    assert RetryPolicy(retry_on=retry_on).retries(cause) is expected


# Of each: what differs from PLAIN and from RUN, the cause, Retry-After, and the wait in ms, or why there is none.
Differences = dict[str, Any]
DECISIONS: dict[str, tuple[Differences, Differences, str, float | None, int | Reason]] = {
    "the first wait": ({}, {}, "500", None, 5_000),
    "it doubles": ({}, {"attempt": 3}, "500", None, 20_000),
    "no answer at all": ({}, {}, "connection", None, 5_000),
    "up to the longest": ({"max_retries": 99}, {"attempt": 50}, "500", None, 60_000),
    "overflows nothing": ({"max_retries": 2_000, "factor": 1.5}, {"attempt": 1_500}, "500", None, 60_000),
    "retries used up": ({}, {"attempt": 4}, "500", None, Reason.RETRIES_EXHAUSTED),
    "no retries": ({"max_retries": 0}, {}, "500", None, Reason.RETRIES_EXHAUSTED),
    "not retriable": ({}, {}, "404", None, Reason.NOT_RETRIABLE),
    "retry-after lengthens": ({}, {}, "429", 30.0, 30_000),
    "retry-after never shortens": ({}, {}, "429", 1.0, 5_000),
    "retry-after up to the longest": ({}, {}, "429", 86_400.0, 60_000),
    "old enough, but not too old": ({"max_age_seconds": 15}, {}, "500", None, 5_000),
    "too old": ({"max_age_seconds": 14}, {}, "500", None, Reason.TOO_OLD),
    "the count comes before the age": ({"max_age_seconds": 99}, {"attempt": 4}, "500", None, Reason.RETRIES_EXHAUSTED),
    "the age comes before the count": ({"max_age_seconds": 29}, {"attempt": 3}, "500", None, Reason.TOO_OLD),
    "attempts before a retry by hand do not count": ({}, {"attempt": 6, "budget_from": 4}, "500", None, 10_000),
    "age counts from when the run was made, if late": (
        {"max_age_seconds": 9},
        {"created_at": 6_000},
        "500",
        None,
        5_000,
    ),
    "age counts from a retry by hand": ({"max_age_seconds": 9}, {"budget_at": 6_000}, "500", None, 5_000),
}


@pytest.mark.parametrize("case", DECISIONS)
def test_a_retry_is_decided_by_its_policy(case: str) -> None:
    policy, run, cause, retry_after, expected = DECISIONS[case]
    decision = decide_retry(replace(PLAIN, **policy), replace(RUN, **run), cause, 10_000, retry_after)
    if isinstance(expected, Reason):
        assert (decision.retry_at, decision.reason) == (None, expected)
    else:
        assert (decision.retry_at, decision.reason) == (10_000 + expected, None)


def test_full_jitter_spreads_over_the_whole_wait_and_a_replay_decides_the_same() -> None:
    policy = replace(PLAIN, jitter=Jitter.FULL)
    runs = [replace(RUN, id=replace(RUN.id, fire_at=step), attempt=2) for step in range(500)]
    waits = [decide_retry(policy, run, "500", 0).retry_at or 0 for run in runs]
    assert waits == [decide_retry(policy, run, "500", 0).retry_at or 0 for run in runs]
    assert 0 <= min(waits) < 200
    assert 9_800 < max(waits) < 10_000
    assert 4_500 < sum(waits) / len(waits) < 5_500


def test_the_timetable_shows_the_longest_waits_and_the_longest_life_holds_them_all() -> None:
    assert PLAIN.timetable() == (5_000, 10_000, 20_000)
    waiting_for_its_host_ms = 10 * MINUTE_MS
    assert longest_life_ms(PLAIN, 30) == (3 * 60 + 4 * 30) * 1_000 + waiting_for_its_host_ms
    assert longest_life_ms(replace(PLAIN, max_age_seconds=20), 30) == (20 + 4 * 30) * 1_000 + waiting_for_its_host_ms


JOB = Job(JobSpec(KEY, Schedule(At(0)), None, retry=PLAIN), shard=0, created_at=0, updated_at=0)
CALLED = Attempt(1, Outcome.FAILED, 0, 0, 5)
ONCE = {"delivery": Guarantee.AT_MOST_ONCE}

# Of each: what differs from RUN, from JOB, and from an attempt that failed without an answer; and what the run becomes.
OUTCOMES: dict[str, tuple[Differences, Differences, Differences, RunState, Reason | None]] = {
    "success": ({}, {}, {"outcome": Outcome.SUCCEEDED, "status": 200}, RunState.SUCCEEDED, None),
    "success although a cancel was asked": (
        {"cancel_requested": True},
        {},
        {"outcome": Outcome.SUCCEEDED, "status": 200},
        RunState.SUCCEEDED,
        None,
    ),
    "failure": ({}, {}, {"status": 500}, RunState.RETRYING, None),
    "no answer": ({}, {}, {}, RunState.RETRYING, None),
    "failure, and a cancel was asked": (
        {"cancel_requested": True},
        {},
        {"status": 500},
        RunState.CANCELLED,
        Reason.JOB_CANCELLED,
    ),
    "failure, and its own cancel was asked": (
        {"cancel_requested": True, "reason": Reason.RUN_CANCELLED},
        {},
        {"status": 500},
        RunState.CANCELLED,
        Reason.RUN_CANCELLED,
    ),
    "refusal": ({}, {}, {"status": 400}, RunState.FAILED, Reason.NOT_RETRIABLE),
    "no answer in time": ({}, {}, {"outcome": Outcome.TIMED_OUT}, RunState.RETRYING, None),
    "the target says that it failed": ({"callback": Callback(0, 9)}, {}, {}, RunState.RETRYING, None),
    "the target vanished": ({"callback": Callback(0, 9)}, {}, {"outcome": Outcome.LOST}, RunState.RETRYING, None),
    "at most once, and the call left": ({}, ONCE, {"status": 503}, RunState.FAILED, Reason.AT_MOST_ONCE),
    "at most once, and no call left": ({}, ONCE, {"started_at": None}, RunState.RETRYING, None),
    "at most once, and nobody knows": (
        {},
        ONCE,
        {"outcome": Outcome.LOST, "started_at": None},
        RunState.FAILED,
        Reason.AT_MOST_ONCE,
    ),
}


@pytest.mark.parametrize("case", OUTCOMES)
def test_an_attempt_makes_of_its_run_what_its_outcome_says(case: str) -> None:
    run, job, attempt, state, reason = OUTCOMES[case]
    ended = replace(CALLED, **attempt)
    row = after_attempt(replace(RUN, **run), with_spec(JOB, **job), ended, 10, Guarantor.MESSAGE)
    assert (row.state, row.reason, row.last) == (state, reason, ended)
    assert (row.due_at is not None) == (state is RunState.RETRYING)


def test_a_target_may_say_itself_that_another_try_would_fare_no_better() -> None:
    row = after_attempt(replace(RUN, callback=Callback(0, 9)), JOB, CALLED, 10, Guarantor.SCAN, cause=Cause.FINAL)
    assert (row.state, row.reason) == (RunState.FAILED, Reason.NOT_RETRIABLE)


def test_nobody_knows_how_far_a_lost_attempt_came() -> None:
    lost = lost_attempt(RUN)
    assert (lost.outcome, lost.started_at, lost.finished_at) == (Outcome.LOST, None, None)
