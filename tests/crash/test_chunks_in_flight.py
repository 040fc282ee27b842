"""A scan dispatches chunks of jobs in parallel: it is stopped between any two writes of any of them."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from greenlet import getcurrent, greenlet

from tests.crash.promises import (
    assert_all_is_well,
    assert_each_instant_has_one_row,
    assert_each_run_was_called_once,
    at_rest,
)
from tests.crash.stage import Stage
from tests.engine.play import NOW, Play, spec
from timeball.domain.time.schedule import At, Every, Timing
from timeball.testing.faults import Points

TIMINGS: dict[str, Timing] = {
    "one-off": At(NOW + 1_000),
    "late": At(NOW - 300_000),
    "often": Every(5, NOW),
    "seldom": Every(60, NOW - 180_000),
}
_T = TypeVar("_T")


class _Turns(Points):
    """Points of several calls in turn: each call writes once, then the next one continues."""

    def __init__(self, points: Points) -> None:
        super().__init__()
        self._points = points
        self.order: list[int] = []

    def reach(self) -> None:
        """Reach the point, and let the next call continue."""
        self._points.reach()
        present = getcurrent()
        if (number := getattr(present, "number", None)) is not None and present.parent is not None:
            self.order.append(number)
            present.parent.switch()

    def side_by_side(self, calls: Sequence[Callable[[], _T]]) -> list[_T]:
        """Run the calls in turn."""
        lanes, answers = [greenlet(call) for call in calls], dict[int, _T]()
        while len(answers) < len(lanes):
            for number, lane in enumerate(lanes):
                if not lane.dead:
                    lane.number = number
                    said = lane.switch()
                    if lane.dead:
                        answers[number] = said
        return [answers[number] for number in range(len(lanes))]


def _scan_with_chunks_in_flight(play: Play) -> list[int]:
    assert play.points is not None
    play.points = turns = _Turns(play.points)
    play.side_by_side = turns.side_by_side
    play.scan(chunk=1)
    return turns.order


def test_a_scan_stopped_anywhere_in_any_chunk_loses_and_doubles_nothing(stage: Stage) -> None:
    play = stage.play(NOW - 600_000)
    jobs = play.store_jobs(spec(name, timing) for name, timing in TIMINGS.items())
    play.clock.advance(600_000)
    for left in stage.crashes(play, _scan_with_chunks_in_flight, 30):
        left.clock.advance(stage.later_ms)
        left.scan_all()
        scanned_through = left.clock.now() + left.rules.lookahead_ms
        left.drain()
        for job in jobs:
            rest = at_rest(left, job)
            assert_each_instant_has_one_row(rest, scanned_through)
            assert_each_run_was_called_once(rest)
            assert_all_is_well(rest)


def test_the_writes_of_two_chunks_alternate() -> None:
    play = Play()
    play.store_jobs(spec(name, At(NOW + 1_000)) for name in "ab")
    play.points = Points()
    order = _scan_with_chunks_in_flight(play)
    assert order == [0, 1] * (len(order) // 2)
    assert len(order) == 16
    assert play.queue.sent
