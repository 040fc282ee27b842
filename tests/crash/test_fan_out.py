"""Runs with a run for each item are stopped anywhere: each item runs once, and then the job that joins them."""

import json
from collections.abc import Callable

import pytest

from tests.crash.stage import Stage
from tests.crash.test_dependencies import CHILD, GRANDCHILD, ROOT, key, statuses, submit_all, work_on
from tests.engine.play import NOW, Play
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import Origin, RunId
from timeball.domain.model.runs.run import RunState
from timeball.domain.model.runs.transitions import claimed
from timeball.domain.time.instants import SECOND_MS
from timeball.engine.runs.callback import Naming, name_items
from timeball.engine.runs.fan_out import named_by
from timeball.ports.rows import Swap

EACH = evolve(CHILD, for_each="a")
ITEMS = ('{"n":1}', '"two"')


def _submitted(play: Play) -> None:
    submit_all(play, ROOT, EACH, GRANDCHILD)


def _named(play: Play) -> None:
    """Let a run under way name items, and its executor vanish."""
    (run,) = play.store.runs.read([RunId(key("a"), play.job(key("a")).final_fire_at or 0, Origin.SCHEDULE)])
    assert run is not None
    asked = Naming(run.id, run.attempt, ITEMS, "one", "one")
    assert name_items(play.context(), [asked])[0][0] is None


def _the_first_named(play: Play) -> None:
    _submitted(play)
    play.caller.meanwhile = lambda: _named(play)
    play.execute_next()


def _let_go(play: Play) -> None:
    _the_first_named(play)
    for _ in range(5):
        play.scan_all()
        play.clock.advance(SECOND_MS)
        if any(run.fan is not None for run in play.runs(key("b"))):
            return
    raise AssertionError("nobody was let go")


def _begun(play: Play) -> None:
    _let_go(play)
    for _ in range(5):
        if any(run.state is RunState.RUNNING for run in play.runs(key("b"))):
            return
        play.scan_all()
    raise AssertionError("it has not begun")


def _released(play: Play) -> None:
    _let_go(play)
    for _ in range(3):
        play.scan_all()
        play.clock.advance(SECOND_MS)


def _execute(play: Play) -> None:
    play.execute_next()


CASES: dict[str, tuple[Callable[[Play], None], Callable[[Play], object], int]] = {
    # The list is stored, and named.
    "the scan that tells of the end": (_the_first_named, Play.scan_all, 12),
    # The list is kept, the head begins.
    "the scan that begins": (_let_go, Play.scan_all, 4),
    # Items are kept, inserted, sent; the head says so.
    "the scan that releases": (_begun, Play.scan_all, 6),
    "an item": (_released, _execute, 4),
}


@pytest.mark.on_moto("the scan that releases")
@pytest.mark.parametrize("case", CASES)
def test_each_item_runs_once_and_the_join_after_them_wherever_a_verb_was_stopped(stage: Stage, case: str) -> None:
    before, verb, points = CASES[case]
    play = stage.play(NOW)
    before(play)
    for left in stage.crashes(play, verb, points):
        left.clock.advance(stage.later_ms)
        work_on(left, 12)
        left.clock.advance(16 * 60 * SECOND_MS)  # the message of an executor that died comes again
        work_on(left, 12)
        handed = {str(call.run): call.work.payload for _, call in left.caller.calls if call.run.job == key("b")}
        assert [json.loads(handed[name] or "") for name in sorted(handed)] == [{"n": 1}, "two"]
        assert statuses(left, "abc") == ["completed"] * 3
        rows = left.runs(key("b"))
        assert [(run.state, run.due_at) for run in rows] == [(RunState.SUCCEEDED, None)] * 3


def test_a_naming_of_items_stopped_anywhere_is_completed_by_its_repeat_and_counts_once(stage: Stage) -> None:
    play = stage.play(NOW)
    _submitted(play)
    (run,) = play.runs(key("a"))
    play.store.runs.swap([Swap(run, claimed(run, "executor", NOW, 60_000))], NOW)

    def name(play: Play) -> object:
        return name_items(play.context(), [Naming(run.id, 1, ITEMS, "one", "one")])

    for left in stage.crashes(play, name, 3):
        name(left)
        (after,) = left.store.runs.read([run.id])
        assert after is not None
        assert named_by(left.context(), after).items == ITEMS
