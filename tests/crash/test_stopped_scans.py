"""A scan, or a DELETE, is stopped at every point between its writes; whoever comes next, at once or late, ends well."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tests.crash.conftest import NewPlay, points_of
from tests.crash.promises import (
    assert_each_instant_has_one_row,
    assert_each_run_was_called_once,
    assert_nothing_is_both_run_and_skipped,
    assert_nothing_is_stuck,
)
from tests.engine.play import NOW, Play, spec
from timeball.domain.instants import MINUTE_MS, SECOND_MS
from timeball.domain.job import Job, JobStatus
from timeball.domain.run import Reason, RunState
from timeball.domain.schedule import At, Every, Timing
from timeball.engine.change import cancel
from timeball.testing.faults import Crash, Points

LATER_MS = {"at once": 0, "ten minutes later": 10 * MINUTE_MS}


@dataclass(frozen=True)
class Case:
    """A job that was submitted some time before NOW and not looked at since; `points` is how many a scan of it has."""

    timing: Timing
    waited_ms: int
    points: int


CASES = {
    # One run inserted, sent, job advanced.
    "a one-off within the look-ahead": Case(At(NOW + 1_500), MINUTE_MS, 8),
    # A one-off is never missed, however late.
    "a one-off that is late": Case(At(NOW - 5 * MINUTE_MS), MINUTE_MS, 8),
    # Two fires within the look-ahead; ten minutes later, most of a minute of them.
    "every five seconds": Case(Every(5, NOW), 0, 12),
    # 19 minutes are skipped as one range, which is fixed first; then the rest is run.
    "a job behind an outage": Case(Every(60, NOW - 20 * MINUTE_MS), 20 * MINUTE_MS, 16),
}


def _submitted(new_play: NewPlay, case: Case) -> tuple[Play, Job]:
    play = new_play(NOW - case.waited_ms)
    (job,) = play.store_jobs([spec("job", case.timing)])
    play.clock.advance(case.waited_ms)
    return play, job


def _points_of(new_play: NewPlay, case: Case) -> int:
    play, _ = _submitted(new_play, case)
    points = Points()
    play.scan(points)
    return points.reached


@pytest.mark.parametrize("later", LATER_MS)
@pytest.mark.parametrize("case", CASES)
def test_a_scan_stopped_anywhere_and_repeated_leaves_one_row_for_each_due_instant(
    new_play: NewPlay, case: str, later: str
) -> None:
    chosen = CASES[case]
    count = _points_of(new_play, chosen)
    assert count >= chosen.points
    for point in points_of(new_play(NOW), count):
        play, job = _submitted(new_play, chosen)
        with pytest.raises(Crash):
            play.scan(Points(point))
        play.clock.advance(LATER_MS[later])
        play.scan_all()
        scanned_through = play.clock.now() + play.rules.lookahead_ms
        play.drain()
        assert_each_instant_has_one_row(play, job, scanned_through)
        assert_nothing_is_both_run_and_skipped(play, job)
        assert_nothing_is_stuck(play, job)
        assert_each_run_was_called_once(play, job)
        assert [call for at, call in play.caller.calls if at < call.run.fire_at] == []


def test_a_one_off_whose_scan_was_stopped_is_run_and_completes_its_job(new_play: NewPlay) -> None:
    case = CASES["a one-off within the look-ahead"]
    for point in range(_points_of(new_play, case)):
        play, job = _submitted(new_play, case)
        with pytest.raises(Crash):
            play.scan(Points(point))
        play.clock.advance(10 * MINUTE_MS)
        play.scan_all()
        play.drain()
        assert [row.state for row in play.runs(job.key)] == [RunState.SUCCEEDED]
        assert play.job(job.key).status is JobStatus.COMPLETED


@dataclass(frozen=True)
class Cancelled:
    """A job that is cancelled while some of its runs wait; `points` is how many the DELETE has at least."""

    timing: Timing
    prepare: Callable[[Play], None]
    points: int


def _two_runs_wait(play: Play) -> None:
    play.scan_all()


def _an_outage_of_twenty_minutes(play: Play) -> None:
    play.clock.advance(20 * MINUTE_MS)


def _a_run_was_inserted_and_its_scan_stopped(play: Play) -> None:
    with pytest.raises(Crash):
        play.scan(Points(3))


CANCELLED = {
    "a one-off that waits": Cancelled(At(NOW + 3_000), _two_runs_wait, 6),
    "a recurring job with runs ahead": Cancelled(Every(3, NOW), _two_runs_wait, 12),
    "a job behind an outage": Cancelled(Every(60, NOW), _an_outage_of_twenty_minutes, 10),
    "a job whose scan was stopped": Cancelled(Every(3, NOW), _a_run_was_inserted_and_its_scan_stopped, 12),
}


def _prepared(new_play: NewPlay, case: Cancelled) -> tuple[Play, Job]:
    play = new_play(NOW)
    (job,) = play.store_jobs([spec("job", case.timing)])
    case.prepare(play)
    return play, job


@pytest.mark.parametrize("later", LATER_MS)
@pytest.mark.parametrize("case", CANCELLED)
def test_a_cancel_stopped_anywhere_is_finished_by_the_scan_and_nothing_runs_after_it(
    new_play: NewPlay, case: str, later: str
) -> None:
    chosen, points = CANCELLED[case], Points()
    play, job = _prepared(new_play, chosen)
    cancel(play.world(points), [(job.key, None)])
    assert points.reached >= chosen.points
    for point in points_of(play, points.reached):
        play, job = _prepared(new_play, chosen)
        asked_at = play.clock.now()
        with pytest.raises(Crash):
            cancel(play.world(Points(point)), [(job.key, None)])
        if point == 0:  # nothing was written: the client, who had no answer, asks again
            cancel(play.world(), [(job.key, None)])
        play.clock.advance(LATER_MS[later])
        play.scan_all()
        play.drain()

        row = play.job(job.key)
        assert (row.status, row.intent, row.due_at) == (JobStatus.CANCELLED, None, None)
        assert play.caller.calls == []
        assert_each_instant_has_one_row(play, job, asked_at + play.rules.lookahead_ms)
        assert_nothing_is_stuck(play, job)
        assert {run.state for run in play.runs(job.key)} <= {RunState.SKIPPED, RunState.CANCELLED}
        assert {run.reason for run in play.runs(job.key)} == {Reason.JOB_CANCELLED}


def test_a_cancel_stopped_anywhere_asks_the_run_that_was_claimed_to_stop(new_play: NewPlay) -> None:
    points = Points()
    _cancelled_while_it_runs(new_play, lambda play, job: cancel(play.world(points), [(job.key, None)]))
    assert points.reached >= 8
    for point in range(2, points.reached):  # from the first write on: before it, nothing was cancelled

        def stop_and_scan(play: Play, job: Job, point: int = point) -> None:
            with pytest.raises(Crash):
                cancel(play.world(Points(point)), [(job.key, None)])
            play.scan_all()

        _cancelled_while_it_runs(new_play, stop_and_scan)


def _cancelled_while_it_runs(new_play: NewPlay, act: Callable[[Play, Job], object]) -> None:
    play = new_play(NOW)
    (job,) = play.store_jobs([spec("job", Every(3, NOW))])
    play.scan_all()
    play.caller.takes_ms = 60 * SECOND_MS
    play.caller.meanwhile = lambda: act(play, job)
    (first, *_) = play.queue.receive("normal")
    play.execute([first])
    play.drain()
    (run,) = play.store.read_runs([first.run])
    assert run is not None
    assert (run.state, run.reason) == (RunState.CANCELLED, Reason.JOB_CANCELLED)
    assert play.caller.attempts() == [(NOW, 1)]
    assert_nothing_is_stuck(play, job)
