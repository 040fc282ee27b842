"""Recoveries over the API: one request for all tenants, whose progress the operating tenant reads."""

from dataclasses import replace

import pytest

from tests.api.client import Answer, Api
from timeball.api.app import build_api

PATH = "/v1/admin/operations"
BODY = {"action": "recover", "since": "2026-11-21T09:15:00Z"}


def recover(api: Api, **others: str) -> Answer:
    return api.call("POST", PATH, BODY, headers=others)


def test_a_recovery_is_an_operation_of_each_tenant_and_is_read_as_one(api: Api) -> None:
    for tenant in ("acme", "globex"):
        body = {"everySeconds": 60, "handler": "https://example.com/hook"}
        assert api.call("POST", "/v1/jobs", body, tenant=tenant).status == 201
    made = recover(api)
    name = made.body["operationId"]
    assert (made.status, made.headers["Location"]) == (201, f"{PATH}/{name}")
    assert (made.body["status"], made.body["tenants"], made.body["since"]) == ("running", 2, "2026-11-21T09:15:00.000Z")
    assert {key.tenant for key in api.store.operations} == {"acme", "globex"}
    assert api.call("GET", f"/v1/operations/{name}", tenant="globex").body["action"] == "recover"
    assert api.call("GET", f"{PATH}/{name}").body == made.body


def test_the_same_request_under_its_key_begins_one_recovery(api: Api) -> None:
    first, again = (recover(api, **{"Idempotency-Key": "k"}) for _ in range(2))
    assert (again.status, again.headers["Idempotency-Replayed"]) == (201, "true")
    assert again.body["operationId"] == first.body["operationId"]
    other = {**BODY, "since": "2026-11-21T09:16:00Z"}
    assert api.call("POST", PATH, other, headers={"Idempotency-Key": "k"}).status == 422


def test_a_second_recovery_of_a_loss_judges_by_the_instant_of_the_first(api: Api) -> None:
    first = recover(api).body["operationId"]
    api.clock.advance(60_000)
    second = recover(api).body["operationId"]
    api.clock.advance(60_000)
    other = api.call("POST", PATH, {**BODY, "since": "2026-11-21T09:16:00Z"}).body["operationId"]
    rows = {key.name: one for key, one in api.store.operations.items()}
    assert rows[second].lost_by == rows[first].created_at < rows[second].created_at
    assert rows[other].lost_by == rows[other].created_at


def test_only_an_admin_of_the_operating_tenant_recovers(api: Api) -> None:
    assert api.call("POST", PATH, BODY, tenant="globex").status == 403
    assert api.call("POST", PATH, BODY, role="operator").status == 403
    name = recover(api).body["operationId"]
    assert api.call("GET", f"{PATH}/{name}", tenant="globex").status == 403


@pytest.mark.parametrize(
    ("body", "bad"),
    [
        ({}, ["action", "since"]),
        ({"action": "pause", "since": BODY["since"]}, ["action"]),
        ({"action": "recover"}, ["since"]),
        ({"action": "recover", "since": "2026-11-22T00:00:00Z"}, ["since"]),  # to come
        ({"action": "recover", "since": "2026-10-01T00:00:00Z"}, ["since"]),  # longer ago than a restore reaches
    ],
)
def test_a_bad_request_names_each_bad_field(api: Api, body: dict[str, str], bad: list[str]) -> None:
    assert api.call("POST", PATH, body).bad_fields() == bad


def test_rows_that_have_expired_are_not_taken_for_lost_ones(api: Api) -> None:
    """Recovered from an instant before their expiry, they would run again."""
    api.handle = build_api(replace(api.edge, retention_days=3))
    answer = api.call("POST", PATH, {"action": "recover", "since": "2026-11-18T12:00:00Z"})
    assert answer.bad_fields() == ["since"]
    assert "the last 2 days; runs that ended earlier have expired by retention_days" in answer.text


def test_an_operation_of_one_tenant_is_none_over_all(api: Api) -> None:
    body = {"action": "pause", "match": {"all": True}}
    name = api.call("POST", "/v1/operations", body).body["operationId"]
    assert api.call("GET", f"{PATH}/{name}").status == 404
    assert api.call("GET", f"{PATH}/{name}x").status == 404
