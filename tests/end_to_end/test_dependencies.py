"""A graph on the real template: it runs in its order, a dead job blocks it, and it goes on after a repair.

A second graph has a run for each item: one job names items while it runs, and another has a run for each of them.
"""

import json

import pytest

from local.demo_client import ApiClient
from local.receiver import Receiver
from tests.end_to_end.steps import ask, calls_of, ledger, until

pytestmark = pytest.mark.xdist_group("end_to_end")


def test_a_diamond_is_blocked_by_its_dead_root_and_runs_once_the_root_is_marked_as_succeeded(
    client: ApiClient, receiver: Receiver
) -> None:
    hook = {"handler": f"{receiver.url}/ok"}
    root = {"handler": f"{receiver.url}/status/400", "ref": "a", "maxRetries": 0}
    jobs = [
        root,
        {**hook, "ref": "b", "dependsOn": ["a"]},
        {**hook, "ref": "c", "dependsOn": ["a"]},
        {**hook, "ref": "d", "dependsOn": ["b", "c"]},
    ]
    items = ask(client, "POST", "/v1/jobs:batch", {"jobs": jobs})["items"]
    ids = [item["job"]["jobId"] for item in items]

    def statuses() -> list[str]:
        return [client.get(f"/v1/jobs/{job_id}")["status"] for job_id in ids]

    until(lambda: statuses() == ["failed", "blocked", "blocked", "blocked"], otherwise="they are not blocked")
    last = client.get(f"/v1/jobs/{ids[3]}")
    assert last["blockedBy"]["jobId"] == ids[0]
    listed = {job["jobId"] for job in client.get("/v1/jobs?status=blocked")["items"]}
    assert set(ids[1:]) <= listed
    ask(client, "POST", f"/v1/runs/{last['blockedBy']['runId']}/succeed", {"reason": "a test"})
    until(lambda: statuses() == ["completed"] * 4, otherwise="it does not go on")
    graph = client.get(f"/v1/jobs/{ids[0]}/graph")
    assert [node["status"] for node in graph["descendants"]] == ["completed"] * 3


def test_each_item_that_a_run_names_has_its_own_run_and_a_child_runs_after_all_of_them(
    client: ApiClient, receiver: Receiver
) -> None:
    ok = {"handler": f"{receiver.url}/ok"}
    jobs = [
        {"handler": f"{receiver.url}/accepted", "completion": "callback", "timeoutSeconds": 600, "ref": "list"},
        {"handler": f"{receiver.url}/flaky/1", "ref": "load", "dependsOn": ["list"], "forEach": "list"},
        {**ok, "ref": "report", "dependsOn": ["load"]},
    ]
    listing, load, report = (item["job"] for item in ask(client, "POST", "/v1/jobs:batch", {"jobs": jobs})["items"])
    until(lambda: [run["callback"] is not None for run in ledger(client, listing)] == [True])
    path = f"/v1/runs/{ledger(client, listing)[0]['runId']}"
    items = [{"file": f"{name}.csv"} for name in "abc"]
    ask(client, "POST", f"{path}/fan-out", {"attempt": 1, "items": items[:2]})
    ask(client, "POST", f"{path}/complete", {"attempt": 1, "result": {"fanOut": items[2:]}})
    until(lambda: client.get(f"/v1/jobs/{report['jobId']}")["status"] == "completed", otherwise="it does not go on")
    called = [(json.loads(call.body), call.attempt) for call in calls_of(receiver, load)]
    assert sorted(called, key=str) == [(item, attempt) for item in items for attempt in (1, 2)]
    (head,) = [run for run in ledger(client, load) if "item" not in run or run["item"] is None]
    assert (head["status"], head["items"]["count"]) == ("succeeded", 3)
    (last,) = calls_of(receiver, report)
    assert last.at >= max(call.at for call in calls_of(receiver, load))
