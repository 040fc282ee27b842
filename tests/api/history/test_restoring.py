"""A job is restored to one of its revisions."""

from typing import Any

import pytest

from tests.api.client import Api
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey
from timeball.domain.model.terms.target import HttpTarget
from timeball.domain.time.instants import HOUR_MS, MINUTE_MS, format_instant

URL = "https://example.com/hook"
TARGET = {"type": "http", "url": URL, "method": "PUT", "headers": {"X-Key": "secret"}}


def restore(api: Api, job_id: str, revision: object, **headers: str) -> Any:
    return api.call("POST", f"/v1/jobs/{job_id}/revisions/{revision}:restore", headers=headers)


@pytest.mark.parametrize("payload", [{"n": 1}, "p" * 5_000])
def test_a_restored_job_has_every_field_of_the_revision(api: Api, payload: object) -> None:
    wanted = {"cronExpression": "0 9 * * *", "target": TARGET, "payload": payload, "tags": {"a": "b"}, "maxRetries": 7}
    job = api.create(handler=None, **wanted)
    path = f"/v1/jobs/{job['jobId']}"
    assert api.call("PUT", path, {"handler": "https://example.com/other", "everySeconds": 60}).status == 200
    answer = restore(api, job["jobId"], 1)
    assert (answer.status, answer.body["version"], answer.headers["ETag"]) == (200, 3, '"3"')
    moving = {"version", "latestRun", "claimedRuns", "updatedAt"}
    assert {name: answer.body[name] for name in {*job} - moving} == {name: job[name] for name in {*job} - moving}
    assert answer.body["target"] == {**TARGET, "headers": ["X-Key"], "body": None, "secretId": None}
    target = api.work_of(job["jobId"]).target
    assert isinstance(target, HttpTarget)
    assert target.headers == TARGET["headers"]
    newest = api.call("GET", f"{path}/revisions").body["items"][0]
    assert (newest["action"], newest["revision"]) == ("restore", 3)


def test_restoring_the_newest_revision_changes_nothing(api: Api) -> None:
    job = api.create(everySeconds=60)
    assert restore(api, job["jobId"], 1).body["version"] == 1


def test_a_paused_job_stays_paused(api: Api) -> None:
    job = api.create(everySeconds=60)
    api.call("PATCH", f"/v1/jobs/{job['jobId']}", {"name": "other"})
    api.call("POST", f"/v1/jobs/{job['jobId']}/pause")
    answer = restore(api, job["jobId"], 1)
    assert (answer.status, answer.body["status"], answer.body["name"]) == (200, "paused", None)


def test_a_job_that_has_ended_is_not_restored(api: Api) -> None:
    job = api.create(everySeconds=60)
    api.call("DELETE", f"/v1/jobs/{job['jobId']}")
    answer = restore(api, job["jobId"], 1)
    assert (answer.status, answer.body["type"]) == (409, "urn:timeball:problem:job-ended")


def test_a_restore_obeys_if_match(api: Api) -> None:
    job = api.create(everySeconds=60)
    api.call("PATCH", f"/v1/jobs/{job['jobId']}", {"name": "other"})
    assert restore(api, job["jobId"], 1, **{"If-Match": '"1"'}).status == 412
    assert restore(api, job["jobId"], 1, **{"If-Match": '"2"'}).status == 200


@pytest.mark.parametrize("revision", [0, 2, 99, "01", "x", "-1", 10**12])
def test_an_unknown_revision_is_not_found(api: Api, revision: object) -> None:
    job = api.create(everySeconds=60)
    answer = restore(api, job["jobId"], revision)
    assert (answer.status, answer.body["type"]) == (404, "urn:timeball:problem:not-found")


def test_a_restore_takes_no_fields(api: Api) -> None:
    job = api.create(everySeconds=60)
    path = f"/v1/jobs/{job['jobId']}/revisions/1:restore"
    assert api.call("POST", path, {"name": "x"}).bad_fields() == ["name"]


def test_restoring_a_revision_whose_window_has_ended_is_refused(api: Api) -> None:
    end_at = format_instant(api.clock.now() + HOUR_MS)
    job = api.create(everySeconds=60, endAt=end_at)
    api.call("PUT", f"/v1/jobs/{job['jobId']}", {"handler": URL, "everySeconds": 60})
    api.clock.advance(2 * HOUR_MS)
    answer = restore(api, job["jobId"], 1)
    assert (answer.status, answer.bad_fields()) == (400, ["endAt"])
    assert api.call("GET", f"/v1/jobs/{job['jobId']}").body["version"] == 2


def test_a_restored_instant_that_has_passed_runs_at_once_as_in_any_request(api: Api) -> None:
    job = api.create(scheduleAt=format_instant(api.clock.now() + MINUTE_MS))
    api.call("PATCH", f"/v1/jobs/{job['jobId']}", {"delaySeconds": 7200})
    api.clock.advance(HOUR_MS)
    assert restore(api, job["jobId"], 1).body["scheduleAt"] == job["scheduleAt"]
    assert api.only_run().id.fire_at


def test_a_revision_whose_payload_is_gone_is_not_restored(api: Api) -> None:
    job = api.create(everySeconds=60, payload="p" * 5_000)
    api.call("PATCH", f"/v1/jobs/{job['jobId']}", {"payload": None})
    kept = api.store.changes.revisions
    (first,) = (one for one in kept if one.job == JobKey("acme", job["jobId"]))
    kept[first] = evolve(kept[first], lacks_payload=True)
    answer = restore(api, job["jobId"], 1)
    assert (answer.status, "payload" in answer.body["detail"]) == (404, True)


def test_the_revisions_calendar_is_restored_if_it_still_exists(api: Api) -> None:
    calendar = {"name": "holidays", "timezone": "UTC", "dates": ["2026-11-22"]}
    assert api.call("POST", "/v1/calendars", calendar).status == 201
    job = api.create(cronExpression="0 9 * * *", calendar={"name": "holidays"})
    path = f"/v1/jobs/{job['jobId']}"
    assert api.call("PATCH", path, {"calendar": None}).body["calendar"] is None
    answer = restore(api, job["jobId"], 1)
    assert (answer.status, answer.body["calendar"]) == (200, {"name": "holidays", "policy": "skip"})
    assert answer.body["nextRunAt"] == job["nextRunAt"] == "2026-11-23T09:00:00.000Z"
    assert api.call("DELETE", "/v1/calendars/holidays").status == 409
    assert api.call("PATCH", path, {"calendar": None}).status == 200
    assert api.call("DELETE", "/v1/calendars/holidays").status == 200
    refused = restore(api, job["jobId"], 1)
    assert (refused.status, refused.bad_fields()) == (400, ["calendar.name"])
