"""A call may create the next of five generations, and one job's calls make a bounded number of requests a minute."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.api.client import Answer, Api
from timeball.api.http.depths import MOST
from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.time.instants import MINUTE_MS
from timeball.engine.execution.in_flight import call_of
from timeball.engine.scanning.buckets import Sweeps
from timeball.engine.scanning.scan import scan
from timeball.ports.due_index import Owner
from timeball.targets.http.request import request_of

JOB = {"handler": "https://example.com/hook"}

# Each case: the method, the path, the body. A job `a-job` exists.
MAKING: dict[str, tuple[str, str, Any]] = {
    "a job": ("POST", "/v1/jobs", JOB),
    "a job of a batch": ("POST", "/v1/jobs:batch", {"jobs": [JOB]}),
    "a job under an id": ("PUT", "/v1/jobs/new-job", JOB),
    "a trigger": ("POST", "/v1/jobs/a-job/trigger", {}),
    "a backfill": (
        "POST",
        "/v1/jobs/a-job/backfills",
        {"from": "2026-11-20T00:00:00Z", "to": "2026-11-20T00:02:00Z"},
    ),
    "an operation": ("POST", "/v1/operations", {"action": "trigger", "match": {"all": True}}),
}


@pytest.fixture
def one(api: Api) -> Api:
    """Return an API with one job."""
    assert api.call("PUT", "/v1/jobs/a-job", {**JOB, "everySeconds": 60}).status == 201
    return api


def _make(api: Api, case: str, headers: Mapping[str, str]) -> Answer:
    method, path, body = MAKING[case]
    return api.call(method, path, body, headers=headers)


@pytest.mark.parametrize("case", MAKING)
def test_a_request_from_a_call_of_the_fifth_generation_is_refused_with_a_sentence(one: Api, case: str) -> None:
    before = dict(one.store.jobs), dict(one.store.runs), dict(one.store.backfills), dict(one.store.operations)
    refused = _make(one, case, {"Timeball-Depth": str(MOST)})
    assert (refused.status, refused.body["type"]) == (409, "urn:timeball:problem:too-deep")
    assert "jobs that create jobs" in refused.body["detail"]
    assert before == (dict(one.store.jobs), dict(one.store.runs), dict(one.store.backfills), dict(one.store.operations))
    assert _make(one, case, {"Timeball-Depth": str(MOST - 1)}).status in (200, 201)


@pytest.mark.parametrize("depth", ["-1", "one", "1.5", "", "99999"])
def test_an_invalid_depth_is_refused_by_its_header(api: Api, depth: str) -> None:
    assert api.call("POST", "/v1/jobs", JOB, headers={"Timeball-Depth": depth}).bad_fields() == ["Timeball-Depth"]
    there = api.call("PUT", "/v1/jobs/a-job", {**JOB, "everySeconds": 60})
    again = api.call("PUT", "/v1/jobs/a-job", {**JOB, "everySeconds": 90}, headers={"Timeball-Depth": depth})
    assert (there.status, again.bad_fields()) == (201, ["Timeball-Depth"])


def _headers_of_a_call(api: Api, run_id: RunId) -> dict[str, str]:
    """Return the headers that a run's call carries."""
    job = api.store.jobs[run_id.job]
    return dict(request_of(call_of(api.store.runs[run_id], job), 0).headers)


def _generations(api: Api, handed_on: str, make: str) -> int:
    """Let each call create another job, or trigger its own, and pass on one header; return the number of calls."""
    assert api.call("PUT", "/v1/jobs/a-job", JOB).status == 201
    api.dispatch()
    run_id, calls = api.only_run().id, 0
    while calls < 20:
        calls += 1
        handed = {handed_on: _headers_of_a_call(api, run_id)[handed_on]}
        known = set(api.store.runs)
        path = "/v1/jobs" if make == "jobs" else f"/v1/jobs/{run_id.job.job_id}/trigger"
        made = api.call("POST", path, JOB if make == "jobs" else {}, headers=handed)
        if made.status == 409:
            break
        assert made.status == 201
        api.dispatch()
        (run_id,) = set(api.store.runs) - known
        api.clock.advance(1_000)
    return calls


@pytest.mark.parametrize("make", ["jobs", "triggers"])
@pytest.mark.parametrize("handed_on", ["Timeball-Depth", "Timeball-Run-Id"])
def test_a_script_that_multiplies_at_each_call_comes_to_an_end(api: Api, handed_on: str, make: str) -> None:
    assert _generations(api, handed_on, make) == MOST + 1


def test_runs_of_a_backfill_that_a_call_requests_are_of_the_next_generation(one: Api) -> None:
    _make(one, "a backfill", {"Timeball-Depth": "2"})
    (backfill,) = one.store.backfills.values()
    assert backfill.depth == 3


def test_runs_of_an_operation_that_a_call_requests_are_of_the_next_generation(one: Api) -> None:
    _make(one, "an operation", {"Timeball-Depth": "2"})
    if not one.store.runs:
        scan(one.context, 0, Owner("2026", "a"), Sweeps())
    assert {run.depth for run in one.store.runs.values() if run.id.origin is Origin.MANUAL} == {3}


def test_a_users_request_is_of_generation_0_whatever_run_it_names(api: Api) -> None:
    for headers in ({}, {"Timeball-Run-Id": "no-such-job.1.s"}, {"Timeball-Run-Id": "nonsense"}):
        created = api.call("POST", "/v1/jobs", JOB, headers=headers)
        assert api.store.jobs[JobKey("acme", created.body["jobId"])].depth == 0


def test_the_calls_of_one_job_may_make_sixty_requests_a_minute(one: Api) -> None:
    one.clock.advance(MINUTE_MS - one.clock.now() % MINUTE_MS)
    named = {"Timeball-Run-Id": "a-job.1795000000000.s", "Timeball-Depth": "0"}
    other = {"Timeball-Run-Id": "other.1795000000000.s", "Timeball-Depth": "0"}
    answers = [one.call("POST", "/v1/jobs", JOB, headers=named) for _ in range(61)]
    assert [answer.status for answer in answers] == [201] * 60 + [429]
    refused = answers[-1]
    assert refused.body["quota"] == "requestsPerJobAndMinute"
    assert refused.headers["Retry-After"] == "60"
    assert one.call("POST", "/v1/jobs", JOB, headers=other).status == 201
    assert one.call("POST", "/v1/jobs", JOB).status == 201
    one.clock.advance(MINUTE_MS)
    assert one.call("POST", "/v1/jobs", JOB, headers=named).status == 201


def test_each_job_of_a_batch_counts(one: Api) -> None:
    named = {"Timeball-Run-Id": "a-job.1795000000000.s", "Timeball-Depth": "0"}
    assert one.call("POST", "/v1/jobs:batch", {"jobs": [JOB] * 40}, headers=named).status == 200
    assert one.call("POST", "/v1/jobs:batch", {"jobs": [JOB] * 40}, headers=named).status == 429
    assert len(one.store.jobs) == 41


def test_a_bounded_key_cannot_use_up_the_requests_of_another_jobs_calls(api: Api) -> None:
    red = api.create(everySeconds=60, tags={"team": "red"})["jobId"]
    headers = {"Timeball-Depth": "0", "Timeball-Run-Id": f"{red}.0.s"}
    blue = {"handler": "https://example.com", "tags": {"team": "blue"}}
    most = {"jobs": [blue] * api.context.rules.requests_per_job_and_minute}
    for status in (200, 429):
        asked = api.call("POST", "/v1/jobs:batch", most, bounds={"team": "blue"}, headers=headers)
        assert asked.status == status
    assert api.call("POST", f"/v1/jobs/{red}/trigger", headers=headers).status == 201
