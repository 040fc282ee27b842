"""Routes of tenants, and what a disabled tenant may still do."""

from dataclasses import replace
from typing import Any

import pytest

from tests.api.client import Api, event_of
from tests.api.http.requests import path_of
from timeball.api.http.access import Access
from timeball.api.http.route import Route
from timeball.api.routes import ROUTES
from timeball.engine.blackouts.freezes import start_tenant
from timeball.ports.due_index import Owner

TENANTS = "/v1/admin/tenants"


def test_a_tenant_is_created_once_read_and_listed(api: Api) -> None:
    answer = api.call("POST", TENANTS, {"name": "initech"})
    assert (answer.status, answer.headers["Location"], answer.headers["ETag"]) == (201, f"{TENANTS}/initech", '"1"')
    assert (answer.body["name"], answer.body["disabled"]) == ("initech", False)
    read = api.call("GET", f"{TENANTS}/initech").body
    assert {name: read[name] for name in answer.body} == {**answer.body, "quotas": read["quotas"]}
    api.clock.advance(1)
    again = api.call("POST", TENANTS, {"name": "initech"})
    assert (again.status, again.body["type"]) == (409, "urn:timeball:problem:tenant-exists")
    assert [one["name"] for one in api.call("GET", TENANTS).body["items"]] == ["acme", "globex", "initech"]
    page = api.call("GET", TENANTS, query={"limit": "2"}).body
    rest = api.call("GET", TENANTS, query={"limit": "2", "cursor": page["nextCursor"]}).body
    assert [one["name"] for one in rest["items"]] == ["initech"]
    assert rest["nextCursor"] is None


@pytest.mark.parametrize(
    "body", [{}, {"name": None}, {"name": "a b"}, {"name": "x" * 41}, {"name": 5}, {"name": "a_b"}]
)
def test_an_invalid_tenant_name_is_refused(api: Api, body: dict[str, Any]) -> None:
    assert api.call("POST", TENANTS, body).bad_fields() == ["name"]


def test_an_admin_of_another_tenant_sees_only_its_own_tenant_and_changes_none(api: Api) -> None:
    assert [one["name"] for one in api.call("GET", TENANTS, tenant="globex").body["items"]] == ["globex"]
    assert api.call("GET", f"{TENANTS}/globex", tenant="globex").status == 200
    assert api.call("GET", f"{TENANTS}/acme", tenant="globex").status == 404
    for method, path, body in (("POST", TENANTS, {"name": "new"}), ("PATCH", f"{TENANTS}/globex", {"disabled": True})):
        answer = api.call(method, path, body, tenant="globex")
        assert answer.status == 403
        assert "in the tenant that operates this Timeball" in answer.body["detail"]


def test_a_tenant_is_disabled_and_enabled_again(api: Api) -> None:
    disabled = api.call("PATCH", f"{TENANTS}/globex", {"disabled": True}, headers={"If-Match": '"1"'})
    assert (disabled.status, disabled.body["disabled"], disabled.headers["ETag"]) == (200, True, '"2"')
    assert api.call("PATCH", f"{TENANTS}/globex", {"disabled": True}).body == disabled.body
    assert api.call("PATCH", f"{TENANTS}/globex", {"disabled": False}, headers={"If-Match": '"1"'}).status == 412
    enabled = api.call("PATCH", f"{TENANTS}/globex", {"disabled": None})
    assert (enabled.body["disabled"], enabled.body["disabledAt"]) == (False, None)
    assert api.call("PATCH", f"{TENANTS}/globex", {"name": "other"}).bad_fields() == ["name"]


def is_stopped(api: Api) -> bool:
    rows = api.store.freezes.values()
    return any(row.stop_at(api.clock.now()) for row in rows if row.tenant == "globex")


def test_a_tenants_jobs_are_stopped_while_it_is_disabled(api: Api) -> None:
    for disabled in (True, True, False, False, True):
        assert api.call("PATCH", f"{TENANTS}/globex", {"disabled": disabled}).status == 200
        assert is_stopped(api) is disabled
        api.clock.advance(1)
    assert api.call("POST", TENANTS, {"name": "new", "disabled": True}).status == 201
    assert {row.tenant for row in api.store.freezes.values()} == {"globex", "new"}


def test_a_refused_creation_stops_no_tenant(api: Api) -> None:
    """Not even in the millisecond in which the existing tenant was created."""
    for _ in range(2):
        assert api.call("POST", TENANTS, {"name": "globex", "disabled": True}).status == 409
        assert not is_stopped(api)
        api.clock.advance(1)


def test_a_repeat_completes_a_change_that_was_cut_off_between_its_two_rows(api: Api) -> None:
    api.call("PATCH", f"{TENANTS}/globex", {"disabled": True})
    api.store.freezes.clear()
    api.call("PATCH", f"{TENANTS}/globex", {"disabled": True})
    assert is_stopped(api)
    api.tenants.tenants["globex"] = replace(api.tenants.tenants["globex"], disabled_at=None)
    api.call("PATCH", f"{TENANTS}/globex", {"disabled": False})
    assert not is_stopped(api)


def test_a_repeat_completes_a_creation_that_was_cut_off_between_its_two_rows(api: Api) -> None:
    body = {"name": "new", "disabled": True, "quotas": {"runsAtOnce": 1}}
    assert api.call("POST", TENANTS, body).status == 201
    whole = [(row.quotas, len(row.items)) for row in api.store.freezes.values()]
    api.clock.advance(1)
    api.store.freezes.clear()
    assert api.call("POST", TENANTS, body).status == 409
    assert [(row.quotas, len(row.items)) for row in api.store.freezes.values()] == whole


def test_a_disabled_tenant_can_be_deleted_and_its_name_stays_taken(api: Api) -> None:
    refused = api.call("DELETE", f"{TENANTS}/globex")
    assert (refused.status, refused.body["type"]) == (409, "urn:timeball:problem:tenant-enabled")
    api.call("PATCH", f"{TENANTS}/globex", {"disabled": True})
    assert api.call("DELETE", f"{TENANTS}/globex").status == 200
    assert api.call("GET", f"{TENANTS}/globex").status == 404
    assert [one["name"] for one in api.call("GET", TENANTS).body["items"]] == ["acme"]
    assert api.call("POST", TENANTS, {"name": "globex"}).status == 409
    assert api.call("POST", f"{TENANTS}/globex/keys", {"role": "viewer"}).status == 404


def test_a_deleted_tenant_is_stopped_even_if_its_disabling_was_cut_off(api: Api) -> None:
    api.call("PATCH", f"{TENANTS}/globex", {"disabled": True})
    api.clock.advance(1)
    start_tenant(api.context, "globex")  # as if the process had died after the tenant's row, before the stop
    assert not is_stopped(api)
    assert api.call("DELETE", f"{TENANTS}/globex").status == 200
    assert is_stopped(api)


def test_the_operating_tenant_is_never_disabled(api: Api) -> None:
    answer = api.call("PATCH", f"{TENANTS}/acme", {"disabled": True})
    assert (answer.status, answer.body["type"]) == (409, "urn:timeball:problem:locks-out")


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_the_keys_of_a_disabled_tenant_may_only_report(api: Api, route: Route) -> None:
    event = event_of(route.method, path_of(route), "globex", {}, {}, role="admin")
    event["requestContext"]["authorizer"]["lambda"]["disabled"] = "true"
    api.store.partitions.take(0, Owner("2026-11-21T09:30:00Z", "loop"), api.clock.now())  # a tick: it is healthy
    answer = api.answer(event)
    if route.is_public:
        assert answer.status == 200
    elif route.access is Access.ADMINISTER_ALL:
        assert answer.status == 403  # as without the stop
    elif route.access is Access.REPORT:
        assert answer.status != 403
    else:
        assert (answer.status, answer.body["type"]) == (403, "urn:timeball:problem:tenant-disabled")
