"""A whole graph beside its schedule: by a trigger with `downstream`, or by a backfill with `graph`."""

from typing import Any

import pytest

from tests.api.client import Answer, Api
from tests.api.cycles.at_work import api_of
from tests.engine.dependencies.graphs import Graph, node
from tests.engine.dependencies.test_named_cycles import DIAMOND, ahead, daily
from timeball.domain.model.evolve import evolve
from timeball.domain.model.terms.dependency import Parent
from timeball.domain.time.instants import HOUR_MS, format_instant

DOWN = {"downstream": True}


def trigger(api: Api, job_id: str, body: object = DOWN, **more: Any) -> Answer:
    return api.call("POST", f"/v1/jobs/{job_id}/trigger", body, **more)


def cycle(api: Api, job_id: str, cycle_id: str) -> Any:
    answer = api.call("GET", f"/v1/cycles/{job_id}/{cycle_id}")
    assert answer.status == 200, answer.text
    return answer.body


def shown(body: dict[str, Any]) -> dict[str, str]:
    return {item["jobId"]: item["status"] for item in body["items"]}


def test_a_downstream_trigger_answers_with_the_cycle_that_it_begins() -> None:
    with Graph(*DIAMOND) as graph:
        api = api_of(graph)
        answer = trigger(api, "b")
        cycle_id = answer.body["cycleId"]
        assert (answer.status, answer.body["origin"], cycle_id.startswith("manual-")) == (201, "manual", True)
        first = cycle(api, "b", cycle_id)
        assert (shown(first), first["isOver"]) == ({"b": "queued", "d": "queued", "e": "queued"}, False)
        assert [item["waitingFor"] for item in first["items"]] == [[], ["b"], ["d"]]
        ahead(graph, 10)
        for job_id in "bde":
            last = cycle(api, job_id, cycle_id)
            assert (shown(last), last["isOver"]) == (dict.fromkeys("bde", "succeeded"), True)
            assert (last["cycleId"], last["fireTime"]) == (cycle_id, answer.body["fireTime"])
            assert {item["run"]["cycleId"] for item in last["items"]} == {cycle_id}


def test_a_payload_goes_to_the_first_job_alone() -> None:
    with Graph(*DIAMOND) as graph:
        trigger(api_of(graph), "d", {"downstream": True, "payload": {"day": 1}})
        ahead(graph, 10)
        assert [(call.run.job.job_id, call.work.payload) for call in graph.calls] == [
            ("d", '{"day":1}'),
            ("e", '{"n": 1}'),
        ]


def test_a_job_outside_a_cycle_and_an_unknown_name_are_a_404() -> None:
    with Graph(*DIAMOND) as graph:
        api = api_of(graph)
        cycle_id = trigger(api, "b").body["cycleId"]
        for job_id, name in (("a", cycle_id), ("b", "manual-1-abc"), ("b", f"{'0' * 26}-2026-11-21T09:30:00Z")):
            assert api.call("GET", f"/v1/cycles/{job_id}/{name}").status == 404


@pytest.mark.parametrize("name", ["manual-", "manual-x-y", "manual-1-A", "abc-noon", "noon"])
def test_a_text_that_names_no_cycle_is_a_400(name: str) -> None:
    with Graph(*DIAMOND) as graph:
        bad = api_of(graph).call("GET", f"/v1/cycles/a/{name}")
        assert (bad.status, bad.bad_fields()) == (400, ["cycleId"])


def test_a_job_that_runs_once_has_no_cycle_to_trigger_or_backfill() -> None:
    with Graph(node("a"), node("b", "a")) as graph:
        answer = trigger(api_of(graph), "a")
        assert (answer.status, answer.body["type"]) == (409, "urn:timeball:problem:no-cycles")
        assert not graph.called


def test_an_idempotency_key_begins_one_cycle() -> None:
    with Graph(*DIAMOND) as graph:
        api, headers = api_of(graph), {"Idempotency-Key": "k"}
        first, again = trigger(api, "a", headers=headers), trigger(api, "a", headers=headers)
        assert (again.status, again.body["cycleId"]) == (201, first.body["cycleId"])
        assert again.headers["Idempotency-Replayed"] == "true"
        assert trigger(api, "a", {}, headers=headers).status == 422


def test_a_key_that_is_bounded_to_tags_must_see_the_whole_subtree() -> None:
    tagged = [evolve(spec, tags={"team": "x"} if spec.key.job_id != "e" else {}) for spec in DIAMOND]
    with Graph(*tagged) as graph:
        answer = trigger(api_of(graph), "a", bounds={"team": "x"})
        assert answer.status == 403
        assert "bounded to tags" in answer.body["detail"]


def test_a_graph_backfill_has_a_cycle_for_each_fire_time() -> None:
    with Graph(*DIAMOND) as graph:
        api, now = api_of(graph), graph.play.clock.now()
        body = {"from": format_instant(now - 48 * HOUR_MS), "to": format_instant(now), "graph": True, "paceSeconds": 0}
        dry = api.call("POST", "/v1/jobs/b/backfills", {**body, "dryRun": True}).body
        made = api.call("POST", "/v1/jobs/b/backfills", body).body
        assert (dry["total"], dry["graph"], made["total"], made["graph"]) == (2, True, 2, True)
        ahead(graph, 10)
        for fire_time in dry["instants"]:
            last = cycle(api, "d", f"{made['backfillId']}-{fire_time}")
            assert (shown(last), last["isOver"], last["fireTime"]) == (
                dict.fromkeys("bde", "succeeded"), True, fire_time,
            )  # fmt: skip


def test_a_named_cycle_runs_again_from_its_failed_run_on() -> None:
    with Graph(daily("a"), node("b", "a"), node("c", "b"), failing="b") as graph:
        api = api_of(graph)
        cycle_id = trigger(api, "a").body["cycleId"]
        ahead(graph, 10)
        assert shown(cycle(api, "a", cycle_id)) == {"a": "succeeded", "b": "failed", "c": "blocked"}
        graph.failing.clear()
        for mode in ("failedAndDownstream", "all"):
            again = api.call("POST", f"/v1/cycles/c/{cycle_id}:rerun", {"mode": mode})
            assert again.status == 201, again.text
            ahead(graph, 15)
            assert shown(cycle(api, "a", cycle_id)) == dict.fromkeys("abc", "succeeded")
        assert graph.called == ["a", "b", "b", "c", "a", "b", "c"]


def test_a_new_child_has_no_run_in_a_cycle_that_has_begun() -> None:
    with Graph(daily("a"), node("b", "a")) as graph:
        api = api_of(graph)
        cycle_id = trigger(api, "a").body["cycleId"]
        graph.submit(evolve(node("c", "a"), depends_on=(Parent("a"),)))
        ahead(graph, 10)
        assert shown(cycle(api, "a", cycle_id)) == {"a": "succeeded", "b": "succeeded"}


def test_the_log_of_changes_names_the_run_that_a_downstream_trigger_made() -> None:
    with Graph(*DIAMOND) as graph:
        api = api_of(graph)
        run_id = trigger(api, "a").body["runId"]
        ahead(graph, 10)
        items = api.call("GET", "/v1/changes").body["items"]
        triggers = [item["resource"] for item in items if item["action"] == "trigger"]
        assert triggers == [{"type": "run", "id": run_id}]
