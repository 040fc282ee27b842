"""A take-over from a dead executor is stopped anywhere, too: a third executor ends the run, by the same rules."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import pytest

from tests.crash.promises import assert_all_is_well, at_rest
from tests.crash.stage import Stage
from tests.engine.play import NOW, PLAIN_RETRY, Play, spec
from tests.engine.service import KEY
from timeball.domain.model.jobs.job import JobStatus
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import RunState
from timeball.domain.model.runs.values import Outcome
from timeball.domain.model.terms.policies import RetryPolicy
from timeball.domain.time.schedule import At, Every, Timing
from timeball.engine.changes.change import cancel, pause
from timeball.engine.execution.claim import claim

ONCE = RetryPolicy(max_retries=0)
HOURLY = Every(3600, NOW)


def _nothing(play: Play) -> None:
    del play


def _cancel(play: Play) -> None:
    cancel(play.context(), [(KEY, None)])


def _pause(play: Play) -> None:
    pause(play.context(), [(KEY, None)])


def _lose_once_more(play: Play) -> None:
    play.clock.advance(play.rules.lease_ms + play.rules.margin_ms)
    (one,) = claim(play.context(), [play.runs(KEY)[0].id], "the second")
    assert one.is_mine


@dataclass(frozen=True)
class Case:
    """The job's schedule and retries, what precedes the take-over, how run and job end; the points."""

    timing: Timing
    retry: RetryPolicy
    meanwhile: Callable[[Play], None]
    ends: tuple[RunState, Reason | None, JobStatus]
    points: int


CASES = {
    # Hidden, claimed, called, the lost attempt kept, finished, the job concluded, the message removed.
    "it is tried again": Case(At(NOW), PLAIN_RETRY, _nothing, (RunState.SUCCEEDED, None, JobStatus.COMPLETED), 14),
    "it was lost twice": Case(
        At(NOW), PLAIN_RETRY, _lose_once_more, (RunState.SUCCEEDED, None, JobStatus.COMPLETED), 16
    ),
    # Hidden, ended, the job concluded, the message removed.
    "no try is left": Case(At(NOW), ONCE, _nothing, (RunState.FAILED, Reason.RETRIES_EXHAUSTED, JobStatus.FAILED), 8),
    # Hidden, ended, the message removed: nothing is left to conclude.
    "it was cancelled": Case(
        At(NOW), PLAIN_RETRY, _cancel, (RunState.CANCELLED, Reason.JOB_CANCELLED, JobStatus.CANCELLED), 6
    ),
    "its job is paused": Case(HOURLY, PLAIN_RETRY, _pause, (RunState.SUCCEEDED, None, JobStatus.PAUSED), 12),
}


@pytest.mark.parametrize("name", CASES)
def test_a_take_over_stopped_anywhere_ends_the_run_as_if_it_had_not_been(stage: Stage, name: str) -> None:
    case, play = CASES[name], stage.play(NOW)
    (job,) = play.store_jobs([spec("job", case.timing, case.retry)])
    play.scan_all()
    deliveries = play.queue.receive("normal")
    (one,) = claim(play.context(), [delivery.run for delivery in deliveries], "the first")
    assert one.is_mine
    case.meanwhile(play)
    play.clock.advance(play.rules.lease_ms + play.rules.margin_ms)
    for left in stage.crashes(play, partial(Play.execute, deliveries=deliveries), case.points):
        left.clock.advance(stage.later_ms)
        left.run_on(KEY)
        rest = at_rest(left, job)
        (run,) = rest.runs
        assert (run.state, run.reason, rest.row.status) == case.ends
        assert run.last is not None
        kept = rest.attempts.get(run.id, [run.last])
        assert [attempt.outcome for attempt in kept if attempt.number == 1] == [Outcome.LOST]
        assert [call.attempt for _, call in rest.calls if call.attempt == 1] == []
        assert bool(rest.calls) == (run.state is RunState.SUCCEEDED)
        assert_all_is_well(rest)
