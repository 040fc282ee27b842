"""A graph on the real template: it runs in its order, a dead job blocks it, and it goes on once that is mended."""

import pytest

from local.demo_client import ApiClient
from local.receiver import Receiver
from tests.end_to_end.steps import ask, until

pytestmark = pytest.mark.xdist_group("end_to_end")


def test_a_diamond_is_blocked_by_its_dead_root_and_runs_once_that_is_marked_as_succeeded(
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
