"""A backfill is stopped at every point while it is created, moved on or cancelled: each instant once, nothing left."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tests.crash.conftest import NewPlay, points_of
from tests.crash.promises import assert_attempts_rise, assert_nothing_is_both_run_and_skipped, assert_nothing_is_stuck
from tests.engine.play import NOW, Play, spec
from tests.engine.service import KEY
from timeball.domain.backfill import BackfillStatus, instants, new_backfill
from timeball.domain.ids import BackfillKey, Origin
from timeball.domain.instants import DAY_MS, MINUTE_MS, SECOND_MS
from timeball.domain.overlap import OverlapPolicy
from timeball.domain.run import Run, RunState
from timeball.domain.schedule import Every
from timeball.engine.backfill import cancel_backfill, create_backfills
from timeball.engine.change import cancel
from timeball.engine.claim import claim
from timeball.testing.faults import Crash, Points

LATER_MS = {"at once": 0, "ten minutes later": 10 * MINUTE_MS}
NAME = BackfillKey(KEY, "bf1")
COUNT = 3


def _instants(play: Play) -> list[int]:
    from_at = NOW - 7 * DAY_MS
    return list(instants(play.job(KEY).schedule, from_at, from_at + COUNT * MINUTE_MS))


def _create(play: Play, points: Points | None, overlap: OverlapPolicy = OverlapPolicy.ALLOW, pace: int = 0) -> None:
    create_backfills(play.world(points), [new_backfill(NAME, play.job(KEY), _instants(play), pace, overlap, NOW)])


def _scan(play: Play, points: Points | None) -> None:
    play.scan(points)


def _cancel(play: Play, points: Points | None) -> None:
    cancel_backfill(play.world(points), NAME)


def _cancel_the_job(play: Play, points: Points | None) -> None:
    cancel(play.world(points), [(KEY, None)])


def _paced(overlap: OverlapPolicy) -> Callable[[Play], None]:
    """Return what begins a backfill whose first run is under way, in an executor of which nothing more is heard."""

    def prepare(play: Play) -> None:
        _create(play, None, overlap, 7)
        (delivery,) = play.queue.receive("low")
        claim(play.world(), [delivery.run], "another")
        play.clock.advance(7 * SECOND_MS)

    return prepare


@dataclass(frozen=True)
class Case:
    """What came before, what is stopped, its points, and whether the backfill is cancelled in the end."""

    prepare: Callable[[Play], None]
    act: Callable[[Play, Points | None], None]
    points: int
    is_cancelled: bool = False


CASES = {
    "creating, all at once": Case(lambda _: None, _create, 16),
    "moving on beside a run": Case(_paced(OverlapPolicy.ALLOW), _scan, 8),
    "skipping for a run": Case(_paced(OverlapPolicy.SKIP), _scan, 6),
    "waiting for a run": Case(_paced(OverlapPolicy.QUEUE_ONE), _scan, 4),
    "stopping a run": Case(_paced(OverlapPolicy.CANCEL_OTHER), _scan, 6),
    "cancelling while a run is under way": Case(_paced(OverlapPolicy.ALLOW), _cancel, 6, is_cancelled=True),
    "cancelling with its job": Case(_paced(OverlapPolicy.ALLOW), _cancel_the_job, 10, is_cancelled=True),
}


def _prepared(new_play: NewPlay, case: Case) -> Play:
    play = new_play(NOW)
    play.store_jobs([spec("job", Every(60, NOW + DAY_MS))])
    case.prepare(play)
    return play


@pytest.mark.parametrize("later", LATER_MS)
@pytest.mark.parametrize("name", CASES)
def test_a_backfill_stopped_anywhere_has_each_instant_once_and_strands_nothing(
    new_play: NewPlay, name: str, later: str
) -> None:
    case, points = CASES[name], Points()
    play = _prepared(new_play, case)
    case.act(play, points)
    assert points.reached >= case.points
    for point in points_of(play, points.reached, every=4 if later == "at once" else 8):
        play = _prepared(new_play, case)
        stopped_at = play.clock.now()
        with pytest.raises(Crash):
            case.act(play, Points(point))
        if point == 0:  # nothing was written: the client, who had no answer, asks again, or the next scan comes
            case.act(play, None)
        play.clock.advance(LATER_MS[later])
        _run_on(play)
        _assert_promises(play, case, stopped_at)


def _run_on(play: Play) -> None:
    """Scan and execute until the backfill is over; the job itself is not due for a day."""
    for _ in range(200):
        play.run_on(KEY)
        backfill = play.store.read_backfills([NAME])[0]
        assert backfill is not None
        if backfill.due_at is None and play.job(KEY).intent is None:
            return
        play.clock.advance(SECOND_MS)
    raise AssertionError("the backfill is never over")


def _assert_promises(play: Play, case: Case, stopped_at: int) -> None:
    job = play.job(KEY)
    (backfill,) = play.store.read_backfills([NAME])
    assert backfill is not None
    expected = BackfillStatus.CANCELLED if case.is_cancelled else BackfillStatus.COMPLETED
    assert backfill.status is expected
    rows = [run for run in play.runs(KEY) if run.id.origin is Origin.BACKFILL]
    assert [row.id.fire_at for row in rows] == _instants(play)[: len(rows)]
    assert len(rows) == COUNT or case.is_cancelled
    assert_attempts_rise(play, job)
    assert_nothing_is_both_run_and_skipped(play, job)
    assert_nothing_is_stuck(play, job)
    assert (job.next_fire_at, job.due_at) == (NOW + DAY_MS,) * 2 or case.act is _cancel_the_job
    if case.is_cancelled:
        assert [called_at for called_at, _ in play.caller.calls if called_at >= stopped_at] == []
    else:
        _assert_each_that_ran_was_called(play, rows)


def _assert_each_that_ran_was_called(play: Play, rows: list[Run]) -> None:
    called = [call.run for _, call in play.caller.calls]
    assert len(called) == len({*called})
    assert {row.id for row in rows if row.state is RunState.SUCCEEDED} == {*called}
