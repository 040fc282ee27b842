"""A backfill is stopped at every point while it is created, advanced or cancelled: each instant once, nothing left."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tests.crash.promises import Rest, assert_all_is_well, at_rest
from tests.crash.stage import Stage
from tests.engine.play import NOW, Play, spec
from tests.engine.service import KEY
from timeball.domain.backfill import BackfillStatus, instants, new_backfill
from timeball.domain.model.ids import BackfillKey, Origin
from timeball.domain.model.jobs.job import Job, JobStatus
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.terms.policies import OverlapPolicy
from timeball.domain.time.instants import DAY_MS, MINUTE_MS, SECOND_MS
from timeball.domain.time.schedule import Every
from timeball.engine.backfills import cancel_backfill, create_backfills
from timeball.engine.changes.change import cancel
from timeball.engine.context import Rules
from timeball.engine.execution.claim import claim

NAME = BackfillKey(KEY, "bf1")
COUNT = 3


def _instants(job: Job) -> list[int]:
    from_at = NOW - 7 * DAY_MS
    return list(instants(job.spec.schedule, from_at, from_at + COUNT * MINUTE_MS))


def _create(play: Play, overlap: OverlapPolicy = OverlapPolicy.ALLOW, pace: int = 0) -> None:
    job = play.job(KEY)
    create_backfills(play.context(), [new_backfill(NAME, job, _instants(job), pace, overlap, NOW)])


def _cancel(play: Play) -> None:
    (backfill,) = play.store.backfills.read([NAME])
    assert backfill is not None
    cancel_backfill(play.context(), backfill)


def _cancel_the_job(play: Play) -> None:
    cancel(play.context(), [(KEY, None)])


def _paced(overlap: OverlapPolicy) -> Callable[[Play], None]:
    """Return a function that begins a backfill whose first run is under way, in an executor that has vanished."""

    def prepare(play: Play) -> None:
        _create(play, overlap, 7)
        (delivery,) = play.queue.receive("low")
        claim(play.context(), [delivery.run], "another")
        play.clock.advance(7 * SECOND_MS)

    return prepare


@dataclass(frozen=True)
class Case:
    """The preparation, the verb that is stopped, its points, and whether the backfill is cancelled in the end."""

    prepare: Callable[[Play], None]
    act: Callable[[Play], object]
    points: int
    is_cancelled: bool = False


CASES = {
    "creating, all at once": Case(lambda _: None, _create, 16),
    "moving on beside a run": Case(_paced(OverlapPolicy.ALLOW), Play.scan, 8),
    "skipping for a run": Case(_paced(OverlapPolicy.SKIP), Play.scan, 6),
    "waiting for a run": Case(_paced(OverlapPolicy.QUEUE_ONE), Play.scan, 4),
    "stopping a run": Case(_paced(OverlapPolicy.CANCEL_OTHER), Play.scan, 6),
    "cancelling while a run is under way": Case(_paced(OverlapPolicy.ALLOW), _cancel, 6, is_cancelled=True),
    "cancelling with its job": Case(_paced(OverlapPolicy.ALLOW), _cancel_the_job, 10, is_cancelled=True),
}


@pytest.mark.on_moto("creating, all at once", "moving on beside a run", "cancelling while a run is under way")
@pytest.mark.parametrize("name", CASES)
def test_a_backfill_stopped_anywhere_has_each_instant_once_and_strands_nothing(stage: Stage, name: str) -> None:
    case, play = CASES[name], stage.play(NOW)
    play.store_jobs([spec("job", Every(60, NOW + DAY_MS))])
    case.prepare(play)
    stopped_at = play.clock.now()
    for left in stage.crashes(play, case.act, case.points):
        if not _is_asked(left, case):  # nothing was written: the client got no answer and repeats its request
            case.act(left)
        left.clock.advance(stage.later_ms)
        _run_on(left)
        _assert_promises(at_rest(left, left.job(KEY)), case, stopped_at)


@pytest.mark.on_moto
def test_a_backfill_that_waits_for_a_slot_completes_wherever_the_process_was_stopped(stage: Stage) -> None:
    play = stage.play(NOW)
    play.rules = Rules(shards=1, running_backfills=1)
    (job,) = play.store_jobs([spec("job", Every(60, NOW + DAY_MS))])
    first, second = (BackfillKey(KEY, name) for name in ("bf1", "bf2"))

    def create(play: Play, key: BackfillKey) -> None:
        create_backfills(play.context(), [new_backfill(key, job, _instants(job), 0, OverlapPolicy.ALLOW, NOW)])

    def create_and_scan(play: Play) -> None:
        create(play, second)
        play.scan()

    play.store.backfills.insert([new_backfill(first, job, _instants(job), 0, OverlapPolicy.ALLOW, NOW)], NOW)
    for left in stage.crashes(play, create_and_scan, 20):
        create(left, second)
        for _ in range(100):
            left.scan_all()
            left.clock.advance(SECOND_MS)
        left.drain()
        rows = [row for row in left.store.backfills.read([first, second]) if row is not None]
        assert [(row.status, row.due_at) for row in rows] == [(BackfillStatus.COMPLETED, None)] * 2
        assert sorted(run.state for run in left.runs(KEY)) == [RunState.SUCCEEDED] * 2 * COUNT
        assert len(left.caller.calls) == 2 * COUNT


def _is_asked(play: Play, case: Case) -> bool:
    (backfill,) = play.store.backfills.read([NAME])
    if backfill is None or not case.is_cancelled:
        return backfill is not None
    return backfill.status is BackfillStatus.CANCELLED or play.job(KEY).status is JobStatus.CANCELLED


def _run_on(play: Play) -> None:
    """Scan and execute until the backfill is over; the job itself is not due for a day."""
    for _ in range(200):
        play.run_on(KEY)
        backfill = play.store.backfills.read([NAME])[0]
        assert backfill is not None
        if backfill.due_at is None and play.job(KEY).intent is None:
            return
        play.clock.advance(SECOND_MS)
    raise AssertionError("the backfill is never over")


def _assert_promises(rest: Rest, case: Case, stopped_at: int) -> None:
    (backfill,) = rest.backfills
    assert backfill.status is (BackfillStatus.CANCELLED if case.is_cancelled else BackfillStatus.COMPLETED)
    rows = [run for run in rest.runs if run.id.origin is Origin.BACKFILL]
    assert [row.id.fire_at for row in rows] == _instants(rest.job)[: len(rows)]
    assert len(rows) == COUNT or case.is_cancelled
    assert_all_is_well(rest)
    assert (rest.row.next_fire_at, rest.row.due_at) == (NOW + DAY_MS,) * 2 or case.act is _cancel_the_job
    if case.is_cancelled:
        assert [called_at for called_at, _ in rest.calls if called_at >= stopped_at] == []
    else:
        _assert_each_that_ran_was_called(rest, rows)


def _assert_each_that_ran_was_called(rest: Rest, rows: list[Run]) -> None:
    called = [call.run for _, call in rest.calls]
    assert len(called) == len({*called})
    assert {row.id for row in rows if row.state is RunState.SUCCEEDED} == {*called}
