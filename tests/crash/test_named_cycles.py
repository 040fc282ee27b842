"""A trigger of a whole graph, and a backfill of one, are stopped anywhere: each job runs once, after its parents."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tests.crash.stage import Stage
from tests.crash.test_dependencies import key, submit_all, work_on
from tests.engine.dependencies.graphs import node
from tests.engine.play import NOW, PLAIN_RETRY, Play
from timeball.domain.backfill import new_backfill
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import BackfillKey
from timeball.domain.model.runs.run import RunState
from timeball.domain.model.terms.policies import OverlapPolicy
from timeball.domain.time.instants import HOUR_MS
from timeball.domain.time.schedule import Every, Schedule
from timeball.engine.backfills import create_backfills
from timeball.engine.runs.trigger import Trigger, trigger

DAILY = Schedule(Every(86_400, NOW + 12 * HOUR_MS))
GRAPH = (evolve(node("a"), schedule=DAILY), node("b", "a"), node("c", "a b"))


@dataclass(frozen=True)
class Case:
    """The preparation, the verb that is stopped, its points, and the number of its cycles."""

    before: Callable[[Play], object]
    verb: Callable[[Play], object]
    points: int
    cycles: int = 1


def _trigger(play: Play) -> None:
    trigger(play.context(), [Trigger(key("a"), request="r", fingerprint="r", downstream=True)])


def _backfill(play: Play) -> None:
    job = play.job(key("a"))
    fires = [NOW - 12 * HOUR_MS - 24 * HOUR_MS * number for number in (1, 0)]
    backfill = new_backfill(BackfillKey(job.key, "again"), job, fires, 0, OverlapPolicy.ALLOW, play.clock.now())
    create_backfills(play.context(), [evolve(backfill, graph=True)])


def _the_first_ran(play: Play) -> None:
    _trigger(play)
    while play.execute_next():
        pass


CASES = {
    # The announcement, the note, the root; then its evaluation: two layers, the release; the message, the due key.
    "a trigger": Case(lambda _: None, _trigger, 14),
    "a backfill": Case(lambda _: None, _backfill, 10, 2),
    "a scan that fills cycles": Case(_backfill, Play.scan_all, 10, 2),
    "a scan that wakes the next run": Case(_the_first_ran, Play.scan_all, 8),
}


@pytest.mark.on_moto("a trigger")
@pytest.mark.parametrize("case", CASES)
def test_scans_finish_a_named_cycle_and_each_job_runs_once_after_its_parents(stage: Stage, case: str) -> None:
    chosen = CASES[case]
    play = stage.play(NOW)
    submit_all(play, *(evolve(spec, retry=PLAIN_RETRY) for spec in GRAPH))
    chosen.before(play)
    for left in stage.crashes(play, chosen.verb, chosen.points):
        if chosen.verb in (_trigger, _backfill):  # the client got no answer and repeats its request
            chosen.verb(left)
        left.clock.advance(stage.later_ms)
        work_on(left, 20)
        calls = [call.run for _, call in left.caller.calls]
        assert len(calls) == len(set(calls)) == 3 * chosen.cycles
        for cycle in {run.cycle for run in calls}:
            assert [run.job.job_id for run in calls if run.cycle == cycle] == ["a", "b", "c"]
        runs = [run for name in "abc" for run in left.runs(key(name))]
        assert {(run.state, run.due_at) for run in runs} == {(RunState.SUCCEEDED, None)}
