"""Reruns of a cycle with items: the items that are then named run, or only those that died."""

import json

import pytest

from tests.engine.dependencies.graphs import BEGIN, Graph, key, node
from tests.engine.dependencies.reruns import rerun_of, standing
from tests.engine.dependencies.test_fan_out import each, handed, head, item, name, naming
from timeball.domain.model.evolve import evolve
from timeball.domain.model.jobs.job import JobSpec
from timeball.domain.model.runs.run import RunState
from timeball.domain.model.terms.dependency import TriggerRule
from timeball.domain.operation import OperationStatus, RerunMode
from timeball.domain.time.instants import HOUR_MS, SECOND_MS
from timeball.domain.time.schedule import Every, Schedule
from timeball.engine.operations.operation import create_operation
from timeball.engine.runs.due_runs import resend
from timeball.engine.runs.manual import cancel_runs, retry_runs, succeed_runs
from timeball.testing.faults import Crash, Points

OFTEN = evolve(node("a"), schedule=Schedule(Every(HOUR_MS, BEGIN)))
ONCE_OR_OFTEN = pytest.mark.parametrize("first", [node("a"), OFTEN], ids=["once", "recurring"])


def rerun(graph: Graph, names: str, mode: RerunMode) -> None:
    create_operation(graph.play.context(), rerun_of(graph, *names, mode=mode))


def forget(graph: Graph) -> None:
    graph.calls.clear()
    graph.called.clear()


def last_handed(graph: Graph, job_id: str = "b") -> list[tuple[str, object]]:
    calls = [call for call in graph.calls if call.run.job.job_id == job_id]
    return sorted((str(call.run).rsplit(".", 1)[1], json.loads(call.work.payload or "null")) for call in calls)


@ONCE_OR_OFTEN
def test_a_rerun_cycle_runs_the_items_that_are_named_then(first: JobSpec) -> None:
    with Graph(first, each("b", "a"), node("c", "b")) as graph:
        graph.bodies = {"a": naming(1, 2, 3)}
        graph.until(20)
        forget(graph)
        graph.bodies = {"a": naming("new", 2)}
        rerun(graph, "abc", RerunMode.ALL)
        graph.until(45)
        assert last_handed(graph) == [("d1", "new"), ("d2", 2)]
        assert (graph.called.count("a"), graph.called.count("c"), graph.called[-1]) == (1, 1, "c")
        assert (head(graph).state, standing(graph).status) == (RunState.SUCCEEDED, OperationStatus.SUCCEEDED)
        assert {run.attempt for run in graph.play.runs(key("b")) if run.id != item(3)} == {2}


@ONCE_OR_OFTEN
@pytest.mark.parametrize(("mode", "names"), [(RerunMode.FAILED, "b"), (RerunMode.FAILED_AND_DOWNSTREAM, "bc")])
def test_only_the_dead_items_of_a_failed_run_are_rerun(first: JobSpec, mode: RerunMode, names: str) -> None:
    with Graph(first, each("b", "a"), node("c", "b"), failing="b") as graph:
        graph.bodies = {"a": naming(1, 2)}
        graph.until(20)
        succeed_runs(graph.play.context(), [item(1)], "by hand")
        graph.until(25)
        assert head(graph).state is RunState.FAILED
        forget(graph)
        graph.failing.clear()
        rerun(graph, names, mode)
        graph.until(50)
        assert last_handed(graph) == [("d2", 2)]
        assert (graph.called, head(graph).state) == (["b", "c"], RunState.SUCCEEDED)


@ONCE_OR_OFTEN
def test_a_child_of_a_rerun_reruns_all_of_its_items(first: JobSpec) -> None:
    rule = TriggerRule.ALL_DONE
    with Graph(first, each("b", "a", trigger_rule=rule), node("c", "b", rule), failing="a") as graph:
        graph.takes_ms = {"a": 5_000}
        graph.until(2)
        assert name(graph, "early") is None
        graph.until(20)
        assert handed(graph) == {"d1": "early"}
        forget(graph)
        graph.failing.clear()
        graph.bodies = {"a": naming("late", "later")}
        rerun(graph, "abc", RerunMode.FAILED_AND_DOWNSTREAM)
        graph.until(50)
        assert last_handed(graph) == [("d1", "late"), ("d2", "later")]


def test_a_cancelled_cycle_is_rerun_with_its_items() -> None:
    with Graph(OFTEN, each("b", "a")) as graph:
        graph.bodies, graph.takes_ms = {"a": naming(1, 2)}, {"b": 30_000}
        graph.until(6)
        cancel_runs(graph.play.context(), [head(graph).id])
        graph.until(60)
        assert (head(graph).state, head(graph).cancel_requested) == (RunState.CANCELLED, True)
        forget(graph)
        graph.takes_ms = {}
        rerun(graph, "ab", RerunMode.ALL)
        graph.until(90)
        assert last_handed(graph) == [("d1", 1), ("d2", 2)]
        assert head(graph).state is RunState.SUCCEEDED


def test_an_item_that_still_runs_ends_before_its_cycle_runs_it_again() -> None:
    with Graph(OFTEN, each("b", "a"), failing="b") as graph:
        graph.bodies = {"a": naming(1, 2)}
        graph.until(20)
        graph.failing.clear()
        graph.takes_ms = {"b": 20_000}
        retry_runs(graph.play.context(), [item(1)])
        graph.until(22)
        forget(graph)
        graph.bodies = {"a": naming("new", 2)}
        rerun(graph, "ab", RerunMode.ALL)
        graph.until(100)
        assert last_handed(graph) == [("d1", "new"), ("d2", 2)]
        assert head(graph).state is RunState.SUCCEEDED


def test_a_run_that_was_cancelled_at_work_is_not_asked_to_stop_in_its_rerun() -> None:
    with Graph(OFTEN, node("b", "a")) as graph:
        graph.takes_ms = {"a": 30_000}
        graph.until(3)
        cancel_runs(graph.play.context(), [graph.run("a").id])
        graph.until(60)
        assert graph.run("a").state is RunState.CANCELLED
        graph.takes_ms = {}
        rerun(graph, "ab", RerunMode.ALL)
        graph.until(90)
        assert (graph.run("a").state, graph.run("b").state) == (RunState.SUCCEEDED, RunState.SUCCEEDED)


@ONCE_OR_OFTEN
def test_a_rerun_that_is_stopped_at_any_write_runs_each_item_once_more(first: JobSpec) -> None:
    stop_at, is_stopped = 0, True
    while is_stopped:
        with Graph(first, each("b", "a"), node("c", "b")) as graph:
            graph.bodies = {"a": naming(1, 2)}
            graph.until(15)
            forget(graph)
            graph.bodies = {"a": naming("new", 2)}
            rerun(graph, "abc", RerunMode.ALL)
            graph.until(15 + 2)
            is_stopped = _stopped_while_it_releases(graph, stop_at)
            stop_at += 1
            graph.until(60)
            assert last_handed(graph) == [("d1", "new"), ("d2", 2)], stop_at
            assert (graph.called.count("a"), graph.called[-1], head(graph).state) == (1, "c", RunState.SUCCEEDED)
    assert stop_at > 8


def _stopped_while_it_releases(graph: Graph, stop_at: int) -> bool:
    """Process the head from its first evaluation to the release of its items. Return whether it was stopped."""
    points = Points(stop_at)
    try:
        for _ in range(20):
            graph.play.clock.advance(SECOND_MS)
            resend(graph.play.context(points), graph.play.runs(key("b")))
            graph.service.until(graph.play.clock.now())
    except Crash:
        return True
    return False
