"""Calls that receive the results of the parents of their job."""

import json
from itertools import count
from typing import Any

from tests.engine.dependencies.graphs import BEGIN, Graph, key, node
from tests.engine.dependencies.test_cycles import PERIOD, recurring
from tests.engine.play import Play
from timeball.domain.model.evolve import evolve
from timeball.domain.model.jobs.job import JobSpec
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import RunState
from timeball.domain.model.terms.dependency import Parent, TriggerRule
from timeball.domain.time.instants import SECOND_MS
from timeball.engine.runs.manual import succeed_runs
from timeball.engine.runs.trigger import Trigger, trigger
from timeball.engine.scheduling.submit import submit
from timeball.ports.errors import UnavailableError
from timeball.testing.faults import Points


def passing(spec: JobSpec, **fields: Any) -> JobSpec:
    return evolve(spec, pass_parents=True, **fields)


def handed(graph: Graph, job_id: str) -> list[dict[str, Any]]:
    """Return the payloads of a job's calls, in order."""
    return [json.loads(call.work.payload or "null") for call in graph.calls if call.run.job.job_id == job_id]


def told(job_id: str, status: str | None, result: object = None, at: int = BEGIN) -> dict[str, object]:
    return {"status": status, "runId": None if status is None else f"{job_id}.{at}.s", "result": result}


def test_a_call_receives_each_parents_end_and_answer_beside_its_payload() -> None:
    child = passing(node("c", "a b"), depends_on=(Parent("a", "rows"), Parent("b")))
    with Graph(node("a"), node("b"), child) as graph:
        graph.bodies = {"a": '{"n": [1]}', "b": "x" * 5_000}
        graph.until(10)
        (call,) = handed(graph, "c")
        assert call["payload"] == {"n": 1}
        assert call["parents"] == {"rows": told("a", "succeeded", {"n": [1]}),
                                   "b": told("b", "succeeded", "x" * 5_000)}  # fmt: skip


def test_a_job_that_does_not_ask_for_results_receives_only_its_payload_and_reads_no_parents() -> None:
    with Graph(node("a"), node("b", "a")) as graph:
        graph.until(10)
        assert handed(graph, "b") == [{"n": 1}]


def test_a_dead_or_unfinished_parent_is_passed_as_such_without_a_result() -> None:
    first = passing(node("c", "a b", TriggerRule.ANY_FAILED))
    with Graph(node("a"), node("b"), first, failing="a") as graph:
        graph.bodies = {"a": "broken"}
        graph.takes_ms["b"] = 30_000
        graph.until(10)
        (call,) = handed(graph, "c")
        assert call["parents"] == {"a": told("a", "failed"), "b": told("b", "running")}


def test_a_run_that_was_marked_as_succeeded_has_no_result() -> None:
    with Graph(node("a"), passing(node("b", "a")), failing="a") as graph:
        graph.bodies = {"a": "broken"}
        graph.until(10)
        succeed_runs(graph.play.context(), [graph.run("a").id], "by hand")
        graph.until(20)
        assert [call["parents"] for call in handed(graph, "b")] == [{"a": told("a", "succeeded")}]


def test_each_cycle_receives_the_answers_of_its_own_fire_time() -> None:
    with Graph(recurring("a"), passing(node("b", "a"))) as graph:
        graph.bodies = {"a": "1"}
        graph.until(10)
        graph.bodies = {"a": "2"}
        graph.until(PERIOD + 10)
        ats = [BEGIN, BEGIN + PERIOD * SECOND_MS]
        assert [call["parents"]["a"] for call in handed(graph, "b")] == [
            told("a", "succeeded", number, at) for number, at in zip((1, 2), ats, strict=True)
        ]


def test_a_trigger_receives_its_own_payload_and_the_answers_of_one_off_parents() -> None:
    with Graph(node("a"), recurring("r"), passing(recurring("b"), depends_on=(Parent("a"), Parent("r")))) as graph:
        graph.bodies = {"a": "1"}
        graph.until(5)
        trigger(graph.play.context(), [Trigger(key("b"), '"mine"', has_payload=True, request="one")])
        graph.until(10)
        call = handed(graph, "b")[-1]
        assert call["payload"] == "mine"
        assert call["parents"] == {"a": told("a", "succeeded", 1), "r": told("r", None)}


def test_a_run_whose_parents_answers_are_too_large_together_fails_for_good_with_the_reason_and_without_a_call() -> None:
    parents = [node(f"p{number}") for number in range(17)]
    child = passing(node("c", " ".join(one.key.job_id for one in parents)))
    with Graph(*parents, child) as graph:
        graph.bodies = {one.key.job_id: json.dumps("x" * (16 * 1024 - 2)) for one in parents}
        graph.until(15)
        run = graph.run("c")
        assert (run.state, run.reason, run.attempt) == (RunState.FAILED, Reason.PARENTS_TOO_LARGE, 0)
        assert (graph.statuses()["c"], handed(graph, "c")) == ("failed", [])


def test_a_call_receives_its_payload_once_whichever_answer_of_the_store_is_lost() -> None:
    """After a lost answer the executor asks for the claim again, and finds it done."""

    def lose_the_answer() -> None:
        raise UnavailableError("the answer was lost")

    for at in count():
        play = Play(at=BEGIN)
        submit(play.context(), [node("a")], BEGIN)
        play.run_on(key("a"))
        submit(play.context(), [passing(node("b", "a"))], BEGIN)
        play.scan_all()
        points = Points(at, lose_the_answer)
        play.execute(play.queue.receive("normal"), points)
        for _, call in play.caller.calls[1:]:
            assert json.loads(call.work.payload or "")["payload"] == {"n": 1}
        if points.reached <= at:
            break
    assert at > 5
