"""Callback runs: the target answers 202, works on, and says later how the attempt ended; or is never heard of again."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.engine.play import NOW, PLAIN_RETRY, Play, spec
from tests.engine.runs.outcomes import DONE, NOT_FOUND, outcome
from timeball.domain.model.attempt import Outcome
from timeball.domain.model.ids import RunId
from timeball.domain.model.job import Completion, Guarantee, Job, JobStatus
from timeball.domain.model.reason import Reason
from timeball.domain.model.run import Run, RunState
from timeball.domain.time.instants import MINUTE_MS, SECOND_MS
from timeball.domain.time.schedule import At
from timeball.engine.changes.change import cancel
from timeball.engine.execution.claim import claim
from timeball.engine.runs.callback import Report, heartbeat, report
from timeball.engine.runs.reap import reap
from timeball.engine.runs.refusal import Refusal
from timeball.ports.queue import Delivery
from timeball.testing.memory_store import MemoryStore

TIMEOUT_SECONDS = 600
HEARTBEAT_SECONDS = 60


def _handed_over(
    heartbeat_seconds: int | None = HEARTBEAT_SECONDS, delivery: Guarantee = Guarantee.AT_LEAST_ONCE
) -> tuple[Play, Job, RunId]:
    """Return a play in which a one-off's target has answered 202."""
    play = Play()
    wanted = replace(
        spec("job", At(NOW), timeout_seconds=TIMEOUT_SECONDS),
        completion=Completion.CALLBACK,
        heartbeat_seconds=heartbeat_seconds,
        delivery=delivery,
    )
    (job,) = play.store_jobs([wanted])
    play.scan_all()
    play.caller.statuses = [202]
    play.drain()
    return play, job, play.runs(job.key)[0].id


def _run(play: Play, run_id: RunId) -> Run:
    (run,) = play.store.runs.read([run_id])
    assert run is not None
    return run


def _say(play: Play, run_id: RunId, attempt: int = 1, error: str | None = None, *, may_retry: bool = True) -> str:
    told = Report(run_id, attempt, error, "done" if error is None else None, may_retry)
    return outcome(report(play.context(), [told])[0])


def _beat(play: Play, run_id: RunId, attempt: int = 1) -> str:
    return outcome(heartbeat(play.context(), [(run_id, attempt)])[0])


def test_a_run_whose_target_answered_202_runs_on_without_a_message_until_its_target_says_that_it_is_done() -> None:
    play, job, run_id = _handed_over()
    run = _run(play, run_id)
    assert (run.state, run.due_at, play.messages()) == (RunState.RUNNING, (run.lease_until or 0) + 5_000, [])
    play.clock.advance(30 * SECOND_MS)
    assert _say(play, run_id) is DONE
    run = _run(play, run_id)
    assert (run.state, run.finished_at, run.first_started_at) == (RunState.SUCCEEDED, NOW + 30_000, NOW)
    assert run.last is not None
    assert (run.last.outcome, run.last.started_at, run.last.body) == (Outcome.SUCCEEDED, NOW, "done")
    assert play.job(job.key).status is JobStatus.COMPLETED
    play.scan_all()
    assert _run(play, run_id).due_at is None
    assert play.caller.attempts() == [(NOW, 1)]


def test_a_failure_that_the_target_reports_is_tried_again_as_the_retry_policy_says() -> None:
    play, job, run_id = _handed_over()
    assert _say(play, run_id, error="It is on fire.") is DONE
    assert (_run(play, run_id).state, _run(play, run_id).not_before) == (RunState.RETRYING, NOW + 5_000)
    play.run_on(job.key)
    assert [called_at - NOW for called_at, _ in play.caller.calls] == [0, 5_000]
    assert _run(play, run_id).state is RunState.SUCCEEDED
    (attempt,) = play.store.attempts.of_run(run_id)
    assert (attempt.number, attempt.outcome, attempt.error) == (1, Outcome.FAILED, "It is on fire.")


def test_a_target_may_say_that_another_try_would_fare_no_better() -> None:
    play, job, run_id = _handed_over()
    assert _say(play, run_id, error="No such customer.", may_retry=False) is DONE
    assert (_run(play, run_id).state, _run(play, run_id).reason) == (RunState.FAILED, Reason.NOT_RETRIABLE)
    assert play.job(job.key).status is JobStatus.FAILED


@pytest.mark.parametrize("error", [None, "It is on fire."])
def test_a_word_that_comes_twice_is_taken_once_and_answered_alike(error: str | None) -> None:
    play, _, run_id = _handed_over()
    assert _say(play, run_id, error=error) is DONE
    before = _run(play, run_id)
    assert _say(play, run_id, error=error) is DONE
    assert _run(play, run_id) == before
    assert _say(play, run_id, error=None if error else "Or did it?") is Refusal.STALE
    assert _run(play, run_id) == before


def test_a_failure_said_again_as_one_that_is_not_worth_a_retry_comes_too_late() -> None:
    play, _, run_id = _handed_over()
    assert _say(play, run_id, error="No such customer.") is DONE
    assert _say(play, run_id, error="No such customer.", may_retry=False) is Refusal.STALE
    assert _run(play, run_id).state is RunState.RETRYING


@pytest.mark.parametrize(("status", "error"), [(200, None), (503, "No such customer.")])
def test_a_word_behind_an_answer_that_ended_its_attempt_comes_too_late(status: int, error: str | None) -> None:
    play = Play()
    play.store_jobs([replace(spec("job", At(NOW)), completion=Completion.CALLBACK)])
    play.scan_all()
    play.caller.statuses = [status]
    play.execute_next()
    (run,) = play.runs(spec("job", At(NOW)).key)
    assert (run.attempt, run.last and run.last.status) == (1, status)
    assert _say(play, run.id, error=error) is Refusal.STALE
    assert _run(play, run.id) == run


@pytest.mark.parametrize("retry_on", [("reported",), ("connection",)])
@pytest.mark.parametrize("is_early", [True, False], ids=["before its 202 is stored", "afterwards"])
def test_what_a_target_reports_is_no_lost_connection(retry_on: tuple[str, ...], *, is_early: bool) -> None:
    play = Play()
    wanted = spec("job", At(NOW), replace(PLAIN_RETRY, retry_on=retry_on))
    play.store_jobs([replace(wanted, completion=Completion.CALLBACK)])
    play.scan_all()
    play.caller.statuses = [202]
    run_id = play.runs(wanted.key)[0].id
    play.caller.meanwhile = (lambda: _say(play, run_id, error="It is on fire.")) if is_early else None
    play.execute_next()
    if not is_early:
        _say(play, run_id, error="It is on fire.")
    assert _run(play, run_id).state is (RunState.RETRYING if "reported" in retry_on else RunState.FAILED)


def test_a_word_about_an_older_attempt_is_refused() -> None:
    play, _, run_id = _handed_over()
    _say(play, run_id, error="It is on fire.")
    play.caller.statuses = [202]
    play.scan_all()
    play.drain()
    run = _run(play, run_id)
    assert (run.state, run.attempt) == (RunState.RUNNING, 2)
    assert _say(play, run_id, attempt=1) is Refusal.STALE
    assert _beat(play, run_id, attempt=1) is Refusal.STALE
    assert _run(play, run_id) == run
    assert _say(play, run_id, attempt=2) is DONE


def test_a_word_for_a_run_whose_job_is_gone_is_refused() -> None:
    play, job, run_id = _handed_over()
    run = _run(play, run_id)
    assert isinstance(play.store, MemoryStore)
    del play.store.jobs[job.key]
    assert _say(play, run_id) is Refusal.STALE
    assert _beat(play, run_id) is Refusal.STALE
    assert _run(play, run_id) == run


def test_a_word_for_a_run_that_waits_for_none_is_refused() -> None:
    play = Play()
    (job,) = play.store_jobs([spec("job", At(NOW))])
    play.scan_all()
    (run,) = play.runs(job.key)
    assert _say(play, run.id, attempt=1) is Refusal.NOT_EXPECTED
    assert _beat(play, run.id, attempt=1) is Refusal.NOT_EXPECTED
    assert _say(play, replace(run.id, fire_at=NOW + 1)) is NOT_FOUND


def test_a_target_that_is_heard_of_again_and_again_keeps_its_run_until_its_time_is_up() -> None:
    play, job, run_id = _handed_over()
    while play.clock.now() < NOW + TIMEOUT_SECONDS * SECOND_MS - 1:
        assert _beat(play, run_id) is DONE
        play.clock.advance(min(50 * SECOND_MS, NOW + TIMEOUT_SECONDS * SECOND_MS - 1 - play.clock.now()))
        play.scan_all()
    assert _run(play, run_id).attempt == 1
    play.run_on(job.key)
    (attempt,) = play.store.attempts.of_run(run_id)
    assert (attempt.outcome, attempt.error) == (Outcome.TIMED_OUT, "The target did not report in time.")
    assert attempt.finished_at == NOW + TIMEOUT_SECONDS * SECOND_MS
    assert _run(play, run_id).state is RunState.SUCCEEDED
    assert play.caller.attempts() == [(NOW, 1), (NOW, 2)]


def test_a_heartbeat_is_one_small_write_and_leaves_the_due_key_to_the_scan() -> None:
    play, _, run_id = _handed_over()
    before = _run(play, run_id)
    play.clock.advance(20 * SECOND_MS)
    _beat(play, run_id)
    after = _run(play, run_id)
    assert (after.due_at, after.lease_until) == (before.due_at, NOW + 80_000)
    play.clock.advance(MINUTE_MS)  # where the first lease would have ended, with its margin
    play.scan_all()
    assert (_run(play, run_id).state, _run(play, run_id).due_at) == (RunState.RUNNING, NOW + 85_000)


def test_a_run_whose_target_is_not_heard_of_any_more_is_lost_and_tried_again() -> None:
    play, job, run_id = _handed_over()
    play.run_on(job.key)
    (attempt,) = play.store.attempts.of_run(run_id)
    assert (attempt.outcome, attempt.error) == (Outcome.LOST, "The target's heartbeat ceased.")
    (_, first), (called_at, second) = play.caller.calls
    assert (first.attempt, second.attempt) == (1, 2)
    assert called_at >= NOW + HEARTBEAT_SECONDS * SECOND_MS + 5_000


def test_a_heartbeat_after_the_end_of_its_lease_is_refused_although_nobody_has_noticed_yet() -> None:
    play, _, run_id = _handed_over()
    play.clock.advance(HEARTBEAT_SECONDS * SECOND_MS)
    assert _beat(play, run_id) is Refusal.EXPIRED


def test_a_target_that_sends_no_heartbeats_has_all_of_its_time() -> None:
    play, job, run_id = _handed_over(heartbeat_seconds=None)
    assert _run(play, run_id).lease_until == NOW + TIMEOUT_SECONDS * SECOND_MS
    play.clock.advance(TIMEOUT_SECONDS * SECOND_MS - 1)
    play.scan_all()
    assert _beat(play, run_id) is DONE
    assert _say(play, run_id) is DONE
    assert play.job(job.key).status is JobStatus.COMPLETED


def test_a_run_that_may_be_called_once_is_not_called_again_when_its_target_is_not_heard_of() -> None:
    play, job, run_id = _handed_over(delivery=Guarantee.AT_MOST_ONCE)
    play.run_on(job.key)
    assert (_run(play, run_id).state, _run(play, run_id).reason) == (RunState.FAILED, Reason.AT_MOST_ONCE)
    assert play.caller.attempts() == [(NOW, 1)]


def test_a_word_that_comes_before_the_202_is_seen_counts_and_the_202_changes_nothing() -> None:
    play = Play()
    (job,) = play.store_jobs([replace(spec("job", At(NOW)), completion=Completion.CALLBACK)])
    play.scan_all()
    (run,) = play.runs(job.key)
    play.caller.statuses = [202]
    heard: list[str] = []
    play.caller.meanwhile = lambda: heard.append(_say(play, run.id))
    play.drain()
    assert heard == [DONE]
    assert (_run(play, run.id).state, play.messages()) == (RunState.SUCCEEDED, [])
    assert play.job(job.key).status is JobStatus.COMPLETED


@pytest.mark.parametrize("status", [200, 500])
def test_a_target_that_may_report_need_not(status: int) -> None:
    play = Play()
    (job,) = play.store_jobs([replace(spec("job", At(NOW)), completion=Completion.CALLBACK)])
    play.scan_all()
    play.caller.statuses = [status]
    play.run_on(job.key)
    assert play.runs(job.key)[0].state is RunState.SUCCEEDED
    assert len(play.caller.calls) == (1 if status == 200 else 2)


def test_a_duplicate_of_the_message_neither_calls_the_target_again_nor_stays() -> None:
    play, _, run_id = _handed_over(heartbeat_seconds=None)
    before = _run(play, run_id)
    assert play.execute([Delivery(run_id, "again")]) == []
    play.clock.advance((TIMEOUT_SECONDS + 60) * SECOND_MS)
    (late,) = claim(play.context(), [run_id], "another")
    assert (late.is_done, _run(play, run_id)) == (True, before)


def test_a_cancel_is_told_by_the_heartbeat_and_ends_the_run_when_its_lease_is_out() -> None:
    play, job, run_id = _handed_over()
    (changed,) = cancel(play.context(), [(job.key, None)])
    assert changed.claimed == (run_id,)
    ((_, run),) = heartbeat(play.context(), [(run_id, 1)])
    assert run is not None
    assert run.cancel_requested
    play.run_on(job.key)
    run = _run(play, run_id)
    assert (run.state, run.reason) == (RunState.CANCELLED, Reason.JOB_CANCELLED)
    assert play.caller.attempts() == [(NOW, 1)]


CANCELLED_WORDS: dict[str, tuple[str | None, RunState]] = {
    "it was done all the same": (None, RunState.SUCCEEDED),
    "it stopped": ("It was asked to stop.", RunState.CANCELLED),
}


@pytest.mark.parametrize("case", CANCELLED_WORDS)
def test_a_target_that_was_asked_to_stop_says_itself_how_it_ended(case: str) -> None:
    error, state = CANCELLED_WORDS[case]
    play, job, run_id = _handed_over()
    cancel(play.context(), [(job.key, None)])
    assert _say(play, run_id, error=error) is DONE
    assert _run(play, run_id).state is state


def _a_heartbeat(play: Play, run_id: RunId) -> None:
    assert _beat(play, run_id) is DONE


def _a_success(play: Play, run_id: RunId) -> None:
    assert _say(play, run_id) is DONE


MEANWHILE: dict[str, tuple[Callable[[Play, RunId], None], RunState]] = {
    "a heartbeat": (_a_heartbeat, RunState.RUNNING),
    "a success": (_a_success, RunState.SUCCEEDED),
}


@pytest.mark.parametrize("case", MEANWHILE)
def test_what_comes_between_the_reading_of_an_expired_lease_and_its_end_wins(case: str) -> None:
    act, state = MEANWHILE[case]
    play, _, run_id = _handed_over()
    as_read_before = _run(play, run_id)
    play.clock.advance(HEARTBEAT_SECONDS * SECOND_MS - 1)
    act(play, run_id)
    play.clock.advance(30 * SECOND_MS)
    assert reap(play.context(), [as_read_before], play.clock.now()) == 0
    assert _run(play, run_id).state is state
