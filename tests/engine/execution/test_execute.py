"""The executor, tested to the millisecond on a clock that advances only when every task waits."""

import pytest

from tests.engine.play import NOW, PLAIN_RETRY, Play, spec
from timeball.domain.model.jobs.job import Job, JobStatus, with_spec
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.notable import SLOW_MS
from timeball.domain.model.runs.run import RunState
from timeball.domain.model.runs.values import Outcome
from timeball.domain.model.terms.policies import RetryPolicy
from timeball.domain.time.instants import SECOND_MS
from timeball.domain.time.schedule import At, Every
from timeball.engine.changes.change import ChangeOutcome as Change
from timeball.engine.changes.change import cancel
from timeball.engine.execution.claim import claim
from timeball.ports.errors import UnavailableError
from timeball.ports.queue import Delivery
from timeball.ports.rows import Swap
from timeball.testing.faults import Points

_BEHIND_THE_CLAIM = 3
"""The point after it, which follows those around the write that hides the message, and the one before it."""


def _sent(at: int = NOW, retry: RetryPolicy = PLAIN_RETRY) -> tuple[Play, Job]:
    play = Play()
    (job,) = play.store_jobs([spec("job", At(at), retry)])
    play.scan_all()
    return play, job


@pytest.mark.parametrize("ahead_ms", [-7_000, 0, 1, 999, 1_000, 1_001, 2_750, 5_000])
def test_a_call_leaves_at_its_instant_to_the_millisecond_and_never_before(ahead_ms: int) -> None:
    play, job = _sent(NOW + ahead_ms)
    play.drain()
    ((called_at, call),) = play.caller.calls
    assert called_at == max(NOW, NOW + ahead_ms)
    assert (call.run.fire_at, call.attempt, call.timeout_seconds) == (NOW + ahead_ms, 1, 300)
    (run,) = play.runs(job.key)
    assert (run.state, run.lateness_ms) == (RunState.SUCCEEDED, max(0, -ahead_ms))


def test_a_retry_is_never_early_and_its_run_succeeds_at_last() -> None:
    play, job = _sent()
    play.caller.statuses = [500, 503]
    play.run_on(job.key)
    assert [called_at - NOW for called_at, _ in play.caller.calls] == [0, 5_000, 15_000]
    assert play.caller.attempts() == [(NOW, 1), (NOW, 2), (NOW, 3)]
    (run,) = play.runs(job.key)
    assert (run.state, run.attempt, run.first_started_at) == (RunState.SUCCEEDED, 3, NOW)
    told = [(attempt.number, attempt.status) for attempt in play.store.attempts.of_run(run.id)]
    assert told == [(1, 500), (2, 503)]
    assert play.job(job.key).status is JobStatus.COMPLETED


# Columns: the target's answers, the most retries, and the run's end.
ENDS = {
    "a success": ([204], 3, RunState.SUCCEEDED, None, JobStatus.COMPLETED, 1),
    "a refusal is not tried again": ([410], 3, RunState.FAILED, Reason.NOT_RETRIABLE, JobStatus.FAILED, 1),
    "a redirect is not followed": ([302], 3, RunState.FAILED, Reason.NOT_RETRIABLE, JobStatus.FAILED, 1),
    "no retries": ([500], 0, RunState.FAILED, Reason.RETRIES_EXHAUSTED, JobStatus.FAILED, 1),
    "one retry, used up": ([500, 429], 1, RunState.FAILED, Reason.RETRIES_EXHAUSTED, JobStatus.FAILED, 2),
}


@pytest.mark.parametrize("case", ENDS)
def test_a_run_ends_as_its_answers_and_its_policy_require(case: str) -> None:
    statuses, retries, state, reason, status, calls = ENDS[case]
    play, job = _sent(retry=RetryPolicy(max_retries=retries))
    play.caller.statuses = list(statuses)
    play.run_on(job.key)
    (run,) = play.runs(job.key)
    assert (run.state, run.reason, play.job(job.key).status) == (state, reason, status)
    assert len(play.caller.calls) == calls


def test_a_run_of_ten_minutes_keeps_its_lease_and_is_called_once() -> None:
    play, job = _sent()
    play.caller.takes_ms = 600 * SECOND_MS
    play.drain()
    (run,) = play.runs(job.key)
    assert (run.state, run.attempt, run.finished_at) == (RunState.SUCCEEDED, 1, NOW + 600 * SECOND_MS)
    assert play.caller.attempts() == [(NOW, 1)]


def test_a_cancel_during_a_run_names_and_stops_it_and_no_retry_follows() -> None:
    play, job = _sent()
    play.caller.takes_ms, play.caller.statuses = 60 * SECOND_MS, [500]
    answers = []
    play.caller.meanwhile = lambda: answers.extend(cancel(play.context(), [(job.key, None)]))
    play.run_on(job.key)
    (run,) = play.runs(job.key)
    assert answers[0].outcome is Change.DONE
    assert answers[0].claimed == (run.id,)
    assert (run.state, run.reason, run.finished_at) == (
        RunState.CANCELLED,
        Reason.JOB_CANCELLED,
        NOW + SLOW_MS,  # when its lease is renewed for the first time, because its call lasts
    )
    assert play.caller.attempts() == [(NOW, 1)]
    assert play.job(job.key).status is JobStatus.CANCELLED


def test_a_cancel_before_the_instant_prevents_the_call() -> None:
    play, job = _sent(NOW + 5_000)
    (_run,) = play.runs(job.key)
    play.clock.advance(4_000)
    cancel(play.context(), [(job.key, None)])
    play.drain()
    assert play.caller.calls == []
    assert play.runs(job.key)[0].state is RunState.CANCELLED


def test_a_run_whose_executor_died_is_taken_over_after_its_lease_and_not_before() -> None:
    play, job = _sent()
    (delivery,) = play.queue.receive("normal")
    (first,) = claim(play.context(), [delivery.run], "vanished")
    assert first.is_mine
    lease_over = NOW + play.rules.lease_ms + play.rules.margin_ms
    play.clock.advance(lease_over - NOW - 1)
    (early,) = claim(play.context(), [delivery.run], "early")
    assert (early.is_mine, early.is_done, early.decision.wait_until) == (False, False, lease_over)
    play.clock.advance(1)
    play.execute([delivery])
    (run,) = play.runs(job.key)
    assert (run.state, run.attempt) == (RunState.SUCCEEDED, 2)
    (lost,) = play.store.attempts.of_run(run.id)
    assert (lost.number, lost.outcome) == (1, Outcome.LOST)


def test_a_message_that_comes_three_times_in_one_batch_and_again_later_is_one_call() -> None:
    play, job = _sent()
    (delivery,) = play.queue.receive("normal")
    copies = [Delivery(delivery.run, f"copy-{number}") for number in range(2)]
    returned = play.execute([delivery, *copies])
    assert returned == copies
    assert play.execute([delivery]) == []
    assert play.caller.attempts() == [(NOW, 1)]
    assert play.runs(job.key)[0].state is RunState.SUCCEEDED


def test_a_message_of_a_run_that_does_not_exist_is_dropped() -> None:
    play, job = _sent()
    (delivery,) = play.queue.receive("normal")
    unknown = Delivery(type(delivery.run)(job.key, 7, delivery.run.origin), "receipt")
    assert play.execute([unknown, delivery]) == []
    assert play.caller.attempts() == [(NOW, 1)]


def test_a_slow_target_delays_no_other_run_of_its_batch() -> None:
    play = Play()
    jobs = play.store_jobs(spec(f"job-{second}", At(NOW + second * SECOND_MS)) for second in range(3))
    play.scan_all()
    play.clock.advance(2_000)
    play.caller.takes_ms = 40 * SECOND_MS
    play.drain()
    assert {called_at for called_at, _ in play.caller.calls} == {NOW + 2_000}
    assert {play.runs(job.key)[0].state for job in jobs} == {RunState.SUCCEEDED}


def test_a_target_that_breaks_the_caller_returns_only_its_own_message() -> None:
    play = Play()
    jobs = play.store_jobs([spec("a", At(NOW)), spec("b", At(NOW))])
    play.scan_all()

    def fail() -> None:
        raise RuntimeError("a fault of the caller")

    play.caller.meanwhile = fail
    deliveries = play.queue.receive("normal")
    (returned,) = play.execute(deliveries)
    play.clock.advance(40 * SECOND_MS)
    assert play.execute([returned]) == []
    assert {play.runs(job.key)[0].state for job in jobs} == {RunState.SUCCEEDED}


def test_executors_that_were_away_for_an_hour_run_the_latest_missed_fire_and_skip_the_others() -> None:
    play = Play()
    (job,) = play.store_jobs([spec("job", Every(60, NOW))])
    for _ in range(10):
        play.scan_all()
        play.clock.advance(60 * SECOND_MS)
    play.drain()
    ran = [run.id.fire_at for run in play.runs(job.key) if run.state is RunState.SUCCEEDED]
    skipped = [run.reason for run in play.runs(job.key) if run.state is RunState.SKIPPED]
    assert ran == [NOW + minute * 60 * SECOND_MS for minute in (8, 9)]
    assert skipped == [Reason.MISFIRED] * 8


def test_a_claim_whose_answer_was_lost_goes_on_with_the_job_that_was_read_for_it() -> None:
    """The run's row names the revision that it uses. Meanwhile the job's user sets another timeout."""
    play, job = _sent()

    def lose_the_answer() -> None:
        standing = play.job(job.key)
        play.store.jobs.swap([Swap(standing, with_spec(standing, timeout_seconds=7))], NOW)
        raise UnavailableError("the answer was lost")

    assert play.execute(play.queue.receive("normal"), Points(_BEHIND_THE_CLAIM, lose_the_answer)) == []
    assert [(call.timeout_seconds, call.attempt) for _, call in play.caller.calls] == [(300, 1)]
    assert play.job(job.key).spec.timeout_seconds == 7
