"""Manual retries and cancels of runs; at-most-once runs are called once."""

from dataclasses import replace

import pytest

from tests.engine.play import NOW, PLAIN_RETRY, WORK, Play, spec
from tests.engine.runs.outcomes import DONE, NOT_FOUND, outcome
from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.model.jobs.job import Guarantee, Job, JobStatus
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.runs.transitions import deferred
from timeball.domain.model.runs.values import Outcome
from timeball.domain.model.terms.policies import RetryPolicy
from timeball.domain.time.instants import HOUR_MS, MINUTE_MS, SECOND_MS
from timeball.domain.time.schedule import At, Every, Timing
from timeball.engine.changes.change import cancel, pause
from timeball.engine.execution.claim import claim
from timeball.engine.runs.dead_letters import read_dead, replay
from timeball.engine.runs.effects import Refusal
from timeball.engine.runs.manual import Edit, cancel_runs, retry_runs
from timeball.engine.runs.trigger import Trigger, trigger
from timeball.ports.rows import Swap


def _due(timing: Timing | None = None, retry: RetryPolicy = PLAIN_RETRY) -> tuple[Play, Job, RunId]:
    play = Play()
    (job,) = play.store_jobs([spec("job", timing or At(NOW), retry)])
    play.scan_all()
    return play, job, play.runs(job.key)[0].id


def _failed(timing: Timing | None = None) -> tuple[Play, Job, RunId]:
    """Return a play in which a run has failed for good, after two attempts."""
    play, job, run_id = _due(timing, replace(PLAIN_RETRY, max_retries=1))
    play.caller.statuses = [500, 500]
    play.drain()
    play.clock.advance(5 * SECOND_MS)
    play.scan_all()
    play.drain()
    assert (_run(play, run_id).state, _run(play, run_id).attempt) == (RunState.FAILED, 2)
    return play, job, run_id


def _run(play: Play, run_id: RunId) -> Run:
    (run,) = play.store.runs.read([run_id])
    assert run is not None
    return run


def _retry(play: Play, run_id: RunId) -> str:
    return outcome(retry_runs(play.context(), [run_id])[0])


def _cancel(play: Play, run_id: RunId) -> str:
    return outcome(cancel_runs(play.context(), [run_id])[0])


def test_a_failed_run_is_retried_with_a_fresh_budget_and_its_history_is_kept() -> None:
    play, job, run_id = _failed()
    play.caller.statuses = [500]
    assert _retry(play, run_id) is DONE
    play.run_on(job.key)
    run = _run(play, run_id)
    assert (run.state, run.attempt) == (RunState.SUCCEEDED, 4)
    assert [(one.number, one.status) for one in play.store.attempts.of_run(run_id)] == [(1, 500), (2, 500), (3, 500)]
    assert play.caller.attempts() == [(NOW, 1), (NOW, 2), (NOW, 3), (NOW, 4)]


def test_a_one_off_that_failed_is_completed_when_its_retried_run_succeeds() -> None:
    play, job, run_id = _failed()
    assert play.job(job.key).status is JobStatus.FAILED
    _retry(play, run_id)
    play.run_on(job.key)
    assert play.job(job.key).status is JobStatus.COMPLETED


def test_a_manual_retry_that_fails_as_often_as_its_policy_allows_fails_again() -> None:
    play, job, run_id = _failed()
    play.caller.statuses = [500, 500]
    _retry(play, run_id)
    play.run_on(job.key)
    assert (_run(play, run_id).state, _run(play, run_id).attempt) == (RunState.FAILED, 4)
    assert (_run(play, run_id).is_dead_letter, play.job(job.key).status) == (True, JobStatus.FAILED)


def test_a_run_that_waits_for_its_retry_is_retried_at_once() -> None:
    play, job, run_id = _due()
    play.caller.statuses = [500]
    play.drain()
    assert _run(play, run_id).not_before == NOW + 5_000
    assert _retry(play, run_id) is DONE
    play.drain()
    assert [called_at for called_at, _ in play.caller.calls] == [NOW, NOW]
    assert _run(play, run_id).state is RunState.SUCCEEDED
    assert play.job(job.key).status is JobStatus.COMPLETED


def test_a_repeated_request_for_a_retry_makes_one_retry() -> None:
    play, job, run_id = _failed()
    assert [_retry(play, run_id), _retry(play, run_id)] == [DONE, DONE]
    play.run_on(job.key)
    assert len(play.caller.calls) == 3


def test_a_queued_run_whose_message_was_lost_is_sent_again() -> None:
    play, job, run_id = _due()
    for delivery in play.queue.receive("normal"):
        play.queue.inbox("normal").delete([delivery])  # the queue was purged
    play.clock.advance(20 * 24 * 60 * MINUTE_MS)
    play.scan_all()
    assert play.messages() == []
    assert _retry(play, run_id) is DONE
    play.run_on(job.key)
    assert (_run(play, run_id).state, play.job(job.key).status) == (RunState.SUCCEEDED, JobStatus.COMPLETED)


def test_a_run_that_waits_for_a_later_start_keeps_it_and_needs_no_message_before() -> None:
    play, job, run_id = _failed()
    replay(play.context(), read_dead(play.context(), [run_id]), 10)
    renewed = _run(play, run_id)
    later = Swap(renewed, deferred(renewed, NOW + HOUR_MS, Reason.HOST_PACED, NOW))
    play.store.runs.swap([later], play.clock.now())
    assert _retry(play, run_id) is DONE
    assert (_run(play, run_id), play.messages()) == (later.written, [])
    play.run_on(job.key)
    assert [(called_at - NOW) // SECOND_MS for called_at, _ in play.caller.calls] == [0, 5, 3600]


def test_a_run_that_succeeded_or_whose_job_was_cancelled_is_not_retried() -> None:
    play, job, run_id = _due()
    play.drain()
    assert _retry(play, run_id) is Refusal.WRONG_STATE
    assert _retry(play, replace(run_id, fire_at=NOW + 1)) is NOT_FOUND
    play, job, run_id = _failed(Every(3600, NOW))
    cancel(play.context(), [(job.key, None)])
    assert _retry(play, run_id) is Refusal.JOB_CANCELLED
    assert _run(play, run_id).state is RunState.FAILED


def test_a_refused_retry_does_not_change_the_job() -> None:
    play, job, run_id = _due(Every(3600, NOW))
    play.drain()
    before = play.job(job.key)
    assert _retry(play, run_id) is Refusal.WRONG_STATE
    assert _retry(play, replace(run_id, fire_at=5)) is NOT_FOUND
    assert play.job(job.key) == before


def test_a_run_that_was_never_delivered_runs_manually_however_late_and_whatever_its_schedule_is_now() -> None:
    play, job, run_id = _due(Every(3600, NOW))
    before = _run(play, run_id)
    failed = replace(before, state=RunState.FAILED, reason=Reason.UNDELIVERABLE, finished_at=NOW)
    assert play.store.runs.swap([Swap(before, failed)], NOW)[0].done
    play.drain()
    play.clock.advance(30 * MINUTE_MS)
    pause(play.context(), [(job.key, None)])
    assert _retry(play, run_id) is DONE
    play.drain()
    assert _run(play, run_id).state is RunState.SUCCEEDED


@pytest.mark.parametrize("times", [1, 2])
def test_a_waiting_run_is_cancelled_and_never_called(times: int) -> None:
    play, job, run_id = _due()
    assert [_cancel(play, run_id) for _ in range(times)] == [DONE] * times
    play.run_on(job.key)
    run = _run(play, run_id)
    assert (run.state, run.reason, run.due_at) == (RunState.CANCELLED, Reason.RUN_CANCELLED, None)
    assert (play.caller.calls, play.job(job.key).status) == ([], JobStatus.CANCELLED)


def test_a_run_that_waits_for_its_retry_is_cancelled() -> None:
    play, job, run_id = _due(Every(3600, NOW))
    play.caller.statuses = [500]
    play.drain()
    assert _cancel(play, run_id) is DONE
    play.run_on(job.key)
    assert (_run(play, run_id).state, len(play.caller.calls)) == (RunState.CANCELLED, 1)
    assert play.job(job.key).status is JobStatus.PENDING


def test_a_run_that_is_under_way_is_asked_to_stop_and_is_cancelled() -> None:
    play, _, run_id = _due()
    play.caller.takes_ms = 60_000
    play.caller.meanwhile = lambda: _cancel(play, run_id)
    play.drain()
    run = _run(play, run_id)
    assert (run.state, run.reason) == (RunState.CANCELLED, Reason.RUN_CANCELLED)
    assert play.clock.now() < NOW + 30_000


def test_a_run_that_was_asked_to_stop_is_not_retried_because_it_will_be_cancelled() -> None:
    play, job, run_id = _due()
    claim(play.context(), [run_id], "another")
    _cancel(play, run_id)
    assert _retry(play, run_id) is Refusal.WRONG_STATE
    play.run_on(job.key)
    assert (_run(play, run_id).state, play.caller.calls) == (RunState.CANCELLED, [])


def test_a_run_whose_executor_died_is_cancelled_after_its_lease() -> None:
    play, job, run_id = _due()
    claim(play.context(), [run_id], "another")
    assert _cancel(play, run_id) is DONE
    play.run_on(job.key)
    run = _run(play, run_id)
    assert (run.state, run.reason) == (RunState.CANCELLED, Reason.RUN_CANCELLED)
    assert run.last is not None
    assert (run.last.outcome, play.caller.calls) == (Outcome.LOST, [])


def test_a_run_that_is_over_is_not_cancelled() -> None:
    play, _, run_id = _due()
    play.drain()
    assert _cancel(play, run_id) is Refusal.WRONG_STATE
    assert _cancel(play, RunId(JobKey("acme", "other"), NOW, Origin.MANUAL)) is NOT_FOUND


def test_cancelling_a_run_does_not_change_its_job_or_its_other_runs() -> None:
    play, job, run_id = _due(Every(2, NOW))
    others = trigger(play.context(), [Trigger(job.key, request="one")])
    assert _cancel(play, run_id) is DONE
    play.drain()
    assert run_id not in [call.run for _, call in play.caller.calls]
    assert others[0].run is not None
    assert others[0].run.id in [call.run for _, call in play.caller.calls]
    assert play.job(job.key).status is JobStatus.PENDING


# Columns: the target's answers, and how often it is called.
AT_MOST_ONCE = {"an error": ([500], 1), "no way": ([503, 200], 1), "a success": ([200], 1)}


def _at_most_once() -> tuple[Play, Job]:
    play = Play()
    (job,) = play.store_jobs([replace(spec("job", At(NOW)), delivery=Guarantee.AT_MOST_ONCE)])
    play.scan_all()
    return play, job


@pytest.mark.parametrize("case", AT_MOST_ONCE)
def test_an_at_most_once_run_is_not_called_again_after_an_answer(case: str) -> None:
    statuses, calls = AT_MOST_ONCE[case]
    play, job = _at_most_once()
    play.caller.statuses = list(statuses)
    play.run_on(job.key)
    assert len(play.caller.calls) == calls
    expected = RunState.SUCCEEDED if statuses == [200] else RunState.FAILED
    assert play.runs(job.key)[0].state is expected


def test_an_at_most_once_run_is_not_called_again_after_its_executor_died() -> None:
    play, job = _at_most_once()
    (delivery,) = play.queue.receive("normal")
    claim(play.context(), [delivery.run], "another")
    play.run_on(job.key)
    (run,) = play.runs(job.key)
    assert (run.state, run.reason, play.caller.calls) == (RunState.FAILED, Reason.AT_MOST_ONCE, [])


def test_an_at_most_once_run_is_called_again_on_a_manual_retry() -> None:
    play, job = _at_most_once()
    play.caller.statuses = [500]
    play.run_on(job.key)
    _retry(play, play.runs(job.key)[0].id)
    play.run_on(job.key)
    assert play.runs(job.key)[0].state is RunState.SUCCEEDED


def test_an_edited_payload_is_sent_by_the_next_calls_and_the_jobs_own_stays() -> None:
    play, job, run_id = _failed()
    play.caller.statuses = [500, 200]
    assert outcome(retry_runs(play.context(), [run_id], Edit('{"edited":1}'))[0]) == DONE
    play.run_on(job.key, MINUTE_MS)
    payloads = [call.work.payload for _, call in play.caller.calls if call.run == run_id]
    assert payloads[-2:] == ['{"edited":1}'] * 2
    assert payloads[0] == WORK.payload
    assert _run(play, run_id).state is RunState.SUCCEEDED
