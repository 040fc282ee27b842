"""Jobs with a schedule of their own that name parents with `on: latest`, as requests create, show and change them."""

import pytest

from tests.api.client import Api
from tests.api.cycles.at_work import api_of
from tests.api.dependencies.asking import HOOK, SOON, batch, put, sentences
from tests.engine.dependencies.graphs import Graph
from tests.engine.dependencies.test_cycles import recurring
from tests.engine.dependencies.test_latest import judging
from timeball.api.dependencies.fields import NEEDS_SCHEDULE
from timeball.domain.time.instants import format_instant

LATEST = {"jobId": "a", "on": "latest"}
OFTEN = {"everySeconds": 60}


@pytest.fixture
def hourly(api: Api) -> Api:
    assert api.call("PUT", "/v1/jobs/a", {**HOOK, "cronExpression": "0 * * * *"}).status == 201
    return api


@pytest.mark.parametrize(
    ("schedule", "text"),
    [
        ({"cronExpression": "30 6 * * *"}, "every day at 06:30, UTC, if its parents' latest cycles allow"),
        (OFTEN, None),
        ({"scheduleAt": SOON}, None),
        ({"delaySeconds": 600}, None),
    ],
)
def test_a_job_with_a_schedule_of_its_own_keeps_it(hourly: Api, schedule: dict[str, object], text: str | None) -> None:
    answer = put(hourly, "b", LATEST, **schedule)
    assert answer.status == 201, answer.text
    assert answer.body["dependsOn"] == [LATEST]
    assert answer.body["nextRunAt"] is not None
    assert text in (None, answer.body["scheduleText"])
    assert hourly.call("GET", "/v1/jobs/b").body["dependsOn"] == [LATEST]
    again = put(hourly, "b", LATEST, **schedule)
    assert (again.status, again.body["version"]) == (200, 1)


BAD: dict[str, tuple[dict[str, object], list[str]]] = {
    "no schedule": ({"dependsOn": [LATEST]}, ["dependsOn.0.on"]),
    "no schedule, beside another parent": ({"dependsOn": ["c", LATEST]}, ["dependsOn.1.on"]),
    "items of its latest cycle": ({"dependsOn": [LATEST], "forEach": "a", **OFTEN}, ["forEach"]),
    "another parent with another recurrence": ({"dependsOn": ["c", LATEST], **OFTEN}, ["dependsOn.0"]),
    "events": ({"dependsOn": [LATEST], "event": {"source": ["x"]}}, ["dependsOn"]),
    "itself": ({"dependsOn": [{"jobId": "b", "on": "latest"}], **OFTEN}, ["dependsOn"]),
}


@pytest.mark.parametrize("case", BAD)
def test_a_latest_cycle_that_cannot_count_is_refused(hourly: Api, case: str) -> None:
    fields, bad = BAD[case]
    hourly.call("PUT", "/v1/jobs/c", {**HOOK, "everySeconds": 90})
    answer = hourly.call("PUT", "/v1/jobs/b", {**HOOK, **fields})
    assert answer.status == 400
    assert sorted(answer.bad_fields()) == bad


def test_the_refusal_names_what_is_missing(hourly: Api) -> None:
    assert sentences(put(hourly, "b", LATEST)) == {"dependsOn.0.on": NEEDS_SCHEDULE}


def test_a_patch_may_not_take_the_schedule_nor_let_another_recurrence_count(hourly: Api) -> None:
    put(hourly, "b", LATEST, **OFTEN)
    refused = hourly.call("PATCH", "/v1/jobs/b", {"everySeconds": None})
    assert sentences(refused)["dependsOn.0.on"] == NEEDS_SCHEDULE
    refused = hourly.call("PATCH", "/v1/jobs/b", {"dependsOn": ["a"]})
    assert "It recurs by" in sentences(refused)["dependsOn.0"]
    hourly.call("PUT", "/v1/jobs/c", {**HOOK, "dependsOn": ["a"]})
    refused = hourly.call("PATCH", "/v1/jobs/c", {"dependsOn": [LATEST]})
    assert sentences(refused) == {"dependsOn.0.on": NEEDS_SCHEDULE}
    changed = hourly.call("PATCH", "/v1/jobs/c", {"dependsOn": [LATEST], **OFTEN})
    assert (changed.status, changed.body["everySeconds"]) == (200, 60)
    assert hourly.call("PATCH", "/v1/jobs/c", {"dependsOn": None}).body["everySeconds"] == 60


def test_a_one_off_that_waits_for_its_parents_may_judge_their_latest_cycles_instead(hourly: Api) -> None:
    put(hourly, "x")
    put(hourly, "b", "x", scheduleAt=SOON)
    changed = hourly.call("PATCH", "/v1/jobs/b", {"dependsOn": [LATEST]})
    assert (changed.status, changed.body["status"], changed.body["nextRunAt"]) == (200, "pending", SOON)
    assert hourly.call("PATCH", "/v1/jobs/b", {"dependsOn": ["x"]}).status == 200


def test_a_parent_whose_latest_cycle_counts_may_change_its_recurrence(hourly: Api) -> None:
    put(hourly, "b", LATEST, **OFTEN)
    assert hourly.call("PATCH", "/v1/jobs/a", {"cronExpression": "5 * * * *"}).status == 200
    put(hourly, "c", "a")
    assert hourly.call("PATCH", "/v1/jobs/a", {"cronExpression": "6 * * * *"}).bad_fields() == ["cronExpression"]


def test_a_job_whose_latest_cycle_counts_is_cancelled_like_any_other_parent(hourly: Api) -> None:
    put(hourly, "b", LATEST, **OFTEN)
    assert hourly.call("DELETE", "/v1/jobs/a").body["children"] == ["b"]
    assert hourly.call("DELETE", "/v1/jobs/a", query={"children": "detach"}).status == 200
    left = hourly.call("GET", "/v1/jobs/b").body
    assert (left["dependsOn"], left["status"], left["everySeconds"]) == ([], "pending", 60)


def test_it_is_cancelled_with_its_parent_on_request(hourly: Api) -> None:
    put(hourly, "b", LATEST, **OFTEN)
    assert hourly.call("DELETE", "/v1/jobs/a", query={"children": "cancel"}).status == 200
    assert hourly.call("GET", "/v1/jobs/b").body["status"] == "cancelled"


def test_the_graph_shows_both_jobs(hourly: Api) -> None:
    put(hourly, "b", LATEST, **OFTEN)
    graph = hourly.call("GET", "/v1/jobs/a/graph").body
    assert [node["jobId"] for node in graph["descendants"]] == ["b"]
    assert [node["jobId"] for node in hourly.call("GET", "/v1/jobs/b/graph").body["ancestors"]] == ["a"]


def test_items_of_a_batch_name_each_other(api: Api) -> None:
    items = batch(
        api,
        {"ref": "rows", **OFTEN},
        {"ref": "report", "everySeconds": 90, "dependsOn": [{"jobId": "rows", "on": "latest"}]},
    )
    assert [item["status"] for item in items] == [201, 201]
    assert items[1]["job"]["dependsOn"] == [{"jobId": items[0]["job"]["jobId"], "on": "latest"}]


def test_a_run_says_what_it_waits_for_and_what_blocks_it() -> None:
    with Graph(recurring("a"), judging("b", "a"), failing="a") as graph:
        graph.until(15)
        api = api_of(graph)
        (run,) = api.call("GET", "/v1/jobs/b/runs").body["items"]
        shown = api.call("GET", f"/v1/runs/{run['runId']}").body
        assert (shown["status"], shown["reason"], shown["waitingFor"]) == ("queued", "blocked", ["a"])
        (dead,) = api.call("GET", "/v1/jobs/a/runs").body["items"]
        assert shown["blockedBy"] == {"runId": dead["runId"], "jobId": "a", "path": ["a", "b"]}
        fire_time = format_instant(graph.play.runs(graph.job("b").key)[0].id.fire_at)
        (item,) = api.call("GET", f"/v1/cycles/b/{fire_time}").body["items"]
        assert (item["jobId"], item["status"], item["waitingFor"]) == ("b", "blocked", ["a"])
