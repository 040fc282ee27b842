"""PUT: a job under a client's own id is created, replaced, or left unchanged.

../http/test_races_of_writers.py tests two writers.
"""

from typing import Any

import pytest

from tests.api.client import Answer, Api
from tests.api.http.preconditions import PRECONDITIONS
from timeball.domain.time.instants import DAY_MS

HOURLY = {"handler": "https://example.com/hook", "cronExpression": "0 * * * *"}
SHAPES: dict[str, dict[str, Any]] = {
    "a cron": HOURLY,
    "an interval without an anchor": {"handler": "https://example.com/hook", "everySeconds": 60},
    "a delay": {"handler": "https://example.com/hook", "delaySeconds": 3600},
    "no schedule": {"handler": "https://example.com/hook"},
    "every policy": {
        **HOURLY,
        "name": "n",
        "payload": {"a": 1},
        "tags": {"a": "b"},
        "priority": "low",
        "maxRetries": 1,
        "overlapPolicy": "skip",
        "endAt": "2026-11-22T00:00:00Z",
    },
}


def put(api: Api, body: object, name: str = "nightly", **headers: str) -> Answer:
    sent = {key.replace("_", "-"): value for key, value in headers.items()}
    return api.call("PUT", f"/v1/jobs/{name}", body, headers=sent)


def test_an_unknown_id_is_created(api: Api) -> None:
    answer = put(api, HOURLY)
    assert (answer.status, answer.headers["Location"], answer.headers["ETag"]) == (201, "/v1/jobs/nightly", '"1"')
    assert api.call("GET", "/v1/jobs/nightly").body["cronExpression"] == "0 * * * *"


@pytest.mark.parametrize("body", SHAPES.values(), ids=SHAPES)
def test_the_same_request_again_changes_nothing_however_late(api: Api, body: dict[str, Any]) -> None:
    first = put(api, body)
    api.clock.advance(2 * DAY_MS)
    before = dict(api.store.jobs)
    again = put(api, body)
    assert (again.status, again.headers["ETag"]) == (200, '"1"'), again.text
    assert {**again.body, "nextRunAt": None, "nextRuns": None} == {
        **first.body, "nextRunAt": None, "nextRuns": None, "claimedRuns": []
    }  # fmt: skip
    assert api.store.jobs == before


def test_fields_that_a_put_leaves_out_get_their_defaults_again(api: Api) -> None:
    put(api, SHAPES["every policy"])
    answer = put(api, HOURLY)
    assert (answer.status, answer.headers["ETag"]) == (200, '"2"')
    shown = [answer.body[name] for name in ("name", "payload", "tags", "priority", "maxRetries", "overlapPolicy")]
    assert shown == [None, None, {}, "normal", 3, "allow"]


def test_a_put_undoes_a_patch_in_between(api: Api) -> None:
    put(api, SHAPES["an interval without an anchor"])
    api.call("PATCH", "/v1/jobs/nightly", {"everySeconds": 5, "name": "patched"})
    answer = put(api, SHAPES["an interval without an anchor"])
    assert (answer.headers["ETag"], answer.body["everySeconds"], answer.body["name"]) == ('"3"', 60, None)


def test_the_same_id_in_another_tenant_is_another_job(api: Api) -> None:
    put(api, HOURLY)
    assert api.call("PUT", "/v1/jobs/nightly", HOURLY, tenant="other").status == 201
    assert {key.tenant for key in api.store.jobs} == {"acme", "other"}


@pytest.mark.parametrize(("exists", "headers", "status"), PRECONDITIONS.values(), ids=PRECONDITIONS)
def test_preconditions_decide_before_anything_is_written(
    api: Api, headers: dict[str, str], status: int, *, exists: bool
) -> None:
    if exists:
        put(api, HOURLY)
    before = dict(api.store.jobs)
    answer = put(api, {**HOURLY, "name": "another"}, **headers)
    assert answer.status == status, answer.text
    assert (api.store.jobs != before) is (status < 300)


@pytest.mark.parametrize("name", ["a.b", "a" * 65])
def test_an_invalid_id_is_refused(api: Api, name: str) -> None:
    answer = put(api, HOURLY, name)
    assert (answer.status, answer.bad_fields()) == (400, ["jobId"])


def test_a_bad_request_leaves_the_job_as_it_is(api: Api) -> None:
    put(api, HOURLY)
    before = dict(api.store.jobs)
    answer = put(api, {**HOURLY, "cronExpression": "61 * * * *", "unknown": 1})
    assert (answer.status, sorted(answer.bad_fields())) == (400, ["cronExpression", "unknown"])
    assert put(api, {**HOURLY, "handler": "http://10.0.0.1/"}).status == 400
    assert api.store.jobs == before
