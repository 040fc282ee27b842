"""Callback runs: the target answers 202, works on, and reports later how the attempt ended; or never reports."""

from dataclasses import replace

import pytest

from tests.engine.play import NOW, PLAIN_RETRY, Play, spec
from tests.engine.runs.handed_over import TIMEOUT_SECONDS, beat, handed_over, say, the_run
from tests.engine.runs.outcomes import DONE, NOT_FOUND
from timeball.domain.model.jobs.job import Completion, JobStatus
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import RunState
from timeball.domain.model.runs.values import Outcome
from timeball.domain.time.instants import SECOND_MS
from timeball.domain.time.schedule import At
from timeball.engine.execution.claim import claim
from timeball.engine.runs.effects import Refusal
from timeball.ports.queue import Delivery
from timeball.testing.memory_store import MemoryStore


def test_a_run_whose_target_answered_202_runs_on_without_a_message_until_the_target_reports_its_end() -> None:
    play, job, run_id = handed_over()
    run = the_run(play, run_id)
    assert (run.state, run.due_at, play.messages()) == (RunState.RUNNING, (run.lease_until or 0) + 5_000, [])
    play.clock.advance(30 * SECOND_MS)
    assert say(play, run_id) is DONE
    run = the_run(play, run_id)
    assert (run.state, run.finished_at, run.first_started_at) == (RunState.SUCCEEDED, NOW + 30_000, NOW)
    assert run.last is not None
    assert (run.last.outcome, run.last.started_at, run.last.body) == (Outcome.SUCCEEDED, NOW, "done")
    assert play.job(job.key).status is JobStatus.COMPLETED
    play.scan_all()
    assert the_run(play, run_id).due_at is None
    assert play.caller.attempts() == [(NOW, 1)]


def test_a_failure_that_the_target_reports_is_retried_by_the_retry_policy() -> None:
    play, job, run_id = handed_over()
    assert say(play, run_id, error="It is on fire.") is DONE
    assert (the_run(play, run_id).state, the_run(play, run_id).not_before) == (RunState.RETRYING, NOW + 5_000)
    play.run_on(job.key)
    assert [called_at - NOW for called_at, _ in play.caller.calls] == [0, 5_000]
    assert the_run(play, run_id).state is RunState.SUCCEEDED
    (attempt,) = play.store.attempts.of_run(run_id)
    assert (attempt.number, attempt.outcome, attempt.error) == (1, Outcome.FAILED, "It is on fire.")


def test_a_target_may_report_that_a_retry_makes_no_sense() -> None:
    play, job, run_id = handed_over()
    assert say(play, run_id, error="No such customer.", may_retry=False) is DONE
    assert (the_run(play, run_id).state, the_run(play, run_id).reason) == (RunState.FAILED, Reason.NOT_RETRIABLE)
    assert play.job(job.key).status is JobStatus.FAILED


@pytest.mark.parametrize("error", [None, "It is on fire."])
def test_a_repeated_report_takes_effect_once_and_gets_the_same_answer(error: str | None) -> None:
    play, _, run_id = handed_over()
    assert say(play, run_id, error=error) is DONE
    before = the_run(play, run_id)
    assert say(play, run_id, error=error) is DONE
    assert the_run(play, run_id) == before
    assert say(play, run_id, error=None if error else "Or did it?") is Refusal.STALE
    assert the_run(play, run_id) == before


def test_a_failure_that_is_reported_again_as_not_retriable_comes_too_late() -> None:
    play, _, run_id = handed_over()
    assert say(play, run_id, error="No such customer.") is DONE
    assert say(play, run_id, error="No such customer.", may_retry=False) is Refusal.STALE
    assert the_run(play, run_id).state is RunState.RETRYING


@pytest.mark.parametrize(("status", "error"), [(200, None), (503, "No such customer.")])
def test_a_report_after_an_answer_that_ended_its_attempt_comes_too_late(status: int, error: str | None) -> None:
    play = Play()
    play.store_jobs([replace(spec("job", At(NOW)), completion=Completion.CALLBACK)])
    play.scan_all()
    play.caller.statuses = [status]
    play.execute_next()
    (run,) = play.runs(spec("job", At(NOW)).key)
    assert (run.attempt, run.last and run.last.status) == (1, status)
    assert say(play, run.id, error=error) is Refusal.STALE
    assert the_run(play, run.id) == run


@pytest.mark.parametrize("retry_on", [("reported",), ("connection",)])
@pytest.mark.parametrize("is_early", [True, False], ids=["before its 202 is stored", "afterwards"])
def test_a_reported_failure_does_not_count_as_a_lost_connection(retry_on: tuple[str, ...], *, is_early: bool) -> None:
    play = Play()
    wanted = spec("job", At(NOW), replace(PLAIN_RETRY, retry_on=retry_on))
    play.store_jobs([replace(wanted, completion=Completion.CALLBACK)])
    play.scan_all()
    play.caller.statuses = [202]
    run_id = play.runs(wanted.key)[0].id
    play.caller.meanwhile = (lambda: say(play, run_id, error="It is on fire.")) if is_early else None
    play.execute_next()
    if not is_early:
        say(play, run_id, error="It is on fire.")
    assert the_run(play, run_id).state is (RunState.RETRYING if "reported" in retry_on else RunState.FAILED)


def test_a_report_about_an_older_attempt_is_refused() -> None:
    play, _, run_id = handed_over()
    say(play, run_id, error="It is on fire.")
    play.caller.statuses = [202]
    play.scan_all()
    play.drain()
    run = the_run(play, run_id)
    assert (run.state, run.attempt) == (RunState.RUNNING, 2)
    assert say(play, run_id, attempt=1) is Refusal.STALE
    assert beat(play, run_id, attempt=1) is Refusal.STALE
    assert the_run(play, run_id) == run
    assert say(play, run_id, attempt=2) is DONE


def test_a_report_for_a_run_whose_job_is_gone_is_refused() -> None:
    play, job, run_id = handed_over()
    run = the_run(play, run_id)
    assert isinstance(play.store, MemoryStore)
    del play.store.jobs[job.key]
    assert say(play, run_id) is Refusal.STALE
    assert beat(play, run_id) is Refusal.STALE
    assert the_run(play, run_id) == run


def test_a_report_for_a_run_that_waits_for_none_is_refused() -> None:
    play = Play()
    (job,) = play.store_jobs([spec("job", At(NOW))])
    play.scan_all()
    (run,) = play.runs(job.key)
    assert say(play, run.id, attempt=1) is Refusal.NOT_EXPECTED
    assert beat(play, run.id, attempt=1) is Refusal.NOT_EXPECTED
    assert say(play, replace(run.id, fire_at=NOW + 1)) is NOT_FOUND


def test_a_report_before_the_202_counts_and_the_202_changes_nothing() -> None:
    play = Play()
    (job,) = play.store_jobs([replace(spec("job", At(NOW)), completion=Completion.CALLBACK)])
    play.scan_all()
    (run,) = play.runs(job.key)
    play.caller.statuses = [202]
    heard: list[str] = []
    play.caller.meanwhile = lambda: heard.append(say(play, run.id))
    play.drain()
    assert heard == [DONE]
    assert (the_run(play, run.id).state, play.messages()) == (RunState.SUCCEEDED, [])
    assert play.job(job.key).status is JobStatus.COMPLETED


@pytest.mark.parametrize("status", [200, 500])
def test_a_target_that_may_report_need_not_do_so(status: int) -> None:
    play = Play()
    (job,) = play.store_jobs([replace(spec("job", At(NOW)), completion=Completion.CALLBACK)])
    play.scan_all()
    play.caller.statuses = [status]
    play.run_on(job.key)
    assert play.runs(job.key)[0].state is RunState.SUCCEEDED
    assert len(play.caller.calls) == (1 if status == 200 else 2)


def test_a_duplicate_message_neither_calls_the_target_again_nor_stays_in_the_queue() -> None:
    play, _, run_id = handed_over(heartbeat_seconds=None)
    before = the_run(play, run_id)
    assert play.execute([Delivery(run_id, "again")]) == []
    play.clock.advance((TIMEOUT_SECONDS + 60) * SECOND_MS)
    (late,) = claim(play.context(), [run_id], "another")
    assert (late.is_done, the_run(play, run_id)) == (True, before)
