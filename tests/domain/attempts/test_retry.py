"""When a failed attempt is retried: causes, limits, waits, and what a target may ask for."""

from dataclasses import replace
from typing import Any

import pytest

from timeball.domain.attempts.retry import after_attempt, decide_retry, longest_life_ms, lost_attempt
from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.model.jobs.job import Guarantee, Job, JobSpec, with_spec
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Callback, Run, RunState
from timeball.domain.model.runs.values import Attempt, Failed, Guarantor, Outcome, Succeeded
from timeball.domain.model.terms.policies import RETRIED_BY_DEFAULT, Cause, Jitter, RetryPolicy
from timeball.domain.time.instants import MINUTE_MS
from timeball.domain.time.schedule import At, Schedule

KEY = JobKey("acme", "job")
RUN = Run(RunId(KEY, 0, Origin.SCHEDULE), RunState.RUNNING, 1, "normal", 0, 0, 0, attempt=1)
PLAIN = RetryPolicy(max_retries=3, base_seconds=5, factor=2.0, max_seconds=60, jitter=Jitter.NONE)


# Each case: the causes that a policy retries, why an attempt failed, and whether it is retried.
RETRY_ON: dict[str, tuple[tuple[str, ...], Cause, bool]] = {
    "no answer in time": (RETRIED_BY_DEFAULT, Cause.TIMEOUT, True),
    "no connection": (RETRIED_BY_DEFAULT, Cause.CONNECTION, True),
    "the target's own word": (RETRIED_BY_DEFAULT, Cause.REPORTED, True),
    "a cause that is listed": (("timeout",), Cause.TIMEOUT, True),
    "a cause that is not": (("5xx",), Cause.TIMEOUT, False),
    "whoever vanished is no failure of the target's": ((), Cause.LOST, True),
}


@pytest.mark.parametrize("case", RETRY_ON)
def test_a_policy_may_list_the_causes_that_are_retried(case: str) -> None:
    retry_on, cause, expected = RETRY_ON[case]
    assert RetryPolicy(retry_on=retry_on).retries(cause) is expected


AGAIN, NEVER = Failed(may_retry=True), Failed(may_retry=False)

# Each case: the differences from PLAIN and from RUN, the failure, and the wait in ms, or why there is no retry.
Differences = dict[str, Any]
DECISIONS: dict[str, tuple[Differences, Differences, Failed, int | Reason]] = {
    "the first wait": ({}, {}, AGAIN, 5_000),
    "it doubles": ({}, {"attempt": 3}, AGAIN, 20_000),
    "up to the longest": ({"max_retries": 99}, {"attempt": 50}, AGAIN, 60_000),
    "overflows nothing": ({"max_retries": 2_000, "factor": 1.5}, {"attempt": 1_500}, AGAIN, 60_000),
    "retries used up": ({}, {"attempt": 4}, AGAIN, Reason.RETRIES_EXHAUSTED),
    "no retries": ({"max_retries": 0}, {}, AGAIN, Reason.RETRIES_EXHAUSTED),
    "not retriable": ({}, {}, NEVER, Reason.NOT_RETRIABLE),
    "retry-after lengthens": ({}, {}, Failed(may_retry=True, retry_after_seconds=30.0), 30_000),
    "retry-after never shortens": ({}, {}, Failed(may_retry=True, retry_after_seconds=1.0), 5_000),
    "retry-after up to the longest": ({}, {}, Failed(may_retry=True, retry_after_seconds=86_400.0), 60_000),
    "old enough, but not too old": ({"max_age_seconds": 15}, {}, AGAIN, 5_000),
    "too old": ({"max_age_seconds": 14}, {}, AGAIN, Reason.TOO_OLD),
    "the count comes before the age": ({"max_age_seconds": 99}, {"attempt": 4}, AGAIN, Reason.RETRIES_EXHAUSTED),
    "the age comes before the count": ({"max_age_seconds": 29}, {"attempt": 3}, AGAIN, Reason.TOO_OLD),
    "attempts before a retry by hand do not count": ({}, {"attempt": 6, "budget_from": 4}, AGAIN, 10_000),
    "age counts from when the run was made, if late": (
        {"max_age_seconds": 9},
        {"created_at": 6_000},
        AGAIN,
        5_000,
    ),
    "age counts from a retry by hand": ({"max_age_seconds": 9}, {"budget_at": 6_000}, AGAIN, 5_000),
}


@pytest.mark.parametrize("case", DECISIONS)
def test_a_retry_is_decided_by_its_policy(case: str) -> None:
    policy, run, failed, expected = DECISIONS[case]
    decision = decide_retry(replace(PLAIN, **policy), replace(RUN, **run), failed, 10_000)
    assert decision == (expected if isinstance(expected, Reason) else 10_000 + expected)


def test_full_jitter_spreads_over_the_whole_wait_and_a_repeat_decides_the_same() -> None:
    policy = replace(PLAIN, jitter=Jitter.FULL)
    runs = [replace(RUN, id=replace(RUN.id, fire_at=step), attempt=2) for step in range(500)]
    decisions = [decide_retry(policy, run, AGAIN, 0) for run in runs]
    assert decisions == [decide_retry(policy, run, AGAIN, 0) for run in runs]
    waits = [decision for decision in decisions if isinstance(decision, int)]
    assert len(waits) == len(runs)
    assert 0 <= min(waits) < 200
    assert 9_800 < max(waits) < 10_000
    assert 4_500 < sum(waits) / len(waits) < 5_500


def test_the_timetable_shows_the_longest_waits_and_the_longest_life_includes_them() -> None:
    assert PLAIN.timetable() == (5_000, 10_000, 20_000)
    waiting_for_its_host_ms = 10 * MINUTE_MS
    assert longest_life_ms(PLAIN, 30) == (3 * 60 + 4 * 30) * 1_000 + waiting_for_its_host_ms
    assert longest_life_ms(replace(PLAIN, max_age_seconds=20), 30) == (20 + 4 * 30) * 1_000 + waiting_for_its_host_ms


JOB = Job(JobSpec(KEY, Schedule(At(0)), None, retry=PLAIN), shard=0, created_at=0, updated_at=0)
CALLED = Attempt(1, Outcome.FAILED, 0, 0, 5)
ONCE = {"delivery": Guarantee.AT_MOST_ONCE}

# Each case: the differences from RUN, from JOB, and from a failed attempt; its verdict; and the run afterwards.
OUTCOMES: dict[str, tuple[Differences, Differences, Differences, Succeeded | Failed, RunState, Reason | None]] = {
    "success": ({}, {}, {"outcome": Outcome.SUCCEEDED}, Succeeded(), RunState.SUCCEEDED, None),
    "success although a cancel was asked": (
        {"cancel_requested": True},
        {},
        {"outcome": Outcome.SUCCEEDED},
        Succeeded(),
        RunState.SUCCEEDED,
        None,
    ),
    "failure": ({}, {}, {}, AGAIN, RunState.RETRYING, None),
    "failure, and a cancel was asked": (
        {"cancel_requested": True},
        {},
        {},
        AGAIN,
        RunState.CANCELLED,
        Reason.JOB_CANCELLED,
    ),
    "failure, and its own cancel was asked": (
        {"cancel_requested": True, "reason": Reason.RUN_CANCELLED},
        {},
        {},
        AGAIN,
        RunState.CANCELLED,
        Reason.RUN_CANCELLED,
    ),
    "refusal": ({}, {}, {}, NEVER, RunState.FAILED, Reason.NOT_RETRIABLE),
    "no answer in time": ({}, {}, {"outcome": Outcome.TIMED_OUT}, AGAIN, RunState.RETRYING, None),
    "the target says that it failed": ({"callback": Callback(0, 9)}, {}, {}, AGAIN, RunState.RETRYING, None),
    "the target vanished": (
        {"callback": Callback(0, 9)},
        {},
        {"outcome": Outcome.LOST},
        AGAIN,
        RunState.RETRYING,
        None,
    ),
    "at most once, and the call left": ({}, ONCE, {}, AGAIN, RunState.FAILED, Reason.AT_MOST_ONCE),
    "at most once, and no call left": ({}, ONCE, {"started_at": None}, AGAIN, RunState.RETRYING, None),
    "at most once, and nobody knows": (
        {},
        ONCE,
        {"outcome": Outcome.LOST, "started_at": None},
        AGAIN,
        RunState.FAILED,
        Reason.AT_MOST_ONCE,
    ),
}


@pytest.mark.parametrize("case", OUTCOMES)
def test_an_attempts_outcome_decides_its_runs_state(case: str) -> None:
    run, job, attempt, verdict, state, reason = OUTCOMES[case]
    ended = replace(CALLED, **attempt)
    row = after_attempt(replace(RUN, **run), with_spec(JOB, **job), ended, verdict, 10, Guarantor.MESSAGE)
    assert (row.state, row.reason, row.last) == (state, reason, ended)
    assert (row.due_at is not None) == (state is RunState.RETRYING)


def test_a_lost_attempt_has_no_times() -> None:
    lost = lost_attempt(RUN)
    assert (lost.outcome, lost.started_at, lost.finished_at) == (Outcome.LOST, None, None)
