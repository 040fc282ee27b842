"""A process that reconciles a dead letter is stopped anywhere, and repeats it: no run is lost, no live run ended."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import pytest

from tests.crash.promises import assert_all_is_well, at_rest
from tests.crash.stage import Stage, stop_when
from tests.engine.play import NOW, Play, spec
from tests.engine.service import KEY, locked
from timeball.domain.model.jobs.job import JobSpec, JobStatus
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import RunState
from timeball.domain.model.terms.policies import OverlapPolicy
from timeball.domain.time.instants import SECOND_MS
from timeball.domain.time.schedule import At, Every, Schedule
from timeball.engine.changes.change import pause, resume
from timeball.engine.execution.claim import claim
from timeball.engine.runs.watch import MAX_DELIVERY_FAILURES, reconcile_messages
from timeball.ports.queue import Delivery
from timeball.ports.rows import Swap

THREE = Schedule(Every(2, NOW), end_at=NOW + 4_000)


def _given_up(play: Play, deliveries: list[Delivery]) -> None:
    """Delete messages that no executor has received in time."""
    play.queue.inbox("normal").delete(deliveries)


def _given_up_once_too_often(play: Play, deliveries: list[Delivery]) -> None:
    _given_up(play, deliveries)
    (run,) = play.runs(KEY)
    often = replace(run, delivery_failures=MAX_DELIVERY_FAILURES - 1)
    assert play.store.runs.swap([Swap(run, often)], NOW)[0].done


def _taken_back_by_a_pause_that_was_stopped(play: Play, deliveries: list[Delivery]) -> None:
    _given_up(play, deliveries)
    stop_when(play, lambda play: pause(play.context(), [(KEY, None)]), _is_paused)
    assert play.runs(KEY)[0].state is RunState.QUEUED


def _claimed_by_a_process_that_dies(play: Play, deliveries: list[Delivery]) -> None:
    _given_up(play, deliveries)
    claim(play.context(), [delivery.run for delivery in deliveries], "another")


def _waiting_for_its_retry(play: Play, deliveries: list[Delivery]) -> None:
    play.caller.statuses = [500]
    play.execute(deliveries)


def _ended_by_a_process_that_died_before_the_effects(play: Play, deliveries: list[Delivery]) -> None:
    _given_up(play, deliveries)
    stop_when(play, partial(Play.execute, deliveries=deliveries), _first_has_ended)
    assert play.job(KEY).status is JobStatus.PENDING


def _holder_ended_with_another_parked(play: Play, deliveries: list[Delivery]) -> None:
    first, second, _ = deliveries
    play.caller.meanwhile = lambda: claim(play.context(), [second.run], "another")
    play.queue.inbox("normal").delete([first, second])
    stop_when(play, partial(Play.execute, deliveries=[first]), _first_has_ended)
    assert (play.job(KEY).holder, play.job(KEY).next_holder) == (first.run, second.run)


def _is_paused(play: Play) -> bool:
    return play.job(KEY).status is JobStatus.PAUSED


def _first_has_ended(play: Play) -> bool:
    return play.runs(KEY)[0].is_terminal


@dataclass(frozen=True)
class Case:
    """How the queue came to give up on a job's first message, the points, how both runs end, and the job's status."""

    comes_to_it: Callable[[Play, list[Delivery]], None]
    points: int
    ends: tuple[RunState, Reason | None, JobStatus]
    spec: JobSpec


WELL = (RunState.SUCCEEDED, None, JobStatus.COMPLETED)
FAILED = (RunState.FAILED, Reason.UNDELIVERABLE, JobStatus.FAILED)
ONE_OFF = spec("job", At(NOW))
CASES = {
    "it waits": Case(_given_up, 2, WELL, ONE_OFF),
    "it waits, given up on once too often": Case(_given_up_once_too_often, 2, FAILED, ONE_OFF),
    "it waits, and its job is paused": Case(_taken_back_by_a_pause_that_was_stopped, 2, WELL, ONE_OFF),
    "it is under way": Case(_claimed_by_a_process_that_dies, 2, WELL, ONE_OFF),
    "it waits for its retry": Case(_waiting_for_its_retry, 2, WELL, ONE_OFF),
    "it is over, and its job does not know": Case(_ended_by_a_process_that_died_before_the_effects, 2, WELL, ONE_OFF),
    "it is over, and another is parked behind it": Case(
        _holder_ended_with_another_parked, 4, WELL, locked(OverlapPolicy.QUEUE_ONE, THREE)
    ),
}


def _judge(play: Play) -> None:
    assert reconcile_messages(play.context(), [play.runs(KEY)[0].id]) == [True]


@pytest.mark.parametrize("name", CASES)
def test_a_dead_letter_whose_reconciliation_was_stopped_anywhere_is_reconciled_again_and_its_run_ends(
    stage: Stage, name: str
) -> None:
    case, play = CASES[name], stage.play(NOW)
    (job,) = play.store_jobs([case.spec])
    play.scan_all()
    play.clock.advance(5 * SECOND_MS)
    case.comes_to_it(play, play.queue.receive("normal"))
    for left in stage.crashes(play, _judge, case.points):
        left.clock.advance(stage.later_ms)
        _judge(left)  # the letter is still there
        if _is_paused(left):
            resume(left.context(), [(KEY, None)])
        left.run_on(KEY, to_its_end=True)
        rest = at_rest(left, job)
        assert (rest.runs[0].state, rest.runs[0].reason, rest.row.status) == case.ends
        assert {run.state for run in rest.runs[1:]} <= {RunState.SUCCEEDED}
        assert_all_is_well(rest)
