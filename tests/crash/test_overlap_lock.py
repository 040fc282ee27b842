"""Executors of a job with an overlap lock are stopped at every point: the lock is freed, the next holder starts."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tests.crash.promises import assert_all_is_well, at_rest
from tests.crash.stage import Stage
from tests.engine.play import NOW, Play
from tests.engine.service import KEY, locked
from timeball.domain.model.jobs.job import JobStatus
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import RunState
from timeball.domain.model.terms.policies import OverlapPolicy
from timeball.domain.time.instants import SECOND_MS
from timeball.domain.time.schedule import Every, Schedule, fires
from timeball.engine.execution.claim import claim
from timeball.ports.queue import Delivery

THREE = Schedule(Every(2, NOW), end_at=NOW + 4_000)
SKIP, QUEUE_ONE, CANCEL_OTHER = OverlapPolicy.SKIP, OverlapPolicy.QUEUE_ONE, OverlapPolicy.CANCEL_OTHER
Act = Callable[[Play, list[Delivery]], object]


def _claimed_by_another(play: Play, delivery: Delivery) -> None:
    """Claim a run for an executor that then vanishes; remove its message if the claim says so."""
    (one,) = claim(play.context(), [delivery.run], "another")
    if one.is_done:
        play.queue.inbox("normal").delete([delivery])


def _all_in_one_batch(play: Play, deliveries: list[Delivery]) -> None:
    play.execute(deliveries)


def _first_while_the_others_come(play: Play, deliveries: list[Delivery]) -> None:
    first, *others = deliveries

    def meanwhile() -> None:
        for delivery in others:
            _claimed_by_another(play, delivery)

    play.caller.meanwhile = meanwhile
    play.execute([first])


def _the_first(play: Play, deliveries: list[Delivery]) -> None:
    play.execute(deliveries[:1])


def _all_but_the_first(play: Play, deliveries: list[Delivery]) -> None:
    play.execute(deliveries[1:])


def _all_are_claimed(play: Play, deliveries: list[Delivery]) -> None:
    for delivery in deliveries:
        _claimed_by_another(play, delivery)
    play.clock.advance(play.rules.lease_ms + play.rules.margin_ms)


def _the_first_is_claimed(play: Play, deliveries: list[Delivery]) -> None:
    _claimed_by_another(play, deliveries[0])


@dataclass(frozen=True)
class Case:
    """A policy, the verb of the executor that is stopped, its points, the fires (s) that may run; the preparation."""

    overlap: OverlapPolicy
    act: Act
    points: int
    may_run: tuple[int, ...]
    before: Act = lambda *_: None


CASES = {
    # Hidden, lock taken, two skipped, claimed, ended, lock released, messages removed.
    "skip, in one batch": Case(SKIP, _all_in_one_batch, 26, (0, 2, 4)),
    "queueOne, in one batch": Case(QUEUE_ONE, _all_in_one_batch, 28, (0, 2, 4)),
    "cancelOther, in one batch": Case(CANCEL_OTHER, _all_in_one_batch, 34, (0, 2, 4)),
    # A run is next when the holder ends: it is sent, then gets the lock.
    "queueOne, the holder's end": Case(QUEUE_ONE, _first_while_the_others_come, 14, (0, 2, 4)),
    "cancelOther, the holder's end": Case(CANCEL_OTHER, _first_while_the_others_come, 16, (0, 2, 4)),
    "skip, a take-over": Case(SKIP, _the_first, 12, (0,), _all_are_claimed),
    "queueOne, a take-over": Case(QUEUE_ONE, _the_first, 14, (0, 2), _all_are_claimed),
    "cancelOther, a take-over": Case(CANCEL_OTHER, _the_first, 10, (4,), _all_are_claimed),
    "queueOne, behind a dead executor": Case(QUEUE_ONE, _all_but_the_first, 14, (0, 2, 4), _the_first_is_claimed),
    "cancelOther, behind a dead executor": Case(CANCEL_OTHER, _all_but_the_first, 16, (0, 2, 4), _the_first_is_claimed),
}


@pytest.mark.on_moto("cancelOther, a take-over")
@pytest.mark.parametrize("name", CASES)
def test_runs_under_a_lock_whose_executor_is_stopped_anywhere_leave_no_lock_held_and_no_run_waiting(
    stage: Stage, name: str
) -> None:
    case, play = CASES[name], stage.play(NOW)
    play.store_jobs([locked(case.overlap, THREE)])
    play.scan_all()
    play.clock.advance(5 * SECOND_MS)
    play.caller.takes_ms = 3 * SECOND_MS
    deliveries = play.queue.receive("normal")
    assert len(deliveries) == 3
    case.before(play, deliveries)
    for left in stage.crashes(play, lambda play: case.act(play, deliveries), case.points):
        left.run_on(KEY, to_its_end=True)
        _assert_promises(left, case)


def _assert_promises(play: Play, case: Case) -> None:
    rest = at_rest(play, play.job(KEY))
    rows = rest.runs
    assert [row.id.fire_at for row in rows] == list(fires(THREE, NOW, NOW + 4_000))
    assert {row.state for row in rows} <= {RunState.SUCCEEDED, RunState.SKIPPED, RunState.CANCELLED}
    ran = [(row.id.fire_at - NOW) // SECOND_MS for row in rows if row.state is RunState.SUCCEEDED]
    assert ran
    assert {*ran} <= {*case.may_run}
    if case.overlap is CANCEL_OTHER:
        assert ran[-1] == 4  # the newest in any case; an older one only before the newest's message is there
        reasons = {row.reason for row in rows[:-1] if row.state is not RunState.SUCCEEDED}
        assert reasons <= {Reason.REPLACED, Reason.MISFIRED}  # a message that was not hidden comes in 15 minutes
    assert_all_is_well(rest)
    assert rest.row.status is JobStatus.COMPLETED
