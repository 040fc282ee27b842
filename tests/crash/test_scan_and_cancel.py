"""A scan or a DELETE is stopped at every point between its writes; the next process, at once or late, finishes it."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tests.crash.promises import (
    assert_all_is_well,
    assert_each_instant_has_one_row,
    assert_each_run_was_called_once,
    assert_nothing_is_stuck,
    at_rest,
)
from tests.crash.stage import Stage, stop_when
from tests.engine.play import NOW, Play, spec
from tests.engine.service import KEY
from timeball.domain.model.jobs.job import Job, JobStatus
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import RunState
from timeball.domain.time.instants import MINUTE_MS, SECOND_MS
from timeball.domain.time.schedule import At, Every, Timing
from timeball.engine.changes.change import cancel
from timeball.testing.faults import Crash, Points


@dataclass(frozen=True)
class Case:
    """A job that was submitted some time before NOW and not scanned since; `points` is the number of a scan of it."""

    timing: Timing
    waited_ms: int
    points: int


CASES = {
    # One run inserted, sent, job advanced.
    "a one-off within the look-ahead": Case(At(NOW + 1_500), MINUTE_MS, 8),
    # A one-off is never missed, however late.
    "a one-off that is late": Case(At(NOW - 5 * MINUTE_MS), MINUTE_MS, 8),
    # Two fires within the look-ahead; ten minutes later, the fires of most of a minute.
    "every five seconds": Case(Every(5, NOW), 0, 12),
    # 19 minutes are skipped as one range, which is written first; then the other fires run.
    "a job behind an outage": Case(Every(60, NOW - 20 * MINUTE_MS), 20 * MINUTE_MS, 16),
}


def _submitted(stage: Stage, case: Case) -> tuple[Play, Job]:
    play = stage.play(NOW - case.waited_ms)
    (job,) = play.store_jobs([spec("job", case.timing)])
    play.clock.advance(case.waited_ms)
    return play, job


@pytest.mark.parametrize("case", CASES)
def test_a_scan_stopped_anywhere_and_repeated_leaves_one_row_for_each_due_instant(stage: Stage, case: str) -> None:
    chosen = CASES[case]
    play, job = _submitted(stage, chosen)
    for left in stage.crashes(play, Play.scan, chosen.points):
        left.clock.advance(stage.later_ms)
        left.scan_all()
        scanned_through = left.clock.now() + left.rules.lookahead_ms
        left.drain()
        rest = at_rest(left, job)
        assert_each_instant_has_one_row(rest, scanned_through)
        assert_each_run_was_called_once(rest)
        assert_all_is_well(rest)
        if job.spec.schedule.is_one_off:
            assert [row.state for row in rest.runs] == [RunState.SUCCEEDED]
            assert rest.row.status is JobStatus.COMPLETED


@dataclass(frozen=True)
class Cancelled:
    """A job that is cancelled while some of its runs wait; `points` is the least number of points of the DELETE."""

    timing: Timing
    prepare: Callable[[Play], None]
    points: int


def _two_runs_wait(play: Play) -> None:
    play.scan_all()


def _an_outage_of_twenty_minutes(play: Play) -> None:
    play.clock.advance(20 * MINUTE_MS)


def _a_run_was_inserted_and_its_scan_stopped(play: Play) -> None:
    stop_when(play, Play.scan, lambda play: play.runs(KEY) != [])


CANCELLED = {
    "a one-off that waits": Cancelled(At(NOW + 3_000), _two_runs_wait, 6),
    "a recurring job with runs ahead": Cancelled(Every(3, NOW), _two_runs_wait, 10),
    "a job behind an outage": Cancelled(Every(240, NOW), _an_outage_of_twenty_minutes, 6),
    "a job whose scan was stopped": Cancelled(Every(3, NOW), _a_run_was_inserted_and_its_scan_stopped, 8),
}


@pytest.mark.parametrize("executors_first", [False, True])
@pytest.mark.parametrize("case", CANCELLED)
def test_a_cancel_stopped_anywhere_is_finished_by_the_scan_and_nothing_runs_after_it(
    stage: Stage, case: str, *, executors_first: bool
) -> None:
    chosen, play = CANCELLED[case], stage.play(NOW)
    (job,) = play.store_jobs([spec("job", chosen.timing)])
    chosen.prepare(play)
    asked_at = play.clock.now()
    for left in stage.crashes(play, _cancel, chosen.points):
        left.clock.advance(stage.later_ms)
        if left.job(job.key).status is not JobStatus.CANCELLED:  # the client got no answer and repeats its request
            _cancel(left)
        if executors_first:
            left.drain()
        left.scan_all()
        left.drain()
        rest = at_rest(left, job)
        assert (rest.row.status, rest.row.intent, rest.row.due_at) == (JobStatus.CANCELLED, None, None)
        assert left.caller.calls == []
        assert_each_instant_has_one_row(rest, max(asked_at - 1, job.next_fire_at or 0))
        assert_nothing_is_stuck(rest)
        assert {run.state for run in rest.runs} <= {RunState.SKIPPED, RunState.CANCELLED}
        assert {run.reason for run in rest.runs} == {Reason.JOB_CANCELLED}


def _cancel(play: Play, points: Points | None = None) -> None:
    cancel(play.context(points), [(KEY, None)])


@pytest.mark.on_moto
def test_a_cancel_stopped_anywhere_asks_the_run_that_was_claimed_to_stop(stage: Stage) -> None:
    points = Points()
    _cancelled_while_it_runs(stage, lambda play: _cancel(play, points))
    assert points.reached >= 8
    for point in range(6, points.reached, stage.step):  # from the swap of the job on: before it, nothing was cancelled

        def stop_and_scan(play: Play, point: int = point) -> None:
            with pytest.raises(Crash):
                _cancel(play, Points(point))
            play.scan_all()

        _cancelled_while_it_runs(stage, stop_and_scan)


def _cancelled_while_it_runs(stage: Stage, act: Callable[[Play], object]) -> None:
    play = stage.play(NOW)
    (job,) = play.store_jobs([spec("job", Every(3, NOW))])
    play.scan_all()
    play.caller.takes_ms = 60 * SECOND_MS
    play.caller.meanwhile = lambda: act(play)
    (first, *_) = play.queue.receive("normal")
    play.execute([first])
    play.drain()
    (run,) = play.store.runs.read([first.run])
    assert run is not None
    assert (run.state, run.reason) == (RunState.CANCELLED, Reason.JOB_CANCELLED)
    assert play.caller.attempts() == [(NOW, 1)]
    assert_nothing_is_stuck(at_rest(play, job))
