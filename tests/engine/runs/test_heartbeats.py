"""Callback runs with heartbeats: each heartbeat renews the lease, and its answer shows a requested cancel."""

from collections.abc import Callable

import pytest

from tests.engine.play import NOW, Play
from tests.engine.runs.handed_over import HEARTBEAT_SECONDS, TIMEOUT_SECONDS, beat, handed_over, say, the_run
from tests.engine.runs.outcomes import DONE
from timeball.domain.model.ids import RunId
from timeball.domain.model.jobs.job import Guarantee, JobStatus
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import RunState
from timeball.domain.model.runs.values import Outcome
from timeball.domain.time.instants import MINUTE_MS, SECOND_MS
from timeball.engine.changes.change import cancel
from timeball.engine.runs.callback import heartbeat
from timeball.engine.runs.due_runs import reap
from timeball.engine.runs.effects import Refusal


def test_a_target_with_regular_heartbeats_keeps_its_run_until_its_time_is_up() -> None:
    play, job, run_id = handed_over()
    while play.clock.now() < NOW + TIMEOUT_SECONDS * SECOND_MS - 1:
        assert beat(play, run_id) is DONE
        play.clock.advance(min(50 * SECOND_MS, NOW + TIMEOUT_SECONDS * SECOND_MS - 1 - play.clock.now()))
        play.scan_all()
    assert the_run(play, run_id).attempt == 1
    play.run_on(job.key)
    (attempt,) = play.store.attempts.of_run(run_id)
    assert (attempt.outcome, attempt.error) == (Outcome.TIMED_OUT, "The target did not report in time.")
    assert attempt.finished_at == NOW + TIMEOUT_SECONDS * SECOND_MS
    assert the_run(play, run_id).state is RunState.SUCCEEDED
    assert play.caller.attempts() == [(NOW, 1), (NOW, 2)]


def test_a_heartbeat_is_one_small_write_and_leaves_the_due_key_to_the_scan() -> None:
    play, _, run_id = handed_over()
    before = the_run(play, run_id)
    play.clock.advance(20 * SECOND_MS)
    beat(play, run_id)
    after = the_run(play, run_id)
    assert (after.due_at, after.lease_until) == (before.due_at, NOW + 80_000)
    play.clock.advance(MINUTE_MS)  # when the first lease would have ended, with its margin
    play.scan_all()
    assert (the_run(play, run_id).state, the_run(play, run_id).due_at) == (RunState.RUNNING, NOW + 85_000)


def test_a_run_whose_targets_heartbeats_cease_is_lost_and_retried() -> None:
    play, job, run_id = handed_over()
    play.run_on(job.key)
    (attempt,) = play.store.attempts.of_run(run_id)
    assert (attempt.outcome, attempt.error) == (Outcome.LOST, "The target's heartbeat ceased.")
    (_, first), (called_at, second) = play.caller.calls
    assert (first.attempt, second.attempt) == (1, 2)
    assert called_at >= NOW + HEARTBEAT_SECONDS * SECOND_MS + 5_000


def test_a_heartbeat_after_the_end_of_its_lease_is_refused_although_the_end_is_not_yet_noticed() -> None:
    play, _, run_id = handed_over()
    play.clock.advance(HEARTBEAT_SECONDS * SECOND_MS)
    assert beat(play, run_id) is Refusal.EXPIRED


def test_a_target_without_heartbeats_has_the_whole_timeout() -> None:
    play, job, run_id = handed_over(heartbeat_seconds=None)
    assert the_run(play, run_id).lease_until == NOW + TIMEOUT_SECONDS * SECOND_MS
    play.clock.advance(TIMEOUT_SECONDS * SECOND_MS - 1)
    play.scan_all()
    assert beat(play, run_id) is DONE
    assert say(play, run_id) is DONE
    assert play.job(job.key).status is JobStatus.COMPLETED


def test_an_at_most_once_run_whose_targets_heartbeats_cease_is_not_called_again() -> None:
    play, job, run_id = handed_over(delivery=Guarantee.AT_MOST_ONCE)
    play.run_on(job.key)
    assert (the_run(play, run_id).state, the_run(play, run_id).reason) == (RunState.FAILED, Reason.AT_MOST_ONCE)
    assert play.caller.attempts() == [(NOW, 1)]


def test_the_answer_to_a_heartbeat_shows_a_cancel_which_ends_the_run_after_its_lease() -> None:
    play, job, run_id = handed_over()
    (changed,) = cancel(play.context(), [(job.key, None)])
    assert changed.claimed == (run_id,)
    ((_, run),) = heartbeat(play.context(), [(run_id, 1)])
    assert run is not None
    assert run.cancel_requested
    play.run_on(job.key)
    run = the_run(play, run_id)
    assert (run.state, run.reason) == (RunState.CANCELLED, Reason.JOB_CANCELLED)
    assert play.caller.attempts() == [(NOW, 1)]


CANCELLED_WORDS: dict[str, tuple[str | None, RunState]] = {
    "it was done all the same": (None, RunState.SUCCEEDED),
    "it stopped": ("It was asked to stop.", RunState.CANCELLED),
}


@pytest.mark.parametrize("case", CANCELLED_WORDS)
def test_a_target_that_was_asked_to_stop_reports_how_it_ended(case: str) -> None:
    error, state = CANCELLED_WORDS[case]
    play, job, run_id = handed_over()
    cancel(play.context(), [(job.key, None)])
    assert say(play, run_id, error=error) is DONE
    assert the_run(play, run_id).state is state


def _a_heartbeat(play: Play, run_id: RunId) -> None:
    assert beat(play, run_id) is DONE


def _a_success(play: Play, run_id: RunId) -> None:
    assert say(play, run_id) is DONE


MEANWHILE: dict[str, tuple[Callable[[Play, RunId], None], RunState]] = {
    "a heartbeat": (_a_heartbeat, RunState.RUNNING),
    "a success": (_a_success, RunState.SUCCEEDED),
}


@pytest.mark.parametrize("case", MEANWHILE)
def test_a_change_between_the_reading_of_an_expired_lease_and_its_end_wins(case: str) -> None:
    act, state = MEANWHILE[case]
    play, _, run_id = handed_over()
    as_read_before = the_run(play, run_id)
    play.clock.advance(HEARTBEAT_SECONDS * SECOND_MS - 1)
    act(play, run_id)
    play.clock.advance(30 * SECOND_MS)
    assert reap(play.context(), [as_read_before], play.clock.now()) == 0
    assert the_run(play, run_id).state is state
