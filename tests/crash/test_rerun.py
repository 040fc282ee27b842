"""A rerun of a cycle is stopped before or after any write, scans finish it, and each run runs once more."""

import pytest

from tests.engine.dependencies.graphs import BEGIN, Graph, node
from tests.engine.dependencies.reruns import rerun_of, standing
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import OperationKey
from timeball.domain.model.jobs.job import JobSpec
from timeball.domain.model.terms.dependency import TriggerRule
from timeball.domain.operation import OperationStatus, RerunMode
from timeball.domain.time.schedule import Every, Schedule
from timeball.engine.operations.operation import create_operation
from timeball.testing.faults import Crash, Points

OFTEN = evolve(node("a"), schedule=Schedule(Every(1_000, BEGIN)))
BOTH = pytest.mark.parametrize("first", [node("a"), OFTEN], ids=["once", "recurring"])
SLOPPY = (node("b", "a"), node("c", "b", TriggerRule.ALL_DONE), node("d", "c"))


@BOTH
@pytest.mark.parametrize("at_once", [1, 500])
@pytest.mark.parametrize("mode", RerunMode)
def test_stopped_at_any_write_it_runs_each_once_more(first: JobSpec, mode: RerunMode, at_once: int) -> None:
    names = {RerunMode.FAILED: "b", RerunMode.FAILED_AND_DOWNSTREAM: "bcd", RerunMode.ALL: "abcd"}[mode]
    stop_at, is_stopped = 0, True
    while is_stopped:
        with Graph(first, *SLOPPY, failing="b") as graph:
            graph.until(10)
            graph.failing.clear()
            points = Points(stop_at)
            try:
                context = graph.play.context(points)
                create_operation(context, rerun_of(graph, *names, mode=mode, at_once=at_once, context=context))
                is_stopped = False
            except Crash:
                stop_at += 1
            if graph.play.store.operations.read([OperationKey("acme", "again")]) == [None]:
                continue  # the operation was not stored, so nothing was done
            graph.until(60)
            assert standing(graph).status is OperationStatus.SUCCEEDED, stop_at
            assert {name: graph.run(name).attempt for name in "abcd"} == {
                name: 1 + (name in names) for name in "abcd"
            }, stop_at
            assert {graph.run(name).state.value for name in "abcd"} == {"succeeded"}, stop_at
    assert stop_at > 2
