"""Ten thousand jobs: wherever the processes are stopped, a repeat completes the operation, with each job once."""

from collections import Counter

import pytest

from tests.engine.operations.operations import operation, scan_to_its_end, standing, store_many
from tests.engine.play import NOW, Play
from timeball.domain.model.jobs.job import JobStatus
from timeball.domain.operation import JobMatch, Operation, OperationAction, OperationStatus
from timeball.domain.time.instants import SECOND_MS
from timeball.engine.operations.operation import create_operation
from timeball.testing.faults import Crash, Points

MANY, FEW = 10_000, 13


def _asked(action: OperationAction, per_second: int) -> Operation:
    return operation(action, NOW, JobMatch({"team": "blue"}, status="pending"), per_second=per_second)


def _try_to_end(play: Play, points: Points, asked: Operation) -> bool:
    """Request the operation, and scan until it is over. Return False if the process was stopped before."""
    try:
        create_operation(play.context(points), asked)
        while standing(play).is_running:
            play.clock.advance(SECOND_MS)
            play.scan(points)
    except Crash:
        return False
    return True


def _points(action: OperationAction, count: int, per_second: int) -> int:
    play, points = Play(), Points()
    store_many(play, count, {"team": "blue"})
    assert _try_to_end(play, points, _asked(action, per_second))
    return points.reached


def _repeat(play: Play, asked: Operation, stop_each: int | None = None) -> None:
    """Request the operation again and scan on, in processes of which each but the last is stopped after some points."""
    while stop_each is not None and not _try_to_end(play, Points(stop_each), asked):
        pass
    assert _try_to_end(play, Points(), asked)


def _assert_all_is_done_once(play: Play, action: OperationAction, count: int) -> None:
    over = standing(play)
    assert (over.status, over.matched, over.done, over.failed) == (OperationStatus.SUCCEEDED, count, count, 0)
    assert over.due_at is None
    if action is OperationAction.TRIGGER:
        assert Counter(run.job for run in play.store.runs) == dict.fromkeys(play.store.jobs, 1)  # type: ignore[call-overload, attr-defined]
        return
    status = JobStatus.PAUSED if action is OperationAction.PAUSE else JobStatus.CANCELLED
    jobs = play.store.jobs.values()  # type: ignore[attr-defined]
    assert {(job.status, job.version, job.intent) for job in jobs} == {(status, 2, None)}


ACTIONS = [OperationAction.PAUSE, OperationAction.CANCEL, OperationAction.TRIGGER]


@pytest.mark.parametrize("action", ACTIONS)
def test_an_operation_that_is_stopped_at_any_write_is_completed_by_a_repeat(action: OperationAction) -> None:
    for stop_at in range(_points(action, FEW, per_second=5)):
        play = Play()
        store_many(play, FEW, {"team": "blue"})
        asked = _asked(action, per_second=5)
        assert not _try_to_end(play, Points(stop_at), asked)
        _repeat(play, asked)
        _assert_all_is_done_once(play, action, FEW)


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("stop_each", [40, 100])
def test_an_operation_that_is_stopped_again_and_again_is_completed(action: OperationAction, stop_each: int) -> None:
    play = Play()
    store_many(play, FEW, {"team": "blue"})
    asked = _asked(action, per_second=2)
    _repeat(play, asked, stop_each)
    _assert_all_is_done_once(play, action, FEW)


@pytest.mark.more
@pytest.mark.parametrize("share", [0.001, 0.5, 0.999])
def test_a_pause_of_ten_thousand_jobs_that_is_stopped_is_completed_by_a_repeat(share: float) -> None:
    """The pause of one job has some ten points: those before and after each of its writes."""
    play, asked = Play(), _asked(OperationAction.PAUSE, per_second=1_000)
    store_many(play, MANY, {"team": "blue"})
    assert not _try_to_end(play, Points(int(share * 8 * MANY)), asked)
    assert standing(play).is_running
    _repeat(play, asked)
    _assert_all_is_done_once(play, OperationAction.PAUSE, MANY)


def test_two_processes_that_advance_an_operation_at_once_count_each_job_once() -> None:
    play = Play()
    store_many(play, 250, {"team": "blue"})
    create_operation(play.context(), _asked(OperationAction.PAUSE, per_second=30))
    for _ in range(20):
        play.clock.advance(SECOND_MS)
        play.scan()
        play.scan()
    scan_to_its_end(play)
    _assert_all_is_done_once(play, OperationAction.PAUSE, 250)
