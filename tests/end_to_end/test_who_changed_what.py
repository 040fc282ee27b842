"""The record of changes on the whole Timeball: the authorizer gives the key, and the gateway the address."""

import pytest

from local.demo_client import ApiClient
from tests.end_to_end.steps import ask

pytestmark = pytest.mark.xdist_group("end_to_end")

HOOK = "https://hook.example/never-called"


def test_a_change_is_shown_with_its_key_and_address_and_can_be_restored(client: ApiClient) -> None:
    wanted = {"handler": HOOK, "everySeconds": 86_400, "payload": "p" * 2_000, "name": "first"}
    job = client.create(wanted)
    path = f"/v1/jobs/{job['jobId']}"
    ask(client, "PUT", path, {"handler": HOOK, "everySeconds": 43_200, "startAt": "2199-01-01T00:00:00Z"})
    restored = ask(client, "POST", f"{path}/revisions/1:restore")
    assert (restored["version"], restored["name"], restored["payload"]) == (3, "first", "p" * 2_000)
    run = ask(client, "POST", f"{path}/trigger", {"payload": 1})
    ask(client, "DELETE", path)

    told = client.get(f"{path}/revisions")["items"]
    assert [(one["revision"], one["action"]) for one in told] == [
        (4, "cancel"),
        (3, "restore"),
        (2, "put"),
        (1, "create"),
    ]
    assert {one["actor"]["keyId"] for one in told} == {job["createdBy"]}
    assert job["createdBy"].startswith("demo.")
    assert all(one["actor"]["address"] for one in told)
    assert [one["before"] for one in told] == [*(one["after"] for one in told[1:]), None]
    logged = client.get("/v1/changes", jobId=job["jobId"])["items"]
    assert [one for one in logged if one["action"] != "trigger"] == told
    assert [one["resource"]["id"] for one in logged if one["action"] == "trigger"] == [run["runId"]]
    assert client.get("/v1/changes", limit=5)["items"] == logged
