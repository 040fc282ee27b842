"""A request for each row of the manual's table of problems. A new problem needs a request here."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.api.client import OPERATING, Answer, Api, event_of
from tests.api.http.broken import broken_api
from tests.api.runs.rows import called, dead, say, waiting
from timeball.api.http.body import MAX_BYTES
from timeball.api.http.depths import MOST
from timeball.api.http.problems import CONTENT_TYPE, Problem
from timeball.domain.model.jobs.freeze import MAX_FREEZES
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.time.instants import DAY_MS
from timeball.ports.errors import UnavailableError

MANUAL = Path(__file__).parents[3] / "docs/reference/api.md"
HANDLER = {"handler": "https://example.com"}
CALENDAR = {"name": "closed", "timezone": "UTC"}
FREEZE = {"match": {"all": True}}
TENANTS = "/v1/admin/tenants"


def _job(api: Api, verb: str = "", method: str = "POST", **fields: object) -> Answer:
    """Send a request about a new job."""
    return api.call(method, f"/v1/jobs/{api.create(everySeconds=60)['jobId']}{verb}", fields or None)


def _of_an_ended_job(api: Api) -> Answer:
    path = f"/v1/jobs/{api.create(everySeconds=60)['jobId']}"
    api.call("DELETE", path)
    return api.call("PATCH", path, {"name": "x"})


def _cancel_of_a_parent(api: Api) -> Answer:
    parent = api.create(everySeconds=60)["jobId"]
    api.call("PUT", "/v1/jobs/child", {**HANDLER, "dependsOn": [parent]})
    return api.call("DELETE", f"/v1/jobs/{parent}")


def _cycles_of_one_off(api: Api) -> Answer:
    return api.call("POST", f"/v1/jobs/{api.create()['jobId']}/trigger", {"downstream": True})


def _too_many_cycles(api: Api) -> Answer:
    """Ask for 9,901 cycles of eleven jobs: 108,911 runs."""
    parent = api.create(everySeconds=1)["jobId"]
    api.call("POST", "/v1/jobs:batch", {"jobs": [{**HANDLER, "dependsOn": [parent]}] * 10})
    fires = {"from": "2026-11-20T00:00:00Z", "to": "2026-11-20T02:45:00Z"}
    return api.call("POST", f"/v1/jobs/{parent}/backfills", {**fires, "graph": True})


def _retry(api: Api, run: Run, **fields: object) -> Answer:
    return api.call("POST", f"/v1/runs/{run.id}/retry", fields or None)


def _retry_of_a_run_that_a_pause_took_back(api: Api) -> Answer:
    job = api.create(everySeconds=60)
    api.clock.advance(60_000)
    api.dispatch()
    api.call("POST", f"/v1/jobs/{job['jobId']}/pause")
    return _retry(api, next(run for run in api.store.runs.values() if run.state is RunState.WITHDRAWN))


def _delete_a_task_in_use(api: Api) -> Answer:
    path = api.call("POST", "/v1/tasks", HANDLER).headers["Location"]
    api.call("POST", "/v1/jobs", {"taskId": path.rpartition("/")[2], "everySeconds": 60})
    return api.call("DELETE", path)


def _a_calendar_twice(api: Api) -> Answer:
    api.call("POST", "/v1/calendars", CALENDAR)
    return api.call("POST", "/v1/calendars", CALENDAR | {"timezone": "Europe/Berlin"})


def _delete_a_calendar_in_use(api: Api) -> Answer:
    path = api.call("POST", "/v1/calendars", CALENDAR).headers["Location"]
    api.create(everySeconds=60, calendar={"name": CALENDAR["name"]})
    return api.call("DELETE", path)


def _rotate_a_revoked_key(api: Api) -> Answer:
    path = api.call("POST", "/v1/admin/keys", {"role": "viewer"}).headers["Location"]
    api.call("DELETE", path)
    return api.call("POST", f"{path}/rotate")


def _a_tenant_twice(api: Api) -> Answer:
    api.clock.advance(1)  # in the same millisecond it might be a repeat of the first
    return api.call("POST", TENANTS, {"name": OPERATING})


def _more_than_the_calls_of_a_job_may_ask_for(api: Api) -> Answer:
    headers = {"Timeball-Run-Id": str(called(api).id), "Timeball-Depth": "0"}
    most = api.context.rules.requests_per_job_and_minute
    return [api.call("POST", "/v1/jobs", HANDLER, headers=headers) for _ in range(most + 1)][-1]


def _of_a_disabled_tenant(api: Api) -> Answer:
    """Send a request with the authorizer's context for a key of a disabled tenant."""
    event = event_of("GET", "/v1/jobs", "globex", {}, {})
    event["requestContext"]["authorizer"]["lambda"]["disabled"] = "true"
    return api.answer(event)


def _heartbeat_that_comes_too_late(api: Api) -> Answer:
    run = waiting(api)
    api.clock.advance(DAY_MS)
    return say(api, run, "heartbeat")


def _key_of_another_body(api: Api) -> Answer:
    headers = {"Idempotency-Key": "one"}
    api.call("POST", "/v1/jobs", HANDLER, headers=headers)
    return api.call("POST", "/v1/jobs", {**HANDLER, "name": "x"}, headers=headers)


def _stale_version(api: Api) -> Answer:
    path = f"/v1/jobs/{api.create(everySeconds=60)['jobId']}"
    return api.call("DELETE", path, headers={"If-Match": '"7"'})


def _name_too_many_items(api: Api) -> Answer:
    run = called(api)
    say(api, run, "fan-out", items=[*range(1_000)])
    return say(api, run, "fan-out", items=["one more"])


MET: dict[Problem, Callable[[Api], Answer]] = {
    Problem.MALFORMED_BODY: lambda api: api.call("POST", "/v1/jobs", raw=b"{"),
    Problem.INVALID_REQUEST: lambda api: api.call("POST", "/v1/jobs", {}),
    Problem.UNAUTHENTICATED: lambda api: api.call("GET", "/v1/jobs", tenant=None),
    Problem.FORBIDDEN: lambda api: api.call("POST", "/v1/jobs", HANDLER, role="viewer"),
    Problem.TENANT_DISABLED: _of_a_disabled_tenant,
    Problem.NOT_FOUND: lambda api: api.call("GET", "/v1/jobs/none"),
    Problem.METHOD_NOT_ALLOWED: lambda api: api.call("DELETE", "/v1/jobs"),
    Problem.LOCKS_OUT: lambda api: api.call("PATCH", f"{TENANTS}/{OPERATING}", {"disabled": True}),
    Problem.KEY_REVOKED: _rotate_a_revoked_key,
    Problem.TENANT_EXISTS: _a_tenant_twice,
    Problem.TENANT_ENABLED: lambda api: api.call("DELETE", f"{TENANTS}/globex"),
    Problem.JOB_ENDED: _of_an_ended_job,
    Problem.HAS_CHILDREN: _cancel_of_a_parent,
    Problem.NO_SESSION: lambda api: api.call("DELETE", "/v1/sessions/current"),
    Problem.NO_CYCLES: _cycles_of_one_off,
    Problem.GRAPH_TOO_LARGE: _too_many_cycles,
    Problem.TOO_DEEP: lambda api: api.call("POST", "/v1/jobs", HANDLER, headers={"Timeball-Depth": str(MOST)}),
    Problem.QUOTA_EXCEEDED: _more_than_the_calls_of_a_job_may_ask_for,
    Problem.JOB_PAUSED: _retry_of_a_run_that_a_pause_took_back,
    Problem.CALENDAR_EXISTS: _a_calendar_twice,
    Problem.CALENDAR_IN_USE: _delete_a_calendar_in_use,
    Problem.TOO_MANY_FREEZES: lambda api: [api.call("POST", "/v1/freezes", FREEZE) for _ in range(MAX_FREEZES + 1)][-1],
    Problem.TOO_MANY_ITEMS: _name_too_many_items,
    Problem.RUN_OVER: lambda api: api.call("POST", f"/v1/runs/{dead(api, api.create(everySeconds=60)).id}/cancel"),
    Problem.RUN_UNDER_WAY: lambda api: _retry(api, called(api), payload=1),
    Problem.TASK_IN_USE: _delete_a_task_in_use,
    Problem.STALE_ATTEMPT: lambda api: say(api, waiting(api), "complete", attempt=2),
    Problem.LEASE_EXPIRED: _heartbeat_that_comes_too_late,
    Problem.NO_CALLBACK_EXPECTED: lambda api: say(api, called(api), "complete"),
    Problem.STALE_VERSION: _stale_version,
    Problem.BODY_TOO_LARGE: lambda api: api.call("POST", "/v1/jobs", raw=b" " * (MAX_BYTES + 1)),
    Problem.UNSUPPORTED_MEDIA_TYPE: lambda api: api.call("POST", "/v1/jobs", {}, headers={"Content-Type": "text/csv"}),
    Problem.IDEMPOTENCY_CONFLICT: _key_of_another_body,
    Problem.INTERNAL: lambda _: broken_api(RuntimeError("unforeseen")).call("GET", "/v1/jobs"),
    Problem.UNHEALTHY: lambda api: api.call("GET", "/healthz", tenant=None),
    Problem.UNAVAILABLE: lambda _: broken_api(UnavailableError("throttled")).call("GET", "/v1/jobs"),
}


@pytest.mark.parametrize("problem", Problem, ids=lambda problem: problem.slug)
def test_a_request_meets_each_problem(api: Api, problem: Problem) -> None:
    """client.py has checked that the answer's operation documents it."""
    answer = MET[problem](api)
    assert (answer.status, answer.body["status"]) == (problem.status, problem.status), answer.text
    assert (answer.body["type"], answer.body["title"]) == (problem.type, problem.title)
    assert answer.headers["Content-Type"] == CONTENT_TYPE
    assert re.fullmatch(r"[A-Z].*\.", answer.body["detail"])


def test_the_manual_has_exactly_one_row_for_each_problem() -> None:
    rows = re.findall(r"^\| `([a-z-]+)` \| (\d{3}) \|", MANUAL.read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(rows) == sorted((problem.slug, str(problem.status)) for problem in Problem)
