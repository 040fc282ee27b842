"""Calendars over the API: their dates, their access, and that a calendar that a job names cannot be deleted."""

from typing import Any

import pytest

from tests.api.client import Answer, Api
from timeball.domain.model.ids import JobKey
from timeball.domain.time.instants import DAY_MS, MINUTE_MS, parse_instant
from timeball.engine.scheduling.dispatch import dispatch

HOLIDAYS: dict[str, Any] = {"name": "holidays", "timezone": "Europe/Berlin", "dates": ["2026-11-22", "2026-12-25"]}
DAILY = {"cronExpression": "0 9 * * *", "timezone": "Europe/Berlin"}
CLOSED = {"name": "holidays", "policy": "skip"}


def make(api: Api, **fields: Any) -> Answer:
    return api.call("POST", "/v1/calendars", {**HOLIDAYS, **fields})


def body(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in {**HOLIDAYS, **fields}.items() if name != "name"}


def test_a_calendar_is_created_read_replaced_and_deleted(api: Api) -> None:
    made = make(api, ranges=[{"from": "2026-12-28", "to": "2026-12-31"}])
    assert (made.status, made.headers["Location"], made.headers["ETag"]) == (201, "/v1/calendars/holidays", '"1"')
    read = api.call("GET", "/v1/calendars/holidays")
    assert read.body == made.body
    assert read.body["ranges"] == [{"from": "2026-12-28", "to": "2026-12-31"}]
    put = api.call("PUT", "/v1/calendars/holidays", body(timezone="UTC"), headers={"If-Match": '"1"'})
    assert (put.status, put.body["version"], put.body["timezone"], put.body["ranges"]) == (200, 2, "UTC", [])
    assert api.call("PUT", "/v1/calendars/holidays", body(timezone="UTC")).body["version"] == 2
    assert api.call("DELETE", "/v1/calendars/holidays", headers={"If-Match": '"1"'}).status == 412
    assert api.call("DELETE", "/v1/calendars/holidays").status == 200
    assert api.call("GET", "/v1/calendars/holidays").status == 404
    assert api.call("DELETE", "/v1/calendars/holidays").status == 404
    again = make(api)
    assert (again.status, again.body["version"]) == (201, 4)


def test_a_name_is_taken_once_and_the_same_request_under_its_key_repeats_the_answer(api: Api) -> None:
    key = {"Idempotency-Key": "k"}
    first = api.call("POST", "/v1/calendars", HOLIDAYS, headers=key)
    again = api.call("POST", "/v1/calendars", HOLIDAYS, headers=key)
    assert (again.status, again.headers["Idempotency-Replayed"], again.body) == (201, "true", first.body)
    refused = make(api, timezone="UTC")
    assert (refused.status, refused.body["type"]) == (409, "urn:timeball:problem:calendar-exists")
    assert api.call("POST", "/v1/calendars", HOLIDAYS, tenant="other").status == 201


def test_a_put_creates_a_calendar_and_its_preconditions_hold(api: Api) -> None:
    path = "/v1/calendars/holidays"
    assert api.call("PUT", path, body(), headers={"If-Match": '"1"'}).status == 412
    assert api.call("PUT", path, body(), headers={"If-None-Match": "*"}).status == 201
    assert api.call("PUT", path, body(), headers={"If-None-Match": "*"}).status == 412
    assert api.call("PUT", path, body(dates=[]), headers={"If-Match": '"7"'}).status == 412


def test_calendars_are_listed_by_name_page_by_page_and_only_to_their_tenant(api: Api) -> None:
    for name in ("c", "a", "b", "d"):
        make(api, name=name)
    make(api, name="gone")
    api.call("DELETE", "/v1/calendars/gone")
    first = api.call("GET", "/v1/calendars", query={"limit": "3"}).body
    assert [one["name"] for one in first["items"]] == ["a", "b", "c"]
    rest = api.call("GET", "/v1/calendars", query={"limit": "3", "cursor": first["nextCursor"]}).body
    assert ([one["name"] for one in rest["items"]], rest["nextCursor"]) == (["d"], None)
    cursor = {"cursor": first["nextCursor"]}
    assert api.call("GET", "/v1/calendars", query=cursor, tenant="other").status == 400
    assert api.call("GET", "/v1/calendars", tenant="other").body["items"] == []
    assert api.call("GET", "/v1/calendars/a", tenant="other").status == 404


@pytest.mark.parametrize(
    ("fields", "bad"),
    [
        ({"name": "a b"}, ["name"]),
        ({"name": None, "timezone": None}, ["name", "timezone"]),
        ({"timezone": "Berlin"}, ["timezone"]),
        ({"dates": ["2026-02-29"]}, ["dates.0"]),
        ({"dates": ["20261225", "2500-01-01"]}, ["dates.0", "dates.1"]),
        ({"dates": ["2026-01-01"] * 1001}, ["dates"]),
        ({"ranges": [{"from": "2026-12-31", "to": "2026-12-01"}]}, ["ranges.0.to"]),
        ({"ranges": [{"from": "2026-12-31"}]}, ["ranges.0.to"]),
        ({"ranges": [{"from": "1970-01-01", "to": "2399-12-31"}]}, ["ranges.0.to"]),
        ({"colour": "red"}, ["colour"]),
    ],
)
def test_every_bad_field_is_named(api: Api, fields: dict[str, Any], bad: list[str]) -> None:
    answer = make(api, **fields)
    assert answer.status == 400
    assert sorted(answer.bad_fields()) == bad
    assert api.store.calendars == {}


def test_a_job_names_a_calendar_and_its_next_runs_leave_out_the_dates(api: Api) -> None:
    make(api)
    job = api.create(**DAILY, calendar={"name": "holidays"})
    assert job["calendar"] == CLOSED
    assert job["nextRuns"][:2] == ["2026-11-23T08:00:00.000Z", "2026-11-24T08:00:00.000Z"]
    assert job["nextRunAt"] == job["nextRuns"][0]
    path = f"/v1/jobs/{job['jobId']}"
    api.call("PUT", "/v1/calendars/holidays", body(dates=["2026-11-23"]))
    assert api.call("GET", path).body["nextRuns"][:2] == ["2026-11-22T08:00:00.000Z", "2026-11-24T08:00:00.000Z"]
    (listed,) = api.call("GET", "/v1/jobs").body["items"]
    assert listed["nextRunAt"] == "2026-11-22T08:00:00.000Z"


def test_a_fire_that_the_calendar_moves_shows_its_moved_start_until_it_has_started(api: Api) -> None:
    make(api, dates=["2026-11-23", "2026-11-24"])
    moving = {"name": "holidays", "policy": "next"}
    body = {"cronExpression": "0 9 * * MON", "timezone": "Europe/Berlin", "calendar": moving}
    job = api.create(**body)
    path = f"/v1/jobs/{job['jobId']}"
    expected = ["2026-11-25T08:00:00.000Z", "2026-11-30T08:00:00.000Z"]
    assert (job["calendar"], job["nextRunAt"], job["nextRuns"][:2]) == (moving, expected[0], expected)
    api.clock.advance(parse_instant("2026-11-23T07:59:59Z") - api.clock.now())
    dispatch(api.context, [api.store.jobs[JobKey("acme", job["jobId"])]], api.clock.now())
    assert api.call("GET", path).body["nextRuns"][:2] == expected
    api.clock.advance(DAY_MS)
    assert api.call("GET", path).body["nextRuns"][:2] == expected
    assert api.call("GET", "/v1/jobs").body["items"][0]["nextRunAt"] == expected[0]
    (run,) = api.call("GET", f"{path}/runs").body["items"]
    shown = (run["status"], run["fireTime"], run["movedTo"], run["nextAttemptAt"])
    assert shown == ("queued", "2026-11-23T08:00:00.000Z", expected[0], expected[0])
    assert api.call("PATCH", path, {"name": "a"}).body["calendar"] == moving, "a patch keeps the policy"
    skipped = api.call("POST", f"{path}/skip-next")
    assert (skipped.status, skipped.body["latestRun"]["fireTime"]) == (200, "2026-11-23T08:00:00.000Z")
    assert api.call("GET", path).body["nextRuns"][0] == expected[1]


def test_a_one_off_that_its_calendar_moves_shows_its_moved_start(api: Api) -> None:
    make(api, dates=["2026-11-21"])
    job = api.create(delaySeconds=0, calendar={"name": "holidays", "policy": "next"})
    starts_at = "2026-11-22T09:30:00.250Z"
    assert job["nextRuns"] == [starts_at]
    api.clock.advance(MINUTE_MS)
    shown = api.call("GET", f"/v1/jobs/{job['jobId']}").body
    assert (shown["status"], shown["nextRuns"]) == ("pending", [starts_at])


def test_a_job_cannot_name_a_calendar_that_does_not_exist(api: Api) -> None:
    hook = {"handler": "https://example.com/hook", "calendar": {"name": "holidays"}}
    refused = api.call("POST", "/v1/jobs", hook)
    assert (refused.status, refused.bad_fields()) == (400, ["calendar.name"])
    assert api.call("PUT", "/v1/jobs/mine", hook).bad_fields() == ["calendar.name"]
    batch = api.call("POST", "/v1/jobs:batch", {"jobs": [hook, {"handler": "https://example.com/hook"}]}).body["items"]
    assert [one["status"] for one in batch] == [400, 201]
    job = api.create(**DAILY)
    patch = api.call("PATCH", f"/v1/jobs/{job['jobId']}", {"calendar": {"name": "holidays"}})
    assert patch.bad_fields() == ["calendar.name"]
    make(api)
    assert api.call("PATCH", f"/v1/jobs/{job['jobId']}", {"calendar": {"name": "holidays"}}).status == 200
    assert api.call("POST", "/v1/jobs", {**hook, "calendar": {}}).bad_fields() == ["calendar.name"]


@pytest.mark.parametrize("end", ["cancel", "another calendar", "no calendar"])
def test_a_calendar_is_not_deleted_while_an_open_job_names_it(api: Api, end: str) -> None:
    make(api)
    make(api, name="another")
    job = api.create(**DAILY, calendar={"name": "holidays"})
    path = f"/v1/jobs/{job['jobId']}"
    refused = api.call("DELETE", "/v1/calendars/holidays")
    assert (refused.status, refused.body["type"]) == (409, "urn:timeball:problem:calendar-in-use")
    assert job["jobId"] in refused.body["detail"]
    assert api.call("DELETE", "/v1/calendars/holidays", tenant="other").status == 404
    if end == "cancel":
        api.call("DELETE", path)
    else:
        api.call("PATCH", path, {"calendar": {"name": "another"} if end == "another calendar" else None})
    assert api.call("DELETE", "/v1/calendars/holidays").status == 200


def test_a_repeated_creation_gets_its_answer_although_the_calendar_is_gone(api: Api) -> None:
    make(api)
    hook = {"handler": "https://example.com/hook", **DAILY, "calendar": {"name": "holidays"}}
    key = {"Idempotency-Key": "k"}
    first = api.call("POST", "/v1/jobs", hook, headers=key)
    api.call("DELETE", f"/v1/jobs/{first.body['jobId']}")
    api.call("DELETE", "/v1/calendars/holidays")
    again = api.call("POST", "/v1/jobs", hook, headers=key)
    assert (again.status, again.body["jobId"]) == (201, first.body["jobId"])


def test_a_job_that_is_being_created_keeps_its_calendar_from_being_deleted(api: Api, monkeypatch: Any) -> None:
    """The delete comes between the read of the calendar and the insert of the job."""
    make(api)
    insert, deletes = api.store.jobs.insert, []

    def insert_late(*args: Any) -> Any:
        deletes.append(api.call("DELETE", "/v1/calendars/holidays").status)
        return insert(*args)

    monkeypatch.setattr(api.store.jobs, "insert", insert_late)
    job = api.create(**DAILY, calendar={"name": "holidays"})
    assert deletes == [409]
    assert api.call("GET", "/v1/calendars/holidays").status == 200
    assert job["calendar"] == CLOSED


def test_a_skip_passes_over_the_dates_of_the_calendar(api: Api) -> None:
    make(api)
    job = api.create(**DAILY, calendar={"name": "holidays"})
    skipped = api.call("POST", f"/v1/jobs/{job['jobId']}/skip-next")
    assert skipped.body["latestRun"]["fireTime"] == "2026-11-23T08:00:00.000Z"
    assert skipped.body["nextRunAt"] == "2026-11-24T08:00:00.000Z"
    assert skipped.headers["ETag"] == '"2"'
    again = api.call("POST", f"/v1/jobs/{job['jobId']}/skip-next")
    assert (again.body["latestRun"]["fireTime"][:10], again.body["nextRunAt"][:10]) == ("2026-11-24", "2026-11-25")
    rows = api.call("GET", f"/v1/jobs/{job['jobId']}/runs").body["items"]
    assert [row["fireTime"][8:10] for row in rows] == ["24", "23"]
    assert {row["reason"] for row in rows} == {"skipped_manually"}


def test_a_job_that_drops_its_calendar_after_a_skip_fires_on_the_dates_that_were_passed_over(api: Api) -> None:
    make(api)
    job = api.create(**DAILY, calendar={"name": "holidays"})
    assert api.call("POST", f"/v1/jobs/{job['jobId']}/skip-next").status == 200
    patched = api.call("PATCH", f"/v1/jobs/{job['jobId']}", {"calendar": None})
    assert patched.body["nextRunAt"] == "2026-11-22T08:00:00.000Z"
