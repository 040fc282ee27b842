"""A run that follows an execution is stopped at every point, from the call to the end: it starts nothing twice.

Every execution that it has started is over when the run is, and the run ends as the execution did.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from functions.events import report_ends
from tests.crash.promises import assert_all_is_well, at_rest
from tests.crash.stage import Stage
from tests.engine.play import NOW, PLAIN_RETRY, Play, spec
from timeball.aws.executions import EndedExecution
from timeball.domain.attempts.callback_token import token_of
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.terms.policies import Work
from timeball.domain.model.terms.target import StepFunctionsTarget
from timeball.domain.time.instants import SECOND_MS
from timeball.domain.time.schedule import At
from timeball.engine.runs.manual import cancel_runs
from timeball.ports.target import ExecutionStatus

SECRET = "s" * 64
TARGET = StepFunctionsTarget("arn:aws:states:eu-west-1:123456789012:stateMachine:m", follow=True)
JOB = replace(spec("job", At(NOW), PLAIN_RETRY, timeout_seconds=300), work=Work(TARGET, "{}"))
BROKEN = ExecutionStatus(is_over=True, error="The execution ended as FAILED." + "!" * 500)
LASTS_SECONDS = 60


def _sent(play: Play, *ends: ExecutionStatus) -> None:
    play.caller.lasts_ms, play.caller.ends = LASTS_SECONDS * SECOND_MS, [*ends]
    play.store_jobs([JOB])
    play.scan_all()


def _followed(play: Play, *ends: ExecutionStatus, for_seconds: int = 20) -> None:
    _sent(play, *ends)
    _execute(play)
    play.clock.advance(for_seconds * SECOND_MS)


def _over(play: Play) -> None:
    _followed(play, for_seconds=LASTS_SECONDS)


def _broken(play: Play) -> None:
    _followed(play, BROKEN, for_seconds=LASTS_SECONDS)


def _endless(play: Play) -> None:
    _sent(play)
    play.caller.lasts_ms = 10**9
    _execute(play)
    play.clock.advance(20 * SECOND_MS)
    play.caller.lasts_ms = 0


def _out_of_time(play: Play) -> None:
    _endless(play)
    play.clock.advance(JOB.timeout_seconds * SECOND_MS)


def _to_stop(play: Play) -> None:
    _endless(play)
    _cancel(play)


def _execute(play: Play) -> None:
    play.execute(play.queue.receive("normal"))


def _cancel(play: Play) -> None:
    cancel_runs(play.context(), [_run(play).id])


def _scan(play: Play) -> None:
    play.clock.advance(play.rules.margin_ms)
    play.scan()


def _tell(play: Play) -> None:
    run = _run(play)
    ((name, one),) = play.executions.started.items()
    told = EndedExecution(str(run.id), token_of(run.id, 1, SECRET), name, one.end)
    report_ends(play.context(), [told], lambda: (SECRET,))


def _run(play: Play) -> Run:
    return play.runs(JOB.key)[0]


@dataclass(frozen=True)
class Case:
    """The preparation, the verb that is stopped, its points; the run's end, and the number of executions it started."""

    prepare: Callable[[Play], None]
    act: Callable[[Play], object]
    points: int
    state: RunState = RunState.SUCCEEDED
    started: int = 1


CASES = {
    # Hidden, claimed, called, handed over, removed.
    "a call and its hand-over": Case(_sent, _execute, 8),
    "a look, and it goes on": Case(_followed, _scan, 2),
    # The run, its job, its due key.
    "a look, and it is over": Case(_over, _scan, 4),
    # The attempt, the run.
    "a look, and it has failed": Case(_broken, _scan, 4, started=2),
    "an event": Case(_over, _tell, 4),
    "an event of a failure": Case(_broken, _tell, 4, started=2),
    "a cancel": Case(_endless, _cancel, 2, RunState.CANCELLED),
    # The execution, its attempt, the run, its job.
    "a stop": Case(_to_stop, _scan, 8, RunState.CANCELLED),
    "the end of its time": Case(_out_of_time, _scan, 6, started=2),
}


@pytest.mark.on_moto("a call and its hand-over", "a look, and it has failed", "a stop")
@pytest.mark.parametrize("name", CASES)
def test_a_followed_run_stopped_anywhere_starts_one_execution_and_ends_as_it(stage: Stage, name: str) -> None:
    case, play = CASES[name], stage.play(NOW)
    case.prepare(play)
    for left in stage.crashes(play, case.act, case.points):
        if case.act in (_cancel, _tell):
            case.act(left)  # the caller repeats its request, and the event's message comes again
        left.clock.advance(stage.later_ms)
        left.run_on(JOB.key)
        _assert_promises(left, case)


def _assert_promises(play: Play, case: Case) -> None:
    run, started = _run(play), [*play.executions.started.values()]
    assert (run.state, len(started)) == (case.state, case.started)
    assert max(min(one.ends_at, one.stopped_at or one.ends_at) for one in started) <= (run.finished_at or 0)
    stored = {one.number: one for one in play.store.attempts.of_run(run.id)}
    assert stored.keys() >= {*range(1, run.attempt)}
    if case.prepare is _broken:
        assert stored[1].error == BROKEN.error
    assert_all_is_well(at_rest(play, play.job(JOB.key)))
