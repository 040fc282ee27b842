"""Two concurrent scans of the same jobs: however their writes alternate, each fire is run once."""

import threading
from collections.abc import Callable, Sequence

import pytest

from tests.crash.promises import (
    assert_all_is_well,
    assert_each_instant_has_one_row,
    assert_each_run_was_called_once,
    at_rest,
)
from tests.crash.stage import Stage
from tests.engine.play import NOW, Play, spec
from timeball.domain.model.jobs.job import Job
from timeball.domain.time.instants import MINUTE_MS
from timeball.domain.time.schedule import At, Every, Schedule, Timing
from timeball.testing.faults import Points

TIMINGS: dict[str, Timing | Schedule] = {
    "one-off": At(NOW + 1_000),
    "every-five-seconds": Every(5, NOW),
    "behind-an-outage": Every(120, NOW - 20 * MINUTE_MS),
    "twice-in-all": Schedule(Every(3, NOW), max_runs=2),
}


NewPlay = Callable[[int], Play]


def in_memory(at: int) -> Play:
    return Play(at=at)


def _due_jobs(new_play: NewPlay, names: Sequence[str] = tuple(TIMINGS)) -> tuple[Play, list[Job]]:
    play = new_play(NOW - 20 * MINUTE_MS)
    jobs = play.store_jobs(spec(name, TIMINGS[name]) for name in names)
    play.clock.advance(20 * MINUTE_MS)
    return play, jobs


def _points_of_a_scan(new_play: NewPlay, names: Sequence[str] = tuple(TIMINGS)) -> int:
    play, _ = _due_jobs(new_play, names)
    points = Points()
    play.scan(points)
    return points.reached


def _assert_promises(play: Play, jobs: list[Job]) -> None:
    scanned_through = play.clock.now() + play.rules.lookahead_ms
    play.scan_all()
    play.drain()
    for job in jobs:
        rest = at_rest(play, job)
        assert_each_instant_has_one_row(rest, NOW + 3_000 if job.key.job_id == "twice-in-all" else scanned_through)
        assert_each_run_was_called_once(rest)
        assert_all_is_well(rest)


@pytest.mark.parametrize("name", TIMINGS)
def test_a_scan_between_any_two_writes_of_another_leaves_one_run_and_one_call_for_each_fire(
    stage: Stage, name: str
) -> None:
    _scan_between_any_two_writes(stage.play, [name], 8)


def test_a_scan_between_any_two_writes_of_another_over_several_jobs_is_harmless() -> None:
    _scan_between_any_two_writes(in_memory, tuple(TIMINGS), 30)


def _scan_between_any_two_writes(new_play: NewPlay, names: Sequence[str], points: int) -> None:
    count = _points_of_a_scan(new_play, names)
    assert count >= points
    for point in range(0, count, 2):  # before each write; the point after a write equals the one before the next
        play, jobs = _due_jobs(new_play, names)
        play.scan(Points(point, play.scan_all))
        _assert_promises(play, jobs)


def test_a_scan_that_stood_still_for_ten_minutes_runs_nothing_that_was_skipped_meanwhile() -> None:
    for point in range(_points_of_a_scan(in_memory)):
        play, jobs = _due_jobs(in_memory)

        def ten_minutes_of_others(play: Play = play) -> None:
            play.clock.advance(10 * MINUTE_MS)
            play.scan_all()

        play.scan(Points(point, ten_minutes_of_others))
        play.scan_all()
        play.drain()
        for job in jobs:
            rest = at_rest(play, job)
            assert_each_run_was_called_once(rest)
            assert_all_is_well(rest)


def test_two_threads_that_scan_at_once_leave_one_run_and_one_call_for_each_fire() -> None:
    for _ in range(20):
        play, jobs = _due_jobs(in_memory)
        together = threading.Barrier(2)

        def scan(play: Play = play, together: threading.Barrier = together) -> None:
            together.wait()
            play.scan()

        threads = [threading.Thread(target=scan) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        _assert_promises(play, jobs)
