"""A cycle of a graph in one call: all its runs, whichever job is asked for, and which run waits for which."""

import pytest

from tests.api.client import Api
from tests.api.cycles.at_work import api_of, fire_time, read, recurring, states
from tests.engine.dependencies.graphs import BEGIN, Graph, node
from timeball.api.app import build_api
from timeball.domain.model.evolve import evolve
from timeball.domain.model.jobs.job import JobSpec
from timeball.domain.model.terms.dependency import TriggerRule
from timeball.domain.time.instants import SECOND_MS, format_instant
from timeball.domain.time.schedule import At, Schedule
from timeball.engine.context import Rules

DIAMOND = (node("a"), node("b", "a"), node("c", "a"), node("d", "b c"))


def waiting(api: Api, job_id: str, cycle: int = 0) -> dict[str, list[str]]:
    return {item["jobId"]: item["waitingFor"] for item in read(api, job_id, cycle)["items"]}


@pytest.mark.parametrize("first", [node("a"), recurring("a")], ids=["once", "recurring"])
@pytest.mark.parametrize("job_id", ["a", "c", "d"])
def test_a_cycle_lists_all_its_runs_parents_first_whichever_job_is_named(first: JobSpec, job_id: str) -> None:
    with Graph(first, *DIAMOND[1:]) as graph:
        graph.until(10)
        cycle = read(api_of(graph), job_id)
        assert [item["jobId"] for item in cycle["items"]] == ["a", "b", "c", "d"]
        assert {item["status"] for item in cycle["items"]} == {"succeeded"}
        assert [item["run"]["runId"] for item in cycle["items"]] == [str(graph.run(name).id) for name in "abcd"]
        assert (cycle["jobId"], cycle["fireTime"], cycle["isOver"], cycle["isCut"]) == (
            job_id, fire_time(), True, False,
        )  # fmt: skip


@pytest.mark.parametrize("first", [node("a"), recurring("a")], ids=["once", "recurring"])
def test_a_cycle_shows_what_each_run_waits_for_and_what_blocks_it(first: JobSpec) -> None:
    with Graph(first, *DIAMOND[1:], failing="b") as graph:
        graph.until(-10)
        api = api_of(graph)
        assert waiting(api, "b") == {"a": [], "b": ["a"], "c": ["a"], "d": ["b", "c"]}
        assert set(states(api, "b").values()) == {"pending"}
        graph.until(10)
        assert states(api, "b") == {"a": "succeeded", "b": "failed", "c": "succeeded", "d": "blocked"}
        assert waiting(api, "b") == {"a": [], "b": [], "c": [], "d": ["b"]}
        cycle = read(api, "b")
        assert cycle["items"][3]["blockedBy"]["path"] == ["b", "d"]
        assert cycle["isOver"]


def test_cycles_are_separate_and_a_future_cycle_is_shown_too() -> None:
    with Graph(recurring("a"), node("b", "a"), failing="a") as graph:
        graph.until(10)
        graph.failing.clear()
        graph.until(110)
        api = api_of(graph)
        assert [states(api, "b", cycle) for cycle in range(3)] == [
            {"a": "failed", "b": "blocked"}, {"a": "succeeded", "b": "succeeded"}, {"a": "pending", "b": "pending"},
        ]  # fmt: skip
        assert read(api, "b", 2)["items"][0]["run"] is None
        assert not read(api, "b", 2)["isOver"]


def test_a_gate_is_shown_with_the_runs_that_it_holds_up_but_not_with_other_jobs_that_wait_for_it() -> None:
    gate = evolve(node("gate"), schedule=Schedule(At(1)))
    with Graph(gate, node("other", "gate"), recurring("a"), node("b", "a gate"), failing="gate") as graph:
        graph.until(10)
        api = api_of(graph)
        assert states(api, "a") == {"a": "succeeded", "gate": "failed", "b": "blocked"}
        assert [item["isGate"] for item in read(api, "a")["items"]] == [False, True, False]
        assert waiting(api, "b")["b"] == ["gate"]
        other = api.call("GET", f"/v1/cycles/gate/{format_instant(1)}").body
        assert [item["jobId"] for item in other["items"]] == ["gate", "other"]


def test_a_graph_of_one_offs_has_one_cycle_under_the_fire_time_of_each() -> None:
    late_at = BEGIN + 20 * SECOND_MS
    late = evolve(node("late"), schedule=Schedule(At(late_at)))
    with Graph(node("a"), late, node("b", "a late")) as graph:
        graph.until(30)
        api = api_of(graph)
        assert states(api, "a") == {"a": "succeeded", "late": "succeeded", "b": "succeeded"}
        later = api.call("GET", f"/v1/cycles/a/{format_instant(late_at)}")
        assert [item["jobId"] for item in later.body["items"]] == ["a", "late", "b"]
        missing = api.call("GET", f"/v1/cycles/a/{format_instant(late_at + 1)}")
        assert (missing.status, fire_time() in missing.body["detail"]) == (404, True)


def test_jobs_and_runs_show_the_parents_that_they_still_wait_for() -> None:
    with Graph(*DIAMOND, recurring("r"), node("s", "r"), failing="b r") as graph:
        graph.until(-10)
        api = api_of(graph)
        assert api.call("GET", "/v1/jobs/d").body["waitingFor"] == ["b", "c"]
        assert api.call("GET", "/v1/jobs/a").body["waitingFor"] == []
        graph.until(10)
        assert api.call("GET", "/v1/jobs/d").body["waitingFor"] == ["b"]
        (run,) = [item["run"] for item in read(api, "s")["items"] if item["jobId"] == "s"]
        assert api.call("GET", f"/v1/runs/{run['runId']}").body["waitingFor"] == ["r"]
        assert api.call("GET", f"/v1/runs/{graph.run('a').id}").body["waitingFor"] == []


def test_under_any_failed_only_parents_that_may_still_fail_are_waited_for() -> None:
    any_failed = node("d", "b c", TriggerRule.ANY_FAILED)
    with Graph(node("b"), node("late", timeout=60), node("c", "late"), any_failed) as graph:
        graph.failing = {"late"}
        graph.until(10)
        assert waiting(api_of(graph), "d")["d"] == ["c"]


def test_an_unknown_cycle_is_a_404_and_an_invalid_time_a_400() -> None:
    with Graph(recurring("a")) as graph:
        api = api_of(graph)
        assert api.call("GET", f"/v1/cycles/nobody/{fire_time()}").status == 404
        assert api.call("GET", f"/v1/cycles/a/{format_instant(7)}").status == 404
        bad = api.call("GET", "/v1/cycles/a/noon")
        assert (bad.status, bad.bad_fields()) == (400, ["cycleId"])
        with_offset = fire_time().replace("Z", "%2B00:00")
        assert api.call("GET", f"/v1/cycles/a/{with_offset}").status == 200


def test_a_key_bounded_to_tags_sees_only_what_lies_within_its_bounds() -> None:
    tagged = evolve(node("b", "a"), tags={"team": "blue"})
    with Graph(node("a"), tagged, node("c", "b")) as graph:
        answer = api_of(graph).call("GET", f"/v1/cycles/b/{fire_time()}", bounds={"team": "blue"})
        assert [item["jobId"] for item in answer.body["items"]] == ["b"]
        other = api_of(graph).call("GET", f"/v1/cycles/a/{fire_time()}", bounds={"team": "blue"})
        assert other.status == 404


def test_a_cycle_that_is_too_large_is_cut_and_says_so() -> None:
    with Graph(node("a"), *(node(f"b{number}", "a") for number in range(8))) as graph:
        api = api_of(graph)
        context = evolve(api.edge.context, rules=Rules(shards=1, max_ancestors=4))
        api.handle = build_api(evolve(api.edge, context=context))
        cycle = read(api, "a")
        assert (len(cycle["items"]), cycle["isCut"]) == (5, True)
