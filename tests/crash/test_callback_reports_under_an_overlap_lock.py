"""A report, the end of a lease or a manual change that moves an overlap lock is stopped anywhere: the lock moves on.

The state after a crash leads to the same end as without the crash, or as without the verb.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from tests.crash.promises import assert_all_is_well, at_rest
from tests.crash.stage import Stage
from tests.engine.play import NOW, Play
from tests.engine.service import KEY, locked
from timeball.domain.model.ids import RunId
from timeball.domain.model.jobs.job import Completion, JobStatus
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import RunState
from timeball.domain.model.terms.policies import OverlapPolicy
from timeball.domain.time.instants import SECOND_MS
from timeball.domain.time.schedule import Every, Schedule
from timeball.engine.runs.callback import Report, report
from timeball.engine.runs.manual import cancel_runs, retry_runs

TWO = Schedule(Every(2, NOW), end_at=NOW + 2_000)
HEARTBEAT_SECONDS = 20
"""Short enough for a queue not to give up on a message that waits for the end of that lease."""
SKIP, QUEUE_ONE, CANCEL_OTHER = OverlapPolicy.SKIP, OverlapPolicy.QUEUE_ONE, OverlapPolicy.CANCEL_OTHER
Verb = Callable[[Play], object]


def _run(play: Play, number: int) -> RunId:
    return play.runs(KEY)[number - 1].id


def _begin(play: Play, policy: OverlapPolicy, completion: Completion, first_answer: int) -> None:
    """Let both runs be claimed, one after the other; the second finds the first as its target's answer has left it."""
    heartbeat_seconds = HEARTBEAT_SECONDS if completion is Completion.CALLBACK else None
    play.store_jobs([replace(locked(policy, TWO), completion=completion, heartbeat_seconds=heartbeat_seconds)])
    play.scan_all()
    play.clock.advance(2 * SECOND_MS)
    first, second = sorted(play.queue.receive("normal"), key=lambda delivery: delivery.run)
    play.caller.statuses = [first_answer]
    play.execute([first])
    play.clock.advance(SECOND_MS)
    play.caller.statuses = [202]
    play.execute([second])
    play.caller.statuses = []


def _handed_over(play: Play, policy: OverlapPolicy) -> None:
    """Hand the first run over to its target, and let the second one come."""
    _begin(play, policy, Completion.CALLBACK, 202)


def _not_heard_of(play: Play, policy: OverlapPolicy) -> None:
    _handed_over(play, policy)
    play.clock.advance(HEARTBEAT_SECONDS * SECOND_MS + play.rules.margin_ms)


def _retrying(play: Play, policy: OverlapPolicy) -> None:
    """Let the first run wait for its retry, and the second one come."""
    _begin(play, policy, Completion.ANSWER, 500)


def _failed_before(play: Play, policy: OverlapPolicy) -> None:
    """Let the first run fail for good, and hand the second one over to its target."""
    _begin(play, policy, Completion.CALLBACK, 400)
    assert [run.state for run in play.runs(KEY)] == [RunState.FAILED, RunState.RUNNING]


def _complete(play: Play) -> None:
    report(play.context(), [Report(_run(play, 1), 1, body="b")])


def _fail(play: Play) -> None:
    report(play.context(), [Report(_run(play, 1), 1, error="It broke.")])


def _fail_for_good(play: Play) -> None:
    report(play.context(), [Report(_run(play, 1), 1, error="It is of no use.", may_retry=False)])


def _cancel_first(play: Play) -> None:
    cancel_runs(play.context(), [_run(play, 1)])


def _cancel_second(play: Play) -> None:
    cancel_runs(play.context(), [_run(play, 2)])


def _retry_first(play: Play) -> None:
    retry_runs(play.context(), [_run(play, 1)])


def _retry_second(play: Play) -> None:
    retry_runs(play.context(), [_run(play, 2)])


End = tuple[RunState, Reason | None]
WELL: End = (RunState.SUCCEEDED, None)
USELESS: End = (RunState.FAILED, Reason.NOT_RETRIABLE)
STOPPED: End = (RunState.CANCELLED, Reason.RUN_CANCELLED)
REPLACED: End = (RunState.CANCELLED, Reason.REPLACED)
OVERLAP: End = (RunState.SKIPPED, Reason.OVERLAP)


@dataclass(frozen=True)
class Case:
    """A policy, the preparation, the verb that is stopped, its points, and how both runs end if it is done."""

    overlap: OverlapPolicy
    prepare: Callable[[Play, OverlapPolicy], None]
    act: Verb
    points: int
    first: End
    second: End


CASES = {
    # The run, its attempt, the next holder's message, the lock; for the last fire also the job; its due key stays.
    "queueOne, a success": Case(QUEUE_ONE, _handed_over, _complete, 6, WELL, WELL),
    "queueOne, a failure": Case(QUEUE_ONE, _handed_over, _fail, 4, WELL, WELL),
    "queueOne, a failure for good": Case(QUEUE_ONE, _handed_over, _fail_for_good, 8, USELESS, WELL),
    "queueOne, the end of a lease": Case(QUEUE_ONE, _not_heard_of, Play.scan, 6, WELL, WELL),
    "queueOne, a cancel of the holder": Case(QUEUE_ONE, _handed_over, _cancel_first, 2, STOPPED, WELL),
    "queueOne, a cancel between attempts": Case(QUEUE_ONE, _retrying, _cancel_first, 6, STOPPED, WELL),
    "queueOne, a cancel of the parked run": Case(QUEUE_ONE, _handed_over, _cancel_second, 6, WELL, STOPPED),
    "queueOne, a retry between attempts": Case(QUEUE_ONE, _retrying, _retry_first, 8, WELL, WELL),
    "queueOne, a retry of the parked run": Case(QUEUE_ONE, _handed_over, _retry_second, 8, WELL, WELL),
    "queueOne, a retry beside another": Case(QUEUE_ONE, _failed_before, _retry_first, 8, WELL, WELL),
    "skip, a success": Case(SKIP, _handed_over, _complete, 4, WELL, OVERLAP),
    "skip, a failure for good": Case(SKIP, _handed_over, _fail_for_good, 6, USELESS, OVERLAP),
    "skip, the end of a lease": Case(SKIP, _not_heard_of, Play.scan, 6, WELL, OVERLAP),
    "skip, a cancel between attempts": Case(SKIP, _retrying, _cancel_first, 4, STOPPED, OVERLAP),
    "skip, a retry beside another": Case(SKIP, _failed_before, _retry_first, 8, WELL, WELL),
    # The holder is asked to stop. If its run has ended by then, it keeps its end.
    "cancelOther, a success": Case(CANCEL_OTHER, _handed_over, _complete, 6, WELL, WELL),
    "cancelOther, a failure": Case(CANCEL_OTHER, _handed_over, _fail, 8, REPLACED, WELL),
    "cancelOther, the end of a lease": Case(CANCEL_OTHER, _not_heard_of, Play.scan, 12, REPLACED, WELL),
    "cancelOther, a cancel of the parked run": Case(CANCEL_OTHER, _handed_over, _cancel_second, 6, REPLACED, STOPPED),
    "cancelOther, a retry of the parked run": Case(CANCEL_OTHER, _handed_over, _retry_second, 8, REPLACED, WELL),
    "cancelOther, a retry beside another": Case(CANCEL_OTHER, _failed_before, _retry_first, 8, WELL, REPLACED),
}


def _run_on(play: Play) -> tuple[End, End]:
    """Let both runs end; return their ends."""
    play.run_on(KEY, to_its_end=True)
    rest = at_rest(play, play.job(KEY))
    assert_all_is_well(rest)
    first, second = rest.runs
    assert rest.row.status is JobStatus.COMPLETED
    return (first.state, first.reason), (second.state, second.reason)


@pytest.mark.on_moto(
    "queueOne, a failure for good",
    "queueOne, the end of a lease",
    "queueOne, a cancel between attempts",
    "skip, a retry beside another",
)
@pytest.mark.parametrize("asks_again", [True, False])
@pytest.mark.parametrize("name", CASES)
def test_a_verb_that_moves_a_lock_and_is_stopped_anywhere_leaves_the_lock_to_the_next_run(
    stage: Stage, name: str, *, asks_again: bool
) -> None:
    case, play = CASES[name], stage.play(NOW)
    case.prepare(play, case.overlap)
    before = stage.picture(play)
    ends = {(case.first, case.second)}
    if not asks_again:
        ends.add(_run_on(stage.as_in(before)))
    for left in stage.crashes(stage.as_in(before), case.act, case.points):
        if asks_again:
            case.act(left)
        left.clock.advance(stage.later_ms)
        assert _run_on(left) in ends
