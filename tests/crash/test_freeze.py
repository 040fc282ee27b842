"""A freeze: the claim, the lifting request and the plan at its end are stopped at every point, and no fire is lost."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from tests.crash.promises import assert_all_is_well, assert_each_run_was_called_once, at_rest
from tests.crash.stage import Stage
from tests.engine.play import NOW, Play, spec
from tests.engine.service import KEY
from timeball.domain.model.jobs.freeze import Freeze, FreezeMatch, Freezes
from timeball.domain.model.jobs.job import JobStatus
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import RunState
from timeball.domain.model.terms.policies import CatchUp, CatchUpPolicy
from timeball.domain.time.instants import MINUTE_MS, SECOND_MS
from timeball.domain.time.schedule import Every, Schedule, fires
from timeball.engine.blackouts.freezes import lift_freeze

SCHEDULE = Schedule(Every(30, NOW + 4_000), end_at=NOW + 100_000)
ENDS_AT = NOW + 95_000


def _freeze(play: Play, ends_at: int | None = ENDS_AT) -> None:
    freeze = Freeze("f", NOW, ends_at, FreezeMatch(everything=True), NOW)
    assert play.store.freezes.insert([Freezes("acme", (freeze,))], NOW) == [None]


def _sent_ahead(play: Play) -> None:
    """The first fire is in its queue when the freeze begins; its message arrives a while later."""
    play.scan_all()
    _freeze(play)
    play.clock.advance(4 * SECOND_MS)


def _held_back(play: Play) -> None:
    """The first run waits in the due index, the job for its next fire; the freeze is over."""
    _sent_ahead(play)
    play.execute_next()
    play.clock.advance(30 * SECOND_MS)
    play.scan_all()
    play.clock.advance(ENDS_AT - play.clock.now())


def _open_ended(play: Play) -> None:
    play.scan_all()
    _freeze(play, None)
    play.clock.advance(40 * SECOND_MS)
    play.scan_all()
    play.execute_next()


def _lift(play: Play) -> None:
    lift_freeze(play.context(), "acme", "f")


def _go_on(play: Play) -> None:
    play.scan_all()
    while play.execute_next():
        play.scan_all()


@dataclass(frozen=True)
class Case:
    """The preparation, the verb that is stopped, and its least number of points."""

    before: Callable[[Play], object]
    verb: Callable[[Play], object]
    points: int


CASES = {
    # The messages hidden, the run into the due index, its message deleted.
    "a claim that holds a run back": Case(_sent_ahead, Play.execute_next, 6),
    # The job, due again.
    "a scan that holds a job back": Case(_freeze, Play.scan_all, 2),
    # The run sent and out of the index; the rows of the job's fires, their messages, the job.
    "what goes on at its end": Case(_held_back, _go_on, 10),
    "a lift": Case(_open_ended, _lift, 2),
}


@pytest.mark.on_moto("what goes on at its end")
@pytest.mark.parametrize("catch_up", list(CatchUpPolicy))
@pytest.mark.parametrize("case", CASES)
def test_a_verb_stopped_anywhere_leaves_one_row_for_each_fire_and_no_start_before_the_freezes_end(
    stage: Stage, case: str, catch_up: CatchUpPolicy
) -> None:
    chosen = CASES[case]
    play = stage.play(NOW)
    play.store_jobs([replace(spec("job", SCHEDULE), catch_up=CatchUp(catch_up, 10))])
    chosen.before(play)
    for left in stage.crashes(play, chosen.verb, chosen.points):
        _lift(left) if chosen.verb is _lift else None
        lifted_at = left.clock.now()
        left.clock.advance(stage.later_ms)
        left.run_on(KEY, to_its_end=True, for_ms=30 * MINUTE_MS)
        rest = at_rest(left, left.job(KEY))
        for fire_at in fires(SCHEDULE, NOW, NOW + 100_000):
            assert len([row for row in rest.runs if row.covers(fire_at)]) == 1, fire_at - NOW
        ends_at = lifted_at if chosen.verb is _lift else ENDS_AT
        assert all(called_at >= ends_at for called_at, _ in left.caller.calls)
        skipped = [row for row in rest.runs if row.state is RunState.SKIPPED]
        assert {row.reason for row in skipped if row.id.fire_at < ends_at - MINUTE_MS} <= {Reason.FROZEN}
        if chosen.verb is not _go_on:  # `_go_on` is an executor too, and may die after a call
            assert_each_run_was_called_once(rest)
        assert_all_is_well(rest)
        assert rest.row.status is JobStatus.COMPLETED
