"""Jobs that have a run for each item that a parent's run names."""

import json
from typing import Any

import pytest

from tests.engine.dependencies.graphs import BEGIN, Graph, key, node
from tests.engine.dependencies.test_cycles import PERIOD, recurring
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import Origin, RunId
from timeball.domain.model.jobs.job import JobSpec
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.terms.dependency import TriggerRule
from timeball.domain.time.instants import SECOND_MS
from timeball.engine.changes.change import cancel, pause, resume
from timeball.engine.dependencies.examine import examine
from timeball.engine.runs.callback import Naming, name_items
from timeball.engine.runs.effects import Refusal
from timeball.engine.runs.manual import cancel_runs, retry_runs, succeed_runs


def each(job_id: str, parent: str, parents: str = "", **fields: Any) -> JobSpec:
    return evolve(node(job_id, parents or parent), for_each=parent, **fields)


def naming(*items: object) -> str:
    return json.dumps({"fanOut": items})


def item(number: int, job_id: str = "b", at: int = BEGIN) -> RunId:
    return RunId(key(job_id), at, Origin.DEPENDENCY, str(number))


def head(graph: Graph, job_id: str = "b", at: int = BEGIN) -> Run:
    (run,) = graph.play.store.runs.read([RunId(key(job_id), at, Origin.SCHEDULE)])
    assert run is not None
    return run


def handed(graph: Graph, job_id: str = "b") -> dict[str, object]:
    """Return what the call of each run of a job was given, and assert that no run was called twice."""
    calls = [call for call in graph.calls if call.run.job.job_id == job_id]
    assert len({call.run for call in calls}) == len(calls)
    return {str(call.run).rsplit(".", 1)[1]: json.loads(call.work.payload or "null") for call in calls}


def name(graph: Graph, *items: object, attempt: int = 1, request: str = "one") -> Refusal | None:
    texts = tuple(json.dumps(item) for item in items)
    return name_items(graph.play.context(), [Naming(graph.run("a").id, attempt, texts, request, str(items))])[0][0]


def test_each_item_of_an_answer_is_the_payload_of_one_run_and_a_child_runs_after_all_of_them() -> None:
    with Graph(node("a"), each("b", "a"), node("c", "b")) as graph:
        graph.bodies = {"a": naming({"file": 1}, "two", None)}
        graph.takes_ms["b"] = 8_000
        graph.until(8)
        assert handed(graph) == {"d1": {"file": 1}, "d2": "two", "d3": None}
        assert (head(graph).state, graph.called.count("c")) == (RunState.RUNNING, 0)
        graph.until(20)
        assert graph.statuses() == {"a": "completed", "b": "completed", "c": "completed"}
        assert graph.called[-1] == "c"
        assert head(graph).due_at is None
        assert [run.due_at for run in graph.play.runs(key("b"))] == [None] * 4


def test_a_run_may_name_items_while_it_works_and_the_items_of_its_answer_follow_them() -> None:
    with Graph(node("a"), each("b", "a"), each("other", "a")) as graph:
        graph.bodies, graph.takes_ms = {"a": naming(4)}, {"a": 10_000}
        graph.until(3)
        assert [name(graph, 1, 2), name(graph, 3, request="two"), name(graph, 1, 2)] == [None] * 3
        assert name(graph, 7) is Refusal.CONFLICT
        assert name(graph, 9, attempt=2) is Refusal.STALE
        assert name(graph, *range(998), request="three") is Refusal.TOO_MANY
        assert name(graph, "x" * 262_144, request="four") is Refusal.TOO_LARGE
        assert graph.called == ["a"]
        graph.until(20)
        assert name(graph, 9, request="late") is Refusal.STALE
        assert handed(graph) == handed(graph, "other") == {"d1": 1, "d2": 2, "d3": 3, "d4": 4}


def test_only_the_items_that_the_newest_attempt_named_count() -> None:
    first = node("a")
    with Graph(evolve(first, retry=evolve(first.retry, max_retries=1)), each("b", "a"), failing="a") as graph:
        graph.bodies, graph.takes_ms = {"a": naming("lost")}, {"a": 3_000}
        graph.until(2)
        assert name(graph, "old") is None
        graph.until(5)
        graph.failing.clear()
        graph.bodies = {"a": naming("new")}
        graph.until(20)
        assert handed(graph) == {"d1": "new"}


def test_a_dead_parent_keeps_the_items_that_its_newest_attempt_named_while_it_worked() -> None:
    with Graph(node("a"), each("b", "a", trigger_rule=TriggerRule.ALL_DONE), failing="a") as graph:
        graph.bodies, graph.takes_ms = {"a": naming("in an answer that failed")}, {"a": 5_000}
        graph.until(2)
        assert name(graph, "at work") is None
        graph.until(20)
        assert handed(graph) == {"d1": "at work"}


@pytest.mark.parametrize("rule", [TriggerRule.ANY_SUCCEEDED, TriggerRule.ALL_SUCCEEDED])
def test_no_item_begins_before_the_run_that_names_the_items_is_over(rule: TriggerRule) -> None:
    with Graph(node("a"), node("x"), each("b", "a", "a x", trigger_rule=rule)) as graph:
        graph.bodies, graph.takes_ms = {"a": naming(1)}, {"a": 10_000}
        graph.until(8)
        assert handed(graph) == {}
        graph.until(20)
        assert handed(graph) == {"d1": 1}


@pytest.mark.parametrize("body", ["", "{}", '{"fanOut": []}', "fine", "[1, 2]"])
def test_without_items_the_cycle_is_skipped_with_that_reason(body: str) -> None:
    with Graph(node("a"), each("b", "a"), node("c", "b"), node("d", "b", TriggerRule.ALL_DONE)) as graph:
        graph.bodies = {"a": body}
        graph.until(10)
        assert (head(graph).state, head(graph).reason) == (RunState.SKIPPED, Reason.NO_ITEMS)
        assert graph.statuses() == {"a": "completed", "b": "skipped", "c": "skipped", "d": "completed"}
        assert handed(graph) == {}


BAD = {
    "no list": '{"fanOut": 5}',
    "too many": naming(*range(1_001)),
    "cut": '{"fanOut": ["' + "x" * 16_384,
    "no number": '{"fanOut": [1e999]}',
}


@pytest.mark.parametrize("case", BAD)
def test_unusable_items_fail_the_whole_with_the_reason_until_they_are_corrected(case: str) -> None:
    with Graph(node("a"), each("b", "a"), node("c", "b")) as graph:
        graph.bodies = {"a": BAD[case][:16_384]}
        graph.until(10)
        assert (head(graph).state, head(graph).reason) == (RunState.FAILED, Reason.BAD_ITEMS)
        assert graph.statuses() == {"a": "completed", "b": "failed", "c": "blocked"}
        succeed_runs(graph.play.context(), [head(graph).id], "by hand")
        graph.until(20)
        assert graph.statuses()["c"] == "completed"


class TestDeadItems:
    def test_a_dead_item_fails_the_whole_after_all_are_over_and_a_retry_lets_the_graph_go_on(self) -> None:
        with Graph(node("a"), each("b", "a"), node("c", "b"), failing="b") as graph:
            graph.bodies = {"a": naming(1, 2)}
            graph.until(10)
            assert (head(graph).state, head(graph).reason) == (RunState.FAILED, Reason.ITEMS_FAILED)
            assert graph.statuses() == {"a": "completed", "b": "failed", "c": "blocked"}
            assert not head(graph).is_dead_letter
            graph.failing.clear()
            retry_runs(graph.play.context(), [item(1)])
            graph.until(15)
            assert graph.statuses()["c"] == "blocked"
            succeed_runs(graph.play.context(), [item(2)], "by hand")
            graph.until(25)
            assert graph.statuses() == {"a": "completed", "b": "completed", "c": "completed"}
            assert head(graph).due_at is None

    def test_a_retry_of_the_whole_retries_only_the_dead_items(self) -> None:
        with Graph(node("a"), each("b", "a"), node("c", "b"), failing="b") as graph:
            graph.bodies = {"a": naming(1, 2, 3)}
            graph.until(10)
            graph.failing.clear()
            succeed_runs(graph.play.context(), [item(2)], "by hand")
            retry_runs(graph.play.context(), [head(graph).id])
            graph.until(20)
            assert graph.statuses()["c"] == "completed"
            again = [str(call.run)[-2:] for call in graph.calls if call.run.job.job_id == "b" and call.attempt == 2]
            assert sorted(again) == ["d1", "d3"]


class TestCancelling:
    def test_a_cancelled_item_cancels_the_whole_after_all_are_over(self) -> None:
        with Graph(node("a"), each("b", "a"), node("c", "b")) as graph:
            graph.bodies, graph.takes_ms = {"a": naming(1, 2)}, {"b": 5_000}
            graph.until(5)
            cancel_runs(graph.play.context(), [item(1)])
            graph.until(20)
            states = [run.state for run in graph.play.store.runs.read([item(1), item(2)]) if run]
            assert RunState.SUCCEEDED in states
            expected = "completed" if set(states) == {RunState.SUCCEEDED} else "cancelled"
            assert graph.statuses()["b"] == expected

    def test_cancelling_the_whole_stops_its_items(self) -> None:
        with Graph(node("a"), each("b", "a"), node("c", "b")) as graph:
            graph.bodies, graph.takes_ms = {"a": naming(1, 2)}, {"b": 60_000}
            graph.until(5)
            cancel_runs(graph.play.context(), [head(graph).id])
            graph.until(40)
            runs = graph.play.runs(key("b"))
            assert {run.state for run in runs} == {RunState.CANCELLED}
            assert {run.reason for run in runs} == {Reason.RUN_CANCELLED}
            assert graph.statuses() == {"a": "completed", "b": "cancelled", "c": "skipped"}

    def test_cancelling_the_job_stops_its_items(self) -> None:
        with Graph(node("a"), each("b", "a"), node("c", "b")) as graph:
            graph.bodies, graph.takes_ms = {"a": naming(1, 2)}, {"b": 60_000}
            graph.until(5)
            cancel(graph.play.context(), [(key("b"), None)])
            graph.until(40)
            assert {run.state for run in graph.play.runs(key("b"))} == {RunState.CANCELLED}
            assert all(run.due_at is None for run in graph.play.runs(key("b")))


def test_each_cycle_has_the_items_of_its_own_fire_time() -> None:
    with Graph(recurring("a"), each("b", "a"), node("c", "b")) as graph:
        graph.bodies = {"a": naming(1)}
        graph.until(10)
        graph.bodies = {"a": naming(2, 3)}
        graph.until(PERIOD + 10)
        calls = [(call.run.fire_at, call.run.series) for call in graph.calls if call.run.job.job_id == "b"]
        assert sorted(calls) == [(BEGIN, "1"), *((BEGIN + PERIOD * SECOND_MS, number) for number in "12")]
        assert graph.called.count("c") == 2


def test_a_pause_before_the_whole_begins_defers_it_until_the_resume() -> None:
    with Graph(node("a"), each("b", "a")) as graph:
        graph.bodies, graph.takes_ms = {"a": naming(1)}, {"a": 5_000}
        graph.until(2)
        pause(graph.play.context(), [(key("b"), None)])
        graph.until(15)
        assert handed(graph) == {}
        resume(graph.play.context(), [(key("b"), None)])
        graph.until(25)
        assert (handed(graph), graph.statuses()["b"]) == ({"d1": 1}, "completed")


def test_a_thousand_items_run_once_each() -> None:
    with Graph(node("a"), each("b", "a"), node("c", "b")) as graph:
        graph.takes_ms = {"a": 5_000}
        graph.until(2)
        assert name(graph, *range(1_000)) is None
        graph.until(60)
        assert handed(graph) == {f"d{number + 1}": number for number in range(1_000)}
        assert graph.statuses() == {"a": "completed", "b": "completed", "c": "completed"}


def test_a_parent_with_items_of_its_own_cannot_name_items() -> None:
    with Graph(node("a"), each("b", "a")) as graph:
        (examined,) = examine(graph.play.context(), [each("c", "b")])
        assert [fault.sentence for fault in examined.faults] == [
            "This job has a run for each item itself, and names none; add a job between."
        ]
