"""Answers that are read have an ETag, are left out for a caller that has them, and are compressed."""

import base64
import gzip
import json
from dataclasses import replace
from typing import Any

import pytest
from aws_lambda_powertools.utilities.typing import LambdaContext

from tests.api.client import Answer, Api, event_of
from timeball.api.http.transfer import LEAST_BYTES
from timeball.api.routes import ROUTES
from timeball.domain.model.jobs.job import JobStatus
from timeball.domain.model.runs.run import RunState
from timeball.domain.time.instants import MINUTE_MS

HOURLY = {"cronExpression": "0 * * * *"}
HOLIDAYS = {"name": "holidays", "timezone": "UTC", "dates": ["2026-12-25"]}


def _get(api: Api, path: str, known: str | None = None, **query: str) -> Answer:
    return api.call("GET", path, query=query, headers={} if known is None else {"If-None-Match": known})


@pytest.fixture
def paths(api: Api) -> list[str]:
    """Every path that can be read without further resources, and some that have them."""
    job = api.create(**HOURLY, concurrencyLimit={"name": "db", "limit": 2})["jobId"]
    api.create()
    api.tick()
    api.dispatch()
    assert api.call("POST", "/v1/calendars", HOLIDAYS).status == 201
    plain = [route.path for route in ROUTES if route.method == "GET" and "{" not in route.path]
    assert len(plain) > 10
    below = ("", "/runs", "/revisions", "/graph", "/backfills", "/cost")
    return [
        *plain,
        *(f"/v1/jobs/{job}{one}" for one in below),
        f"/v1/runs/{api.only_run().id}",
        "/v1/calendars/holidays",
    ]


def test_every_answer_that_is_read_has_an_etag_and_a_304_without_a_body_repeats_it(api: Api, paths: list[str]) -> None:
    for path in paths:
        first = _get(api, path)
        assert first.status == 200, path
        tag = first.headers["ETag"]
        for known in (tag, tag.removeprefix("W/"), f'"other", {tag}, W/"else"', "*"):
            again = _get(api, path, known)
            assert (again.status, again.text, again.headers["ETag"]) == (304, "", tag), path
        for other in ('"other"', tag.strip("W/").strip('"'), ""):
            assert _get(api, path, other).text == first.text, path


def test_time_alone_changes_no_etag_of_an_answer_that_says_when_it_was_read(api: Api) -> None:
    for path in ("/v1/stats", "/v1/slo"):
        first = _get(api, path)
        api.clock.advance(1_000)
        again = _get(api, path)
        assert again.body["at"] != first.body["at"]
        assert again.headers["ETag"] == first.headers["ETag"]
        assert _get(api, path, first.headers["ETag"]).status == 304


def test_a_job_that_has_moved_without_a_new_version_is_no_304(api: Api, job: dict[str, Any]) -> None:
    path = f"/v1/jobs/{job['jobId']}"
    assert _get(api, path).headers["ETag"] == '"1"'
    (key,) = api.store.jobs
    api.store.jobs[key] = replace(api.store.jobs[key], status=JobStatus.FAILED)
    after = _get(api, path, '"1"')
    assert (after.status, after.body["status"], after.body["version"]) == (200, "failed", 1)
    assert _get(api, path, after.headers["ETag"]).status == 304


def test_a_job_that_has_fired_is_no_304_until_it_stands_still(api: Api, job: dict[str, Any]) -> None:
    path, seen = f"/v1/jobs/{job['jobId']}", ['"1"']
    for state in (RunState.RUNNING, RunState.SUCCEEDED):
        assert _get(api, path, ", ".join(seen)).status == 304
        api.put(replace(api.only_run(), state=state, attempt=1, revision=2))
        moved = _get(api, path, ", ".join(seen))
        assert moved.status == 200
        seen.append(moved.headers["ETag"])
    api.clock.advance(MINUTE_MS)
    assert _get(api, path, ", ".join(seen)).body["recent"] == "s"


def test_a_list_is_no_304_once_a_job_has_moved(api: Api, job: dict[str, Any]) -> None:
    before = _get(api, "/v1/jobs").headers["ETag"]
    api.clock.advance(2 * MINUTE_MS)
    assert _get(api, "/v1/jobs", before).body["items"][0]["nextRunAt"] != job["nextRunAt"]


def test_the_etag_of_a_job_that_was_read_names_its_version_for_a_change(api: Api, job: dict[str, Any]) -> None:
    path = f"/v1/jobs/{job['jobId']}"
    api.put(replace(api.only_run(), revision=2))
    tag = _get(api, path).headers["ETag"]
    assert tag.startswith('"1.')
    changed = api.call("PATCH", path, {"name": "new"}, headers={"If-Match": tag})
    assert (changed.status, changed.headers["ETag"]) == (200, '"2"')
    assert api.call("PATCH", path, {"name": "newer"}, headers={"If-Match": tag}).status == 412
    assert api.call("PATCH", path, {"name": "newer"}, headers={"If-Match": '"2"'}).status == 200


def test_a_put_still_takes_no_etag_to_exclude(api: Api, job: dict[str, Any]) -> None:
    body = {"handler": "https://example.com/hook", **HOURLY}
    answer = api.call("PUT", f"/v1/jobs/{job['jobId']}", body, headers={"If-None-Match": '"1"'})
    assert (answer.status, answer.bad_fields()) == (400, ["If-None-Match"])


def test_a_problem_has_no_etag_and_is_sent_whatever_a_caller_has(api: Api) -> None:
    answer = _get(api, "/v1/jobs/none", "*")
    assert (answer.status, "ETag" in answer.headers) == (404, False)


def _sent(api: Api, path: str, accepted: str | None) -> dict[str, Any]:
    headers = {} if accepted is None else {"Accept-Encoding": accepted}
    return api.handle(event_of("GET", path, "acme", headers, {}), LambdaContext())


# Each case: an Accept-Encoding header, and whether gzip is accepted.
ACCEPTED = {
    "gzip, deflate, br": True,
    "br;q=1.0, GZIP;q=0.8": True,
    "*": True,
    "*;q=0.5, br": True,
    "gzip;q=0": False,
    "gzip; q=0.000, *": False,
    "*;q=0": False,
    "br, deflate": False,
    "": False,
    "gzipped": False,
}


@pytest.mark.parametrize("accepted", ACCEPTED)
def test_a_long_answer_is_compressed_where_the_caller_accepts_that(api: Api, accepted: str) -> None:
    plain = _sent(api, "/openapi.json", None)
    sent = _sent(api, "/openapi.json", accepted)
    assert plain["headers"]["Vary"] == sent["headers"]["Vary"] == "Accept-Encoding"
    assert sent["headers"]["ETag"] == plain["headers"]["ETag"]
    assert sent["isBase64Encoded"] == ("Content-Encoding" in sent["headers"]) == ACCEPTED[accepted]
    if ACCEPTED[accepted]:
        assert sent["headers"]["Content-Encoding"] == "gzip"
        assert gzip.decompress(base64.b64decode(sent["body"])).decode() == plain["body"]
        assert len(sent["body"]) < len(plain["body"]) / 5
    else:
        assert sent["body"] == plain["body"]


def test_a_short_answer_is_not_compressed(api: Api) -> None:
    sent = _sent(api, "/v1/jobs", "gzip")
    assert (sent["isBase64Encoded"], "Vary" in sent["headers"]) == (False, False)
    assert len(sent["body"]) < LEAST_BYTES


def test_a_list_and_a_job_are_compressed(api: Api, job: dict[str, Any]) -> None:
    for path in ("/v1/jobs", f"/v1/jobs/{job['jobId']}"):
        body = gzip.decompress(base64.b64decode(_sent(api, path, "gzip")["body"]))
        assert json.loads(body) == api.call("GET", path).body
