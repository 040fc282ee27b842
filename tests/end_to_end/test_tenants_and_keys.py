"""Tenants, keys and roles on the whole Timeball: the first key, another tenant's keys, and a target's token."""

import json
from typing import Any

import pytest

from local.demo_client import ApiClient
from local.receiver import Receiver
from tests.end_to_end.steps import ask, calls_of, clock, ledger, soon, until
from timeball.dev.stage import Stage, create_key
from timeball.domain.model.tenants.key import id_in

pytestmark = pytest.mark.xdist_group("end_to_end")

KEYS = "/v1/admin/keys"


def client_of(stage: Stage, tenant: str, role: str, **fields: object) -> ApiClient:
    key = create_key(stage.deployment.api_url, stage.admin_key, tenant, role, **fields)
    return ApiClient(stage.deployment.api_url, key)


def status_of(client: ApiClient, method: str, path: str, body: object = None) -> int:
    return client.send(method, path, None if body is None else json.dumps(body).encode()).status


def test_a_key_may_do_what_its_role_allows_in_its_tenant_and_within_its_tags(stage: Stage, client: ApiClient) -> None:
    job: dict[str, Any] = {"handler": "https://example.com/hook", "scheduleAt": soon(3600), "tags": {"team": "blue"}}
    viewer, worker = client_of(stage, "initech", "viewer"), client_of(stage, "initech", "worker")
    bounded = client_of(stage, "initech", "submitter", tags={"team": "blue"})
    assert [status_of(one, "POST", "/v1/jobs", job) for one in (viewer, worker, bounded)] == [403, 403, 201]
    assert status_of(bounded, "POST", "/v1/jobs", {**job, "tags": {}}) == 403
    (mine,) = viewer.get("/v1/jobs")["items"]
    assert [status_of(one, "GET", f"/v1/jobs/{mine['jobId']}") for one in (viewer, worker, client)] == [200, 403, 404]
    assert [status_of(one, "GET", KEYS) for one in (viewer, bounded, client)] == [403, 403, 200]


def test_the_first_key_manages_tenants_and_another_admins_key_does_not(admin: ApiClient, client: ApiClient) -> None:
    assert {"main", "demo"} <= {one["name"] for one in admin.get("/v1/admin/tenants")["items"]}
    assert [one["name"] for one in client.get("/v1/admin/tenants")["items"]] == ["demo"]
    assert status_of(client, "POST", "/v1/admin/tenants", {"name": "mine"}) == 403
    assert status_of(client, "GET", "/v1/admin/tenants/main/keys") == 404
    assert client.key
    by = client.get(f"{KEYS}/{id_in(client.key)}")["createdBy"]
    told = client.get("/v1/changes", actor=by)["items"]
    assert any(one["action"] == "create" and one["resource"]["type"] == "key" for one in told)


def test_a_key_that_is_revoked_before_its_first_use_opens_nothing(stage: Stage, admin: ApiClient) -> None:
    made = json.loads(admin.send("POST", KEYS, b'{"role": "viewer"}').text)
    ask(admin, "DELETE", f"{KEYS}/{made['keyId']}")
    assert status_of(ApiClient(stage.deployment.api_url, made["key"]), "GET", "/v1/jobs") == 401


def test_a_disabled_tenants_runs_are_deferred_and_not_lost(stage: Stage, admin: ApiClient, receiver: Receiver) -> None:
    due_in_seconds, path = 8, "/v1/admin/tenants/hooli"
    began_at = clock()
    job = client_of(stage, "hooli", "operator").create(
        {"handler": f"{receiver.url}/ok", "delaySeconds": due_in_seconds}
    )
    assert ask(admin, "PATCH", path, {"disabled": True})["disabled"] is True
    refused = client_of(stage, "hooli", "viewer").send("GET", "/v1/jobs")
    assert (refused.status, refused.body["type"]) == (403, "urn:timeball:problem:tenant-disabled")
    until(lambda: clock() > began_at + (due_in_seconds + 8) * 1000)
    assert calls_of(receiver, job) == []
    assert ask(admin, "PATCH", path, {"disabled": False})["disabled"] is False
    held = client_of(stage, "hooli", "viewer").get(f"/v1/jobs/{job['jobId']}")
    assert held["status"] == "pending"


def test_a_target_reports_with_the_token_of_its_call_even_after_a_rotation_and_needs_no_key(
    stage: Stage, client: ApiClient, admin: ApiClient, receiver: Receiver
) -> None:
    job = client.create(
        {
            "handler": f"{receiver.url}/accepted",
            "completion": "callback",
            "timeoutSeconds": 3600,
            "heartbeatSeconds": 600,
        }
    )
    until(lambda: [run["callback"] is not None for run in ledger(client, job)] == [True])
    (call,) = calls_of(receiver, job)
    target = ApiClient(stage.deployment.api_url, call.token)
    path = f"/v1/runs/{call.run_id}"
    assert status_of(target, "GET", path) == 401
    assert status_of(target, "POST", f"{path}/heartbeat", {"attempt": 1}) == 200
    rotation = ask(admin, "POST", "/v1/admin/signing-secret/rotate")
    assert rotation["rotatedAt"] < rotation["signsFrom"] < rotation["acceptedUntil"]
    assert status_of(target, "POST", f"{path}/complete", {"attempt": 2}) == 403
    assert ask(target, "POST", f"{path}/complete", {"attempt": 1, "result": 7})["status"] == "succeeded"
    assert (
        status_of(ApiClient(stage.deployment.api_url, f"{call.token}0"), "POST", f"{path}/fail", {"attempt": 1}) == 401
    )
