"""A cycle is run again in three modes, each in one call: the failed runs, the failed runs and their descendants, or
all.
"""

import pytest

from tests.api.client import Answer, Api
from tests.api.cycles.at_work import api_of, fire_time, recurring, states
from tests.engine.dependencies.graphs import Graph, key, node
from timeball.api.app import build_api
from timeball.domain.model.evolve import evolve
from timeball.domain.model.jobs.job import JobSpec
from timeball.domain.model.terms.dependency import TriggerRule
from timeball.engine.changes.change import cancel, pause
from timeball.engine.changes.history import ChangeFilter, list_changes
from timeball.engine.context import Rules
from timeball.engine.runs.dead_letters import discard, read_dead
from timeball.engine.runs.manual import cancel_runs

ONCE, OFTEN = node("a"), recurring("a")
BOTH = pytest.mark.parametrize("first", [ONCE, OFTEN], ids=["once", "recurring"])
DIAMOND = (node("b", "a"), node("c", "a"), node("d", "b c"), node("e", "d"))


def rerun(api: Api, mode: object, job_id: str = "a", idempotency_key: str | None = None, **about: object) -> Answer:
    headers = {} if idempotency_key is None else {"Idempotency-Key": idempotency_key}
    where = f"/v1/cycles/{job_id}/{fire_time()}:rerun"
    return api.call("POST", where, {"mode": mode}, headers=headers, **about)  # type: ignore[arg-type]


def attempts(graph: Graph) -> dict[str, int]:
    return {run.id.job.job_id: run.attempt for job in "abcde" for run in graph.play.runs(key(job))[:1] if run.attempt}


@BOTH
def test_failed_runs_run_again_and_the_runs_that_they_blocked_go_on_by_themselves(first: JobSpec) -> None:
    with Graph(first, *DIAMOND, failing="b") as graph:
        graph.until(10)
        api = api_of(graph)
        graph.failing.clear()
        answer = rerun(api, "failed", "d")
        assert (answer.status, answer.body["action"]) == (201, "rerun")
        assert answer.body["rerun"] == {"jobId": "d", "cycleId": fire_time(), "fireTime": fire_time(), "mode": "failed"}
        assert answer.headers["Location"] == f"/v1/operations/{answer.body['operationId']}"
        graph.until(30)
        assert set(states(api, "a").values()) == {"succeeded"}
        assert attempts(graph) == {"a": 1, "b": 2, "c": 1, "d": 1, "e": 1}
        done = api.call("GET", answer.headers["Location"]).body
        assert (done["status"], done["progress"]) == ("succeeded", {"matched": 1, "done": 1, "failed": 0})


@BOTH
def test_failed_and_downstream_also_runs_descendants_again_that_had_succeeded(first: JobSpec) -> None:
    sloppy = node("d", "b c", TriggerRule.ALL_DONE)
    with Graph(first, *DIAMOND[:2], sloppy, DIAMOND[3], failing="b") as graph:
        graph.until(10)
        api = api_of(graph)
        assert states(api, "a") == {
            "a": "succeeded", "b": "failed", "c": "succeeded", "d": "succeeded", "e": "succeeded",
        }  # fmt: skip
        graph.failing.clear()
        graph.called.clear()
        assert rerun(api, "failedAndDownstream").body["progress"]["matched"] == 3
        graph.until(40)
        assert graph.called == ["b", "d", "e"]
        assert attempts(graph) == {"a": 1, "b": 2, "c": 1, "d": 2, "e": 2}
        assert set(states(api, "a").values()) == {"succeeded"}
        assert {job.status for job in (graph.job(name) for name in "bde")} <= {"completed", "pending"}


@BOTH
def test_all_runs_the_whole_cycle_again_in_its_order(first: JobSpec) -> None:
    with Graph(first, *DIAMOND) as graph:
        graph.until(10)
        graph.called.clear()
        api = api_of(graph)
        rerun(api, "all", "e")
        graph.until(50)
        assert (graph.called[0], sorted(graph.called[1:3]), graph.called[3:]) == ("a", ["b", "c"], ["d", "e"])
        assert attempts(graph) == dict.fromkeys("abcde", 2)
        assert set(states(api, "a").values()) == {"succeeded"}
        history = api.call("GET", f"/v1/runs/{graph.play.runs(key('d'))[0].id}").body
        assert [one["number"] for one in history["attempts"]] == [1, 2]


@BOTH
def test_trigger_rules_are_decided_anew(first: JobSpec) -> None:
    """At first `a` succeeds, so `c` (`anyFailed`) is skipped.

    The second time `a` fails, so `c` runs and `b` is blocked.
    """
    mourner = node("c", "a", TriggerRule.ANY_FAILED)
    with Graph(first, node("b", "a"), mourner) as graph:
        graph.until(10)
        api = api_of(graph)
        assert states(api, "a") == {"a": "succeeded", "b": "succeeded", "c": "skipped"}
        graph.failing = {"a"}
        rerun(api, "all")
        graph.until(40)
        assert states(api, "a") == {"a": "failed", "b": "blocked", "c": "succeeded"}
        graph.failing.clear()
        rerun(api, "failedAndDownstream")
        graph.until(70)
        assert states(api, "a") == {"a": "succeeded", "b": "succeeded", "c": "skipped"}


@BOTH
def test_a_cycle_with_a_run_under_way_is_refused_and_the_answer_names_that_run(first: JobSpec) -> None:
    with Graph(first, *DIAMOND, failing="b") as graph:
        graph.service.engine.is_executing = False
        graph.until(1)
        api = api_of(graph)
        answer = rerun(api, "all")
        assert (answer.status, answer.body["type"]) == (409, "urn:timeball:problem:run-under-way")
        assert answer.body["detail"].startswith("Runs that this would clear are under way: a.")


@BOTH
def test_the_same_key_reruns_a_cycle_once_and_a_repeat_without_a_key_finds_nothing_to_do(first: JobSpec) -> None:
    with Graph(first, *DIAMOND, failing="b") as graph:
        graph.until(10)
        api = api_of(graph)
        graph.failing.clear()
        one = rerun(api, "failedAndDownstream", idempotency_key="k")
        again = rerun(api, "failedAndDownstream", idempotency_key="k")
        assert (again.body["operationId"], again.headers["Idempotency-Replayed"]) == (one.body["operationId"], "true")
        assert rerun(api, "all", idempotency_key="k").status == 422
        graph.until(40)
        assert rerun(api, "failed").body["progress"]["matched"] == 0
        assert rerun(api, "failedAndDownstream", idempotency_key="k").body["status"] == "succeeded"
        graph.until(60)
        assert attempts(graph)["b"] == 2


@BOTH
def test_a_cancelled_job_stays_cancelled_and_counts_by_the_trigger_rules(first: JobSpec) -> None:
    with Graph(first, node("b", "a"), node("c", "b a", TriggerRule.ALL_DONE)) as graph:
        cancel(graph.play.context(), [(key("b"), None)])
        graph.until(10)
        api = api_of(graph)
        rerun(api, "all")
        graph.until(40)
        assert (graph.job("b").status, attempts(graph)) == ("cancelled", {"a": 2, "c": 2})


def test_a_cancelled_run_runs_again_if_its_job_may() -> None:
    with Graph(OFTEN, node("b", "a")) as graph:
        graph.service.engine.is_executing = False
        graph.until(1)
        cancel_runs(graph.play.context(), [graph.run("a").id])
        graph.service.engine.is_executing = True
        graph.until(10)
        api = api_of(graph)
        assert states(api, "a") == {"a": "cancelled", "b": "skipped"}
        rerun(api, "all")
        graph.until(40)
        assert states(api, "a") == {"a": "succeeded", "b": "succeeded"}


def test_a_paused_recurring_job_reruns_its_cycle_as_a_retry_would() -> None:
    with Graph(OFTEN, node("b", "a"), failing="b") as graph:
        graph.until(10)
        pause(graph.play.context(), [(key("b"), None)])
        graph.failing.clear()
        rerun(api_of(graph), "failedAndDownstream")
        graph.until(40)
        assert graph.run("b").state == "succeeded"


@BOTH
def test_a_discarded_dead_letter_runs_again_too(first: JobSpec) -> None:
    with Graph(first, node("b", "a"), failing="a") as graph:
        graph.until(10)
        discard(graph.play.context(), read_dead(graph.play.context(), [graph.run("a").id]))
        graph.failing.clear()
        rerun(api_of(graph), "failed")
        graph.until(40)
        assert states(api_of(graph), "a") == {"a": "succeeded", "b": "succeeded"}


@BOTH
def test_the_dependency_timeout_starts_again_with_the_rerun(first: JobSpec) -> None:
    with Graph(first, node("b", "a", timeout=30), failing="a") as graph:
        graph.until(60)
        api = api_of(graph)
        assert states(api, "a") == {"a": "failed", "b": "skipped"}
        rerun(api, "failedAndDownstream")
        graph.until(80)
        assert states(api, "a") == {"a": "failed", "b": "blocked"}
        graph.until(95)
        assert states(api, "a") == {"a": "failed", "b": "skipped"}


def test_the_rerun_records_its_actor() -> None:
    with Graph(ONCE, recurring("r"), node("b", "a"), failing="a") as graph:
        graph.until(10)
        api = api_of(graph)
        operation = rerun(api, "failedAndDownstream", key="key_2").body["operationId"]
        rerun(api, "all", "r", key="key_2")
        (newest, *_) = api.call("GET", "/v1/jobs/a/revisions").body["items"]
        assert (newest["action"], newest["actor"]["keyId"]) == ("rerun", "key_2")
        entries = list_changes(api.context, ChangeFilter("acme"), 20).items
        asked = [(str(one.resource.kind), one.resource.id) for one in entries if one.action == "rerun"]
        assert ("operation", operation) in asked
        assert ("run", str(graph.run("r").id)) in asked


def test_an_invalid_rerun_is_refused() -> None:
    with Graph(ONCE, evolve(node("b", "a"), tags={"team": "blue"}), failing="a b") as graph:
        graph.until(10)
        api = api_of(graph)
        assert rerun(api, "some").bad_fields() == ["mode"]
        assert api.call("POST", f"/v1/cycles/a/{fire_time()}:rerun", {}).bad_fields() == ["mode"]
        assert api.call("POST", "/v1/cycles/a/noon:rerun", {"mode": "all"}).bad_fields() == ["cycleId"]
        assert rerun(api, "all", "nobody").status == 404
        foreign = rerun(api, "all", "b", bounds={"team": "blue"})
        assert (foreign.status, foreign.body["type"]) == (403, "urn:timeball:problem:forbidden")
        context = evolve(api.edge.context, rules=Rules(shards=1, max_ancestors=1))
        api.handle = build_api(evolve(api.edge, context=context))
        assert rerun(api, "all").status in (201, 400)
