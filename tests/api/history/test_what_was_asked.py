"""Each route that changes something leaves an entry in the log of changes, or gives the reason why it does not."""

from dataclasses import dataclass
from typing import Any, Final

import pytest

from tests.api.client import NOW, Api
from tests.api.runs.rows import dead
from timeball.api.routes import ROUTES
from timeball.domain.time.instants import SECOND_MS, format_instant

URL = "https://example.com/hook"
TASK = {"name": "mail", "target": {"type": "http", "url": URL}}
CALENDAR = {"timezone": "UTC", "dates": ["2026-12-25"]}
FREEZE = {"match": {"tags": {"team": "blue"}}, "from": "2026-11-22T00:00:00Z"}
OPERATION = {"action": "pause", "match": {"status": "cancelled"}}
RANGE = {"from": "2026-11-20T00:00:00Z", "to": "2026-11-20T00:10:00Z"}

TOLD_ELSEWHERE: Final = {
    "POST /v1/schedules:preview": "it stores nothing",
    "POST /v1/targets:test": "it stores nothing",
    "POST /v1/freezes:preview": "it stores nothing",
    "POST /v1/sessions": "a session is a login, and its changes name its API key",
    "POST /v1/sessions/codes": "the same",
    "DELETE /v1/sessions/current": "the same",
    "POST /v1/events": "it changes no existing object; the runs that it creates record it",
    "POST /v1/admin/keys/{keyId}/rotate": "it has two entries: a new key, and the end of the old one",
    "POST /v1/admin/tenants/{tenant}/keys/{keyId}/rotate": "the same",
    "POST /v1/cycles/{jobId}/{cycleId}:rerun": "its runs and jobs have them: tests/api/cycles/test_running_again.py",
    "POST /v1/runs/{runId}/complete": "a target reports, and the attempt records it",
    "POST /v1/runs/{runId}/fail": "a target reports, and the attempt records it",
    "POST /v1/runs/{runId}/heartbeat": "a target reports, and the attempt records it",
    "POST /v1/runs/{runId}/fan-out": "a target reports, and the attempt records it",
    **dict.fromkeys(
        (
            "POST /v1/jobs",
            "POST /v1/jobs:batch",
            "PUT /v1/jobs/{jobId}",
            "PATCH /v1/jobs/{jobId}",
            "DELETE /v1/jobs/{jobId}",
            "POST /v1/jobs/{jobId}/pause",
            "POST /v1/jobs/{jobId}/resume",
            "POST /v1/jobs/{jobId}/skip-next",
            "POST /v1/jobs/{jobId}/trigger",
            "POST /v1/jobs/{jobId}/revisions/{revision}:restore",
        ),
        "its revision, or its run, is the entry: test_who_changed_what.py",
    ),
}


@dataclass(frozen=True)
class Case:
    """A request and its log entry: action, type and id of the resource, where `{}` is the id just created."""

    path: str
    body: object
    action: str
    kind: str
    name: str | None
    of_job: bool = True


KEYS: Final = {"/v1/admin/keys": "/v1/admin/keys", "/v1/admin/tenants/{tenant}/keys": "/v1/admin/tenants/acme/keys"}


def of_keys(keys: str) -> list[tuple[str, str, Case]]:
    """List the cases of the routes of keys under a path: the method, the rest of the path, the case."""
    one = f"{keys}/{{key}}"
    return [
        ("POST", "", Case(keys, {"role": "viewer"}, "create", "key", "{keyId}", of_job=False)),
        ("PATCH", "/{keyId}", Case(one, {"role": "operator"}, "patch", "key", "{key}", of_job=False)),
        ("DELETE", "/{keyId}", Case(one, None, "revoke", "key", "{key}", of_job=False)),
    ]


RECOVERY: Final = {"action": "recover", "since": "2026-11-21T09:00:00Z"}
CASES: Final = {
    "POST /v1/runs/{runId}/retry": Case("/v1/runs/{run}/retry", None, "retry", "run", "{run}"),
    "POST /v1/runs/{runId}/cancel": Case("/v1/runs/{queued}/cancel", None, "cancel", "run", "{queued}"),
    "POST /v1/runs/{runId}/succeed": Case("/v1/runs/{run}/succeed", {}, "succeed", "run", "{run}"),
    "POST /v1/jobs/{jobId}/backfills": Case("/v1/jobs/{job}/backfills", RANGE, "create", "backfill", "{backfillId}"),
    "DELETE /v1/jobs/{jobId}/backfills/{backfillId}": Case(
        "/v1/jobs/{job}/backfills/{backfill}", None, "cancel", "backfill", "{backfill}"
    ),
    "POST /v1/dead-letters:replay": Case("/v1/dead-letters:replay", {"runIds": ["{run}"]}, "replay", "run", "{run}"),
    "POST /v1/dead-letters:discard": Case(
        "/v1/dead-letters:discard", {"filter": {"jobId": "{job}"}}, "discard", "deadLetters", None
    ),
    "POST /v1/tasks": Case("/v1/tasks", TASK, "create", "task", "{taskId}", of_job=False),
    "PUT /v1/tasks/{taskId}": Case("/v1/tasks/{task}", TASK, "put", "task", "{task}", of_job=False),
    "POST /v1/operations": Case("/v1/operations", OPERATION, "create", "operation", "{operationId}", of_job=False),
    "DELETE /v1/operations/{operationId}": Case(
        "/v1/operations/{operation}", None, "cancel", "operation", "{operation}", of_job=False
    ),
    "DELETE /v1/tasks/{taskId}": Case("/v1/tasks/{task}", None, "delete", "task", "{task}", of_job=False),
    "POST /v1/calendars": Case("/v1/calendars", {**CALENDAR, "name": "new"}, "create", "calendar", "new", of_job=False),
    "PUT /v1/calendars/{name}": Case("/v1/calendars/new", CALENDAR, "put", "calendar", "new", of_job=False),
    "DELETE /v1/calendars/{name}": Case("/v1/calendars/closed", None, "delete", "calendar", "closed", of_job=False),
    "PUT /v1/limits/{name}": Case("/v1/limits/db", {"limit": 1}, "put", "limit", "db", of_job=False),
    "POST /v1/freezes": Case("/v1/freezes", FREEZE, "create", "freeze", "{freezeId}", of_job=False),
    "DELETE /v1/freezes/{freezeId}": Case("/v1/freezes/{freeze}", None, "delete", "freeze", "{freeze}", of_job=False),
    "POST /v1/admin/tenants": Case("/v1/admin/tenants", {"name": "new"}, "create", "tenant", "new", of_job=False),
    "PATCH /v1/admin/tenants/{tenant}": Case(
        "/v1/admin/tenants/globex", {"disabled": True}, "patch", "tenant", "globex", of_job=False
    ),
    "DELETE /v1/admin/tenants/{tenant}": Case("/v1/admin/tenants/off", None, "delete", "tenant", "off", of_job=False),
    "POST /v1/admin/operations": Case(
        "/v1/admin/operations", RECOVERY, "create", "operation", "{operationId}", of_job=False
    ),
    "POST /v1/admin/signing-secret/rotate": Case(
        "/v1/admin/signing-secret/rotate", None, "rotate", "signingSecret", None, of_job=False
    ),
    **{f"{verb} {keys}{path}": case for keys, of in KEYS.items() for verb, path, case in of_keys(of)},
}


def test_every_route_that_changes_something_has_a_case() -> None:
    changing = {f"{route.method} {route.path}" for route in ROUTES if route.method != "GET"}
    assert changing == CASES.keys() | TOLD_ELSEWHERE.keys()


def filled(text: Any, ids: dict[str, str]) -> Any:
    """Return a path or a body with its placeholders replaced by ids."""
    if isinstance(text, dict):
        return {name: filled(value, ids) for name, value in text.items()}
    if isinstance(text, list):
        return [filled(value, ids) for value in text]
    for name, value in ids.items() if isinstance(text, str) else ():
        text = text and text.replace(f"{{{name}}}", value)
    return text


def things(api: Api) -> dict[str, str]:
    """Create one resource of each kind; return their ids."""
    job = api.create(everySeconds=60)
    task = api.call("POST", "/v1/tasks", TASK).body["taskId"]
    backfill = api.call("POST", f"/v1/jobs/{job['jobId']}/backfills", RANGE).body["backfillId"]
    operation = api.call("POST", "/v1/operations", OPERATION).body["operationId"]
    queued = api.call("POST", f"/v1/jobs/{job['jobId']}/trigger").body["runId"]
    api.call("PUT", "/v1/calendars/closed", CALENDAR)
    freeze = api.call("POST", "/v1/freezes", FREEZE).body["freezeId"]
    key = api.call("POST", "/v1/admin/keys", {"role": "viewer"}).body["keyId"]
    api.call("POST", "/v1/admin/tenants", {"name": "off", "disabled": True})
    return {
        "key": key,
        "job": job["jobId"],
        "freeze": freeze,
        "task": task,
        "backfill": backfill,
        "operation": operation,
        "run": str(dead(api, job).id),
        "queued": queued,
    }


@pytest.mark.parametrize("route", CASES)
def test_each_request_is_recorded_with_its_actor_and_its_resource(api: Api, route: str) -> None:
    case, ids = CASES[route], things(api)
    api.clock.advance(SECOND_MS)
    answer = api.call(route.split(maxsplit=1)[0], filled(case.path, ids), filled(case.body, ids), key="key_2")
    assert answer.status in (200, 201), answer.text
    items = api.call("GET", "/v1/changes", query={"actor": "key_2"}).body["items"]
    made = {name: value for name, value in answer.body.items() if isinstance(value, str)}
    assert items == [
        {
            "resource": {"type": case.kind, "id": case.name and filled(case.name, ids | made)},
            "jobId": ids["job"] if case.of_job else None,
            "revision": None,
            "at": format_instant(NOW + SECOND_MS),
            "actor": {"keyId": "key_2", "role": "admin", "address": "192.0.2.1"},
            "action": case.action,
            "operationId": None,
            "before": None,
            "after": None,
            "scheduleText": None,
        }
    ]
    of_the_job = api.call("GET", "/v1/changes", query={"actor": "key_2", "jobId": ids["job"]}).body["items"]
    assert of_the_job == (items if case.of_job else [])


@pytest.mark.parametrize("route", CASES)
def test_recorded_requests_are_paged_in_their_order(api: Api, route: str) -> None:
    case, ids = CASES[route], things(api)
    api.clock.advance(SECOND_MS)
    assert api.call(route.split(maxsplit=1)[0], filled(case.path, ids), filled(case.body, ids)).status in (200, 201)
    api.clock.advance(SECOND_MS)
    assert api.call("POST", f"/v1/jobs/{ids['job']}/pause").status == 200
    found, query = [], {"limit": "1"}
    while True:
        page = api.call("GET", "/v1/changes", query=query).body
        found += page["items"]
        if page["nextCursor"] is None:
            break
        query = {"limit": "1", "cursor": page["nextCursor"]}
    assert found == api.call("GET", "/v1/changes").body["items"]
    assert [one["action"] for one in found[:2]] == ["pause", case.action]


def test_a_request_that_is_refused_before_it_does_anything_is_not_recorded(api: Api) -> None:
    things(api)
    before = api.call("GET", "/v1/changes").body
    api.clock.advance(SECOND_MS)
    for method, path, body in (
        ("POST", "/v1/tasks", {}),
        ("POST", "/v1/runs/nonsense/retry", None),
        ("POST", "/v1/dead-letters:replay", {"runIds": []}),
    ):
        assert api.call(method, path, body).status in (400, 404)
    assert api.call("GET", "/v1/changes").body == before


def test_a_tenant_sees_no_requests_of_another_tenant(api: Api) -> None:
    things(api)
    assert api.call("GET", "/v1/changes", tenant="other").body["items"] == []
