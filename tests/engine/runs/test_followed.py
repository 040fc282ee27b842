"""Followed executions: a run lasts until its execution has ended, and stops the execution if the run must stop."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import pytest

from tests.crash.stage import stop_when
from tests.engine.play import NOW, PLAIN_RETRY, UNHEARD, Play
from tests.engine.runs.following import BROKEN, DONE, HOUR_MS, JOB, KEY, let_pass, run_of, started
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import RunState
from timeball.domain.model.runs.values import Outcome
from timeball.domain.model.terms.policies import OverlapPolicy
from timeball.domain.time.instants import MINUTE_MS, SECOND_MS
from timeball.domain.time.schedule import Every, Schedule
from timeball.engine.changes.change import cancel
from timeball.engine.runs.callback import Report, report
from timeball.engine.runs.due_runs import follow
from timeball.engine.runs.effects import Refusal
from timeball.engine.runs.manual import cancel_runs
from timeball.ports.target import ExecutionStatus
from timeball.testing.memory_services import MemoryExecutions


def test_an_execution_of_hours_uses_no_executor_and_few_polls() -> None:
    play = started(5 * HOUR_MS)
    invocations = play.invocations
    let_pass(play, 5 * HOUR_MS - MINUTE_MS, every_ms=30 * SECOND_MS)
    run = run_of(play)
    assert (run.state, run.attempt, play.messages(), play.invocations) == (RunState.RUNNING, 1, [], invocations)
    assert len(play.executions.looks) <= 5 * 60
    let_pass(play, 4 * MINUTE_MS)
    run = run_of(play)
    assert (run.state, run.due_at, play.invocations) == (RunState.SUCCEEDED, None, invocations)
    assert run.last is not None
    assert (run.last.outcome, run.last.body) == (Outcome.SUCCEEDED, '{"rows": 7}')
    assert 5 * HOUR_MS <= (run.finished_at or 0) - NOW <= 5 * HOUR_MS + 70 * SECOND_MS


def test_an_execution_that_fails_is_started_again_under_another_name_by_the_retry_policy() -> None:
    play = started(MINUTE_MS, BROKEN, DONE)
    let_pass(play, 5 * MINUTE_MS)
    assert (run_of(play).state, run_of(play).attempt) == (RunState.SUCCEEDED, 2)
    assert [name.rpartition("-")[2] for name in play.executions.started] == ["1", "2"]
    (attempt,) = play.store.attempts.of_run(run_of(play).id)
    assert (attempt.number, attempt.outcome, attempt.error) == (1, Outcome.FAILED, "The execution ended as FAILED.")


def test_an_execution_that_runs_out_of_time_is_stopped_and_its_attempt_has_timed_out() -> None:
    play = started(HOUR_MS, job=replace(JOB, timeout_seconds=900, retry=replace(PLAIN_RETRY, max_retries=0)))
    let_pass(play, 16 * MINUTE_MS)
    run = run_of(play)
    assert (run.state, run.last and run.last.outcome) == (RunState.FAILED, Outcome.TIMED_OUT)
    (execution,) = play.executions.started.values()
    assert 900 * SECOND_MS <= (execution.stopped_at or 0) - NOW <= 910 * SECOND_MS


@pytest.mark.parametrize("unanswered", [1, 2])
def test_an_execution_that_has_succeeded_does_not_time_out_because_a_poll_was_not_answered(unanswered: int) -> None:
    play = started(890 * SECOND_MS, job=replace(JOB, timeout_seconds=900))
    let_pass(play, 880 * SECOND_MS)
    play.clock.advance(MINUTE_MS)  # the execution ends, and then its time is up
    play.executions.unanswered = unanswered
    let_pass(play, 2 * MINUTE_MS)
    assert (run_of(play).state, run_of(play).attempt) == (RunState.SUCCEEDED, 1)


@pytest.mark.parametrize(
    ("stop", "reason"),
    [
        (lambda play: cancel_runs(play.context(), [run_of(play).id]), Reason.RUN_CANCELLED),
        (lambda play: cancel(play.context(), [(KEY, None)]), Reason.JOB_CANCELLED),
    ],
)
def test_a_run_that_is_cancelled_stops_its_execution_within_seconds(
    stop: Callable[[Play], object], reason: Reason
) -> None:
    play = started()
    let_pass(play, HOUR_MS, every_ms=30 * SECOND_MS)
    asked_at = play.clock.now()
    stop(play)
    let_pass(play, 10 * SECOND_MS, every_ms=SECOND_MS)
    assert (run_of(play).state, run_of(play).reason) == (RunState.CANCELLED, reason)
    (execution,) = play.executions.started.values()
    assert (execution.stopped_at or 0) - asked_at <= 2 * SECOND_MS


def test_a_newer_run_that_replaces_this_one_stops_its_execution() -> None:
    every = replace(JOB, schedule=Schedule(Every(600, NOW), max_runs=2), overlap=OverlapPolicy.CANCEL_OTHER)
    play = started(job=every)
    let_pass(play, 12 * MINUTE_MS)
    first, second = play.runs(KEY)
    assert (first.state, first.reason, second.state) == (RunState.CANCELLED, Reason.REPLACED, RunState.RUNNING)
    stopped = [one.stopped_at is not None for one in play.executions.started.values()]
    assert stopped == [True, False]


def test_a_run_goes_on_while_the_state_of_its_execution_is_unknown() -> None:
    play = started(MINUTE_MS)
    play.executions.silent = True
    let_pass(play, 10 * MINUTE_MS)
    assert (run_of(play).state, run_of(play).attempt) == (RunState.RUNNING, 1)
    play.executions.silent = False
    let_pass(play, 2 * MINUTE_MS)
    assert run_of(play).state is RunState.SUCCEEDED


def test_an_execution_that_aws_does_not_know_yet_goes_on_and_one_that_aws_has_forgotten_has_failed() -> None:
    play = started(job=replace(JOB, retry=replace(PLAIN_RETRY, max_retries=0)))
    (name, execution), *_ = play.executions.started.items()
    del play.executions.started[name]  # AWS may show a new execution only minutes later
    let_pass(play, 4 * MINUTE_MS)
    assert (run_of(play).state, run_of(play).attempt) == (RunState.RUNNING, 1)
    play.executions.started[name] = execution
    let_pass(play, 4 * MINUTE_MS)
    assert run_of(play).state is RunState.RUNNING
    del play.executions.started[name]
    let_pass(play, 2 * MINUTE_MS)
    assert (run_of(play).state, run_of(play).attempt) == (RunState.FAILED, 1)


def test_cancelling_an_execution_that_aws_does_not_know_yet_stops_it_once_it_is_known() -> None:
    play = started()
    (name, execution), *_ = play.executions.started.items()
    del play.executions.started[name]
    cancel_runs(play.context(), [run_of(play).id])
    let_pass(play, MINUTE_MS)
    assert run_of(play).state is RunState.RUNNING
    play.executions.started[name] = execution
    let_pass(play, MINUTE_MS)
    assert (run_of(play).state, play.executions.started[name].stopped_at is None) == (RunState.CANCELLED, False)


def test_an_execution_that_cannot_be_stopped_is_given_up_in_the_end() -> None:
    play = started(job=replace(JOB, timeout_seconds=300, retry=replace(PLAIN_RETRY, max_retries=0)))
    play.executions.silent = True
    let_pass(play, 14 * MINUTE_MS)
    assert run_of(play).state is RunState.RUNNING
    let_pass(play, 2 * MINUTE_MS)
    assert run_of(play).state is RunState.FAILED


def test_a_cancel_waits_until_it_is_known_that_the_execution_is_stopped() -> None:
    play = started()
    play.executions.silent = True
    cancel_runs(play.context(), [run_of(play).id])
    let_pass(play, 2 * MINUTE_MS)
    assert run_of(play).state is RunState.RUNNING
    play.executions.silent = False
    let_pass(play, 2 * MINUTE_MS)
    (execution,) = play.executions.started.values()
    assert (run_of(play).state, execution.stopped_at is not None) == (RunState.CANCELLED, True)


def test_the_first_report_of_an_end_counts_and_an_older_attempts_report_is_ignored() -> None:
    play = started(MINUTE_MS, BROKEN, DONE)
    let_pass(play, 80 * SECOND_MS)
    run = run_of(play)
    assert run.attempt == 2
    assert report(play.context(), [Report(run.id, 1, body="late")])[0][0] is Refusal.STALE
    assert report(play.context(), [Report(run.id, 2, body="told")])[0][0] is None
    let_pass(play, 2 * MINUTE_MS)
    last = run_of(play).last
    assert (run_of(play).state, last and last.body) == (RunState.SUCCEEDED, "told")


@pytest.mark.parametrize(
    ("statuses", "attempts"),
    [
        ([UNHEARD], 2),
        ([UNHEARD, 429, UNHEARD, 503], 5),  # a refusal says nothing about the attempt before
    ],
)
def test_a_later_attempt_follows_an_execution_whose_start_was_not_answered(statuses: list[int], attempts: int) -> None:
    job = replace(JOB, retry=replace(PLAIN_RETRY, max_retries=5))
    play = started(2 * MINUTE_MS, BROKEN, DONE, job=job, statuses=statuses)
    let_pass(play, 2 * MINUTE_MS)
    run = run_of(play)
    assert (run.attempt, [*play.executions.started]) == (attempts, [f"{run.id}-1"])
    let_pass(play, 5 * MINUTE_MS)  # the execution has failed, and so another is started
    run = run_of(play)
    assert (run.state, [*play.executions.started]) == (RunState.SUCCEEDED, [f"{run.id}-1", f"{run.id}-{attempts + 1}"])


def test_an_execution_of_a_dead_executor_is_followed_after_the_takeover() -> None:
    play = Play()
    play.caller.lasts_ms = HOUR_MS
    play.store_jobs([JOB])
    play.scan_all()
    stop_when(play, lambda play: play.execute(play.queue.receive("normal")), lambda play: bool(play.executions.started))
    let_pass(play, 2 * MINUTE_MS)
    run = run_of(play)
    assert (run.attempt, run.followed, [*play.executions.started]) == (2, f"{run.id}-1", [f"{run.id}-1"])


def test_an_execution_that_ends_by_itself_before_it_is_stopped_keeps_its_own_end() -> None:
    """No poll succeeds, and then the stop is accepted: of an execution that was over by then."""
    play = started(MINUTE_MS)
    play.clock.advance(2 * MINUTE_MS)
    cancel_runs(play.context(), [run_of(play).id])
    context = replace(play.context(), executions=_BlindOnce(play.executions))
    assert follow(context, [run_of(play)], play.clock.now()) == 1
    assert run_of(play).state is RunState.SUCCEEDED


def test_a_report_of_a_timeout_is_recorded_as_a_timeout_and_may_be_repeated() -> None:
    """The scan has stopped the execution, and died before it could write that."""
    play = started(job=replace(JOB, timeout_seconds=900, retry=replace(PLAIN_RETRY, max_retries=0)))
    run = run_of(play)
    play.clock.advance(901 * SECOND_MS)
    told = [Report(run.id, 1, error="It was stopped." + "!" * 500)] * 2
    assert [refusal for refusal, _ in report(play.context(), told)] == [None, None]
    (attempt,) = play.store.attempts.of_run(run.id)
    assert (attempt.outcome, attempt.error) == (Outcome.TIMED_OUT, told[0].error)


@dataclass
class _BlindOnce:
    """Executions whose first poll AWS does not answer."""

    executions: MemoryExecutions
    is_blind: bool = True

    def poll(self, arns: Sequence[str]) -> list[ExecutionStatus | None]:
        was_blind, self.is_blind = self.is_blind, False
        return [None] * len(arns) if was_blind else self.executions.poll(arns)

    def stop(self, arns: Sequence[str]) -> list[bool]:
        return self.executions.stop(arns)
