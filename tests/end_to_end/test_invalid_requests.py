"""Requests that pass the gateway and that the API refuses: each gets its documented problem, and nothing is stored."""

import json
from dataclasses import replace
from typing import Any

import pytest

from local.demo_client import ApiAnswer, ApiClient
from tests.end_to_end.steps import soon
from timeball.dev.stage import Stage, create_key

pytestmark = pytest.mark.xdist_group("end_to_end")

CAREFUL, OTHER = "careful", "other"
OK = {"handler": "https://example.com/hook"}
FAR = {**OK, "scheduleAt": "2099-01-01T00:00:00Z"}

# The fault, the body, the type and status of the problem, the bad fields.
BAD_BODIES: list[tuple[str, bytes, str, int, list[str]]] = [
    ("no JSON", b'{"handler": ', "malformed-body", 400, []),
    ("no object", b"[]", "malformed-body", 400, []),
    ("a key twice", b'{"handler": "a", "handler": "b"}', "malformed-body", 400, []),
    *(
        (what, json.dumps(body).encode(), "invalid-request", 400, fields)
        for what, body, fields in [
            ("an unknown field", {**OK, "colour": "blue"}, ["colour"]),
            ("a bad cron", {**OK, "cronExpression": "61 * * * *"}, ["cronExpression"]),
            ("a bad zone", {**OK, "cronExpression": "* * * * *", "timezone": "Mars/Olympus"}, ["timezone"]),
            ("an end that is past", {**OK, "everySeconds": 5, "endAt": "2020-01-01T00:00:00Z"}, ["endAt"]),
            ("300 KB of payload", {**OK, "payload": "x" * 300 * 1024}, ["payload"]),
            ("two faults at once", {"payload": 1, "maxRetries": -1}, ["handler", "maxRetries"]),
        ]
    ),
]


def problem_of(answer: ApiAnswer) -> tuple[int, str, list[str]]:
    """Return status, type and bad fields of a problem, and assert that it has the documented form."""
    assert answer.headers["content-type"] == "application/problem+json"
    body: Any = answer.body
    assert body["status"] == answer.status
    assert body["title"]
    assert body["detail"]
    assert body["instance"] == answer.headers["x-request-id"]
    kind = body["type"].removeprefix("urn:timeball:problem:")
    return answer.status, kind, sorted(error["field"] for error in body.get("errors", []))


def stored(stage: Stage, tenant: str) -> set[tuple[str, str]]:
    """Return the keys of all rows that belong to a tenant."""
    pages = stage.emulator.client("dynamodb").get_paginator("scan")
    rows = pages.paginate(TableName=stage.deployment.outputs["JobsTable"], ConsistentRead=True)
    keys = {(row["pk"]["S"], row["sk"]["S"]) for page in rows for row in page["Items"]}
    return {key for key in keys if key[0].startswith(f"{tenant}#")}


@pytest.fixture(scope="module")
def careful(stage: Stage) -> ApiClient:
    """Return a client of a tenant that has no job."""
    return _tenant(stage, CAREFUL)


@pytest.fixture(scope="module")
def other(stage: Stage) -> ApiClient:
    return _tenant(stage, OTHER)


def _tenant(stage: Stage, name: str) -> ApiClient:
    key = create_key(stage.deployment.api_url, stage.admin_key, name)
    return ApiClient(stage.deployment.api_url, key)


def test_a_valid_job_adds_rows_where_other_tests_look_for_none(stage: Stage, other: ApiClient) -> None:
    before = stored(stage, OTHER)
    other.create(FAR)
    assert stored(stage, OTHER) > before


@pytest.mark.parametrize(
    ("raw", "kind", "status", "fields"), [row[1:] for row in BAD_BODIES], ids=[row[0] for row in BAD_BODIES]
)
def test_a_bad_job_is_answered_with_its_problem_and_not_stored(
    stage: Stage, careful: ApiClient, raw: bytes, kind: str, status: int, fields: list[str]
) -> None:
    before = stored(stage, CAREFUL)
    answer = careful.send("POST", "/v1/jobs", raw)
    assert problem_of(answer) == (status, kind, fields)
    assert stored(stage, CAREFUL) == before


@pytest.mark.parametrize(
    "key", [None, "tb_wrong", "wrong", "tb_" + "x" * 300], ids=["none", "unknown", "no key", "long"]
)
def test_a_request_without_a_valid_key_is_refused(stage: Stage, careful: ApiClient, key: str | None) -> None:
    stranger = replace(careful, key=key)
    before = stored(stage, "")
    for method, path, raw in [
        ("POST", "/v1/jobs", json.dumps(FAR).encode()),
        ("GET", "/v1/jobs/job_1", None),
        ("DELETE", "/v1/jobs/job_1", None),
    ]:
        assert problem_of(stranger.send(method, path, raw)) == (401, "unauthenticated", [])
    assert stored(stage, "") == before


def test_another_tenants_job_is_not_found(careful: ApiClient, other: ApiClient) -> None:
    job = other.create(FAR)
    path = f"/v1/jobs/{job['jobId']}"
    for method, of in [("GET", path), ("GET", f"{path}/runs"), ("DELETE", path)]:
        assert problem_of(careful.send(method, of)) == (404, "not-found", [])
    assert other.get(path)["status"] == "pending"


def test_another_tenants_run_is_not_found(careful: ApiClient, other: ApiClient) -> None:
    # The first run is written at once, and the job goes on after it.
    first_at = soon(3)
    job = other.create({**OK, "everySeconds": 3600, "startAt": first_at, "anchorAt": first_at})
    (run,) = other.get(f"/v1/jobs/{job['jobId']}/runs")["items"]
    assert problem_of(careful.send("GET", f"/v1/runs/{run['runId']}")) == (404, "not-found", [])
    assert other.cancel(job["jobId"]).status == 200


def test_an_unknown_path_or_method_is_answered_with_a_problem(careful: ApiClient) -> None:
    assert problem_of(careful.send("GET", "/v2/jobs")) == (404, "not-found", [])
    assert problem_of(careful.send("PUT", "/v1/jobs", b"{}")) == (405, "method-not-allowed", [])
