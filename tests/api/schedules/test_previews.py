"""Previews of schedules: what they show, what they refuse, and that they store and send nothing."""

from typing import Any

import pytest

from tests.api.client import Answer, Api
from timeball.domain.time.stepper import RULE_VERSION
from timeball.domain.time.zones import tzdata_version

PATH = "/v1/schedules:preview"
CRON = {"cronExpression": "30 2 * * *"}
BERLIN = {**CRON, "timezone": "Europe/Berlin"}
IN_2030 = "2030-01-01T00:00:00Z"


def shown(api: Api, body: dict[str, Any]) -> list[dict[str, Any]]:
    answer = api.call("POST", PATH, body)
    assert answer.status == 200, answer.text
    assert answer.body["rules"] == {"version": RULE_VERSION, "tzdata": tzdata_version()}
    items: list[dict[str, Any]] = answer.body["items"]
    return items


def test_a_fire_is_shown_with_its_local_time_its_offset_and_a_note(api: Api) -> None:
    assert shown(api, {**BERLIN, "from": "2026-10-24T00:30:00Z", "count": 2}) == [
        {
            "fireTime": "2026-10-24T00:30:00.000Z",
            "localTime": "2026-10-24T02:30:00",
            "utcOffset": "+02:00",
            "note": None,
            "movedTo": None,
            "reason": None,
        },
        {
            "fireTime": "2026-10-25T00:30:00.000Z",
            "localTime": "2026-10-25T02:30:00",
            "utcOffset": "+02:00",
            "note": "the first of two times that clocks show 02:30",
            "movedTo": None,
            "reason": None,
        },
    ]


# The clock shows 2026-11-21T09:30:00.250Z. Each case: the body, and the fire times.
SHOWN: dict[str, tuple[dict[str, Any], list[str]]] = {
    "five from now on": (
        {"everySeconds": 60},
        [f"2026-11-21T09:3{minute}:01.000Z" for minute in range(5)],
    ),
    "null counts as not given": (
        {"everySeconds": 3600, "from": None, "count": None, "cronExpression": None, "dstPolicy": None},
        [f"2026-11-21T{hour:02}:30:01.000Z" for hour in range(9, 14)],
    ),
    "an interval begins with from": (
        {"everySeconds": "PT15M", "from": "2027-01-01T00:00:00Z", "count": 2},
        ["2027-01-01T00:00:00.000Z", "2027-01-01T00:15:00.000Z"],
    ),
    "an interval is aligned to its start": (
        {"everySeconds": 3600, "startAt": "2027-01-01T00:00:07.5Z", "count": 1},
        ["2027-01-01T00:00:07.500Z"],
    ),
    "an interval is aligned to its anchor": (
        {"everySeconds": 3600, "anchorAt": "2020-01-01T00:00:07Z", "count": 1},
        ["2026-11-21T10:00:07.000Z"],
    ),
    "one instant": ({"scheduleAt": "2026-11-21T09:30:00.250Z"}, ["2026-11-21T09:30:00.250Z"]),
    "nothing of an instant that has passed": ({"scheduleAt": "2026-11-21T09:30:00.249Z"}, []),
    "the window's ends may fire": (
        {"cronExpression": "0 12 * * *", "startAt": "2026-12-01T12:00:00Z", "endAt": "2026-12-02T12:00:00Z"},
        ["2026-12-01T12:00:00.000Z", "2026-12-02T12:00:00.000Z"],
    ),
    "a window in the past may be looked at": (
        {
            "everySeconds": 60,
            "startAt": "2020-01-01T00:00:00Z",
            "endAt": "2020-01-01T00:00:00Z",
            "from": "2019-01-01T00:00:00Z",
        },
        ["2020-01-01T00:00:00.000Z"],
    ),
    "a gap that is skipped": (
        {**BERLIN, "dstPolicy": {"gap": "skip"}, "from": "2026-03-29T00:00:00Z", "count": 1},
        ["2026-03-30T00:30:00.000Z"],
    ),
    "a gap that is not": (
        {**BERLIN, "dstPolicy": {}, "from": "2026-03-29T00:00:00Z", "count": 1},
        ["2026-03-29T01:00:00.000Z"],
    ),
    "both of two times": (
        {**BERLIN, "dstPolicy": {"overlap": "both", "gap": None}, "from": "2026-10-25T00:00:00Z", "count": 2},
        ["2026-10-25T00:30:00.000Z", "2026-10-25T01:30:00.000Z"],
    ),
    "a schedule that never fires": (
        {**BERLIN, "cronExpression": "30 2 25-31 3 */7", "dstPolicy": {"gap": "skip"}},
        [],
    ),
}


@pytest.mark.parametrize("case", SHOWN)
def test_a_schedule_is_shown_from_an_instant_on(api: Api, case: str) -> None:
    body, expected = SHOWN[case]
    assert [item["fireTime"] for item in shown(api, body)] == expected


def test_an_interval_is_shown_by_the_clock_of_a_zone(api: Api) -> None:
    (item,) = shown(api, {"everySeconds": 60, "timezone": "Asia/Kolkata", "from": IN_2030, "count": 1})
    assert (item["localTime"], item["utcOffset"]) == ("2030-01-01T05:30:00", "+05:30")


@pytest.mark.parametrize(
    "schedule",
    [
        {"cronExpression": "*/20 1-3 * * *", "timezone": "America/New_York", "startAt": "2026-10-31T22:00:00Z"},
        {**BERLIN, "startAt": "2027-03-27T00:00:00Z", "dstPolicy": {"gap": "skip"}},
        {"everySeconds": 7, "anchorAt": "2020-01-01T00:00:00Z"},
        {"everySeconds": 7},
        {"scheduleAt": IN_2030},
    ],
)
def test_a_preview_shows_the_fire_times_that_the_job_then_has(api: Api, schedule: dict[str, Any]) -> None:
    assert [item["fireTime"] for item in shown(api, schedule)] == api.create(**schedule)["nextRuns"]


def test_nothing_is_stored_and_nothing_is_sent(api: Api) -> None:
    shown(api, {"everySeconds": 1, "count": 100})
    assert (api.store.jobs, api.store.runs, api.queue.sent) == ({}, {}, [])


# Each case: the body, the bad fields, words of the first one's message.
REFUSED: dict[str, tuple[dict[str, Any], list[str], str]] = {
    "no schedule": ({}, ["cronExpression"], "Give a schedule"),
    "null for a schedule": ({"everySeconds": None}, ["cronExpression"], "Give a schedule"),
    "two schedules": ({**CRON, "everySeconds": 5}, ["cronExpression", "everySeconds"], "only one"),
    "three schedules": (
        {**CRON, "everySeconds": 5, "scheduleAt": IN_2030},
        ["cronExpression", "everySeconds", "scheduleAt"],
        "only one",
    ),
    "a bad cron": ({"cronExpression": "0 22-2 * * *"}, ["cronExpression"], "22-23,0-2"),
    "an unknown zone": ({**CRON, "timezone": "Europe/Berln"}, ["timezone"], "Europe/Berlin"),
    "an unknown gap": ({**CRON, "dstPolicy": {"gap": "both"}}, ["dstPolicy.gap"], "'skip'"),
    "an unknown policy": ({**CRON, "dstPolicy": {"overlaps": "both"}}, ["dstPolicy.overlaps"], "did you mean overlap"),
    "a policy of an interval": ({"everySeconds": 5, "dstPolicy": {}}, ["dstPolicy"], "only valid with cronExpression"),
    "an anchor of a cron": ({**CRON, "anchorAt": IN_2030}, ["anchorAt"], "only valid with everySeconds"),
    "a window of one instant": ({"scheduleAt": IN_2030, "endAt": IN_2030}, ["endAt"], "cronExpression or everySeconds"),
    "a window that ends first": (
        {**CRON, "startAt": IN_2030, "endAt": "2029-01-01T00:00:00Z"},
        ["endAt"],
        "before startAt",
    ),
    "a start without an offset": ({**CRON, "from": "2030-01-01T00:00:00"}, ["from"], "offset"),
    "a start beyond 2399": ({**CRON, "from": "2400-01-01T00:00:00Z"}, ["from"], "2399"),
    "a count of 0": ({**CRON, "count": 0}, ["count"], "at least 1"),
    "a count of 101": ({**CRON, "count": 101}, ["count"], "at most 100"),
    "a count in words": ({**CRON, "count": "5"}, ["count"], "whole number"),
    "what says nothing of a schedule": ({**CRON, "handler": "https://example.com"}, ["handler"], "leave it out"),
    "another name of from": ({**CRON, "fromAt": IN_2030}, ["fromAt"], "did you mean from"),
    "many mistakes": (
        {"cronExpression": "x", "timezone": "Mars", "from": 5, "count": -1, "colour": 1, "anchorAt": "noon"},
        ["cronExpression", "timezone", "from", "count", "colour", "anchorAt"],
        "five",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_every_mistake_is_named_at_once(api: Api, case: str) -> None:
    body, fields, words = REFUSED[case]
    answer = api.call("POST", PATH, body)
    assert (answer.status, answer.body["type"]) == (400, "urn:timeball:problem:invalid-request")
    assert sorted(set(answer.bad_fields())) == sorted(fields)
    assert words in next(error["message"] for error in answer.body["errors"] if error["field"] == fields[0])


def status_and_slug(answer: Answer) -> tuple[int, str]:
    return answer.status, answer.body["type"].rpartition(":")[2]


def test_a_body_that_is_no_json_object_is_refused(api: Api) -> None:
    assert status_and_slug(api.call("POST", PATH, raw=b"[]")) == (400, "malformed-body")
    assert status_and_slug(api.call("POST", PATH)) == (400, "malformed-body")
    text = {"Content-Type": "text/plain"}
    assert status_and_slug(api.call("POST", PATH, CRON, headers=text)) == (415, "unsupported-media-type")


def test_a_preview_needs_a_key(api: Api) -> None:
    assert status_and_slug(api.call("POST", PATH, CRON, tenant=None)) == (401, "unauthenticated")


class TestPoliciesOfAJob:
    # Each case: the fields of a schedule, and the policies that the job's answer shows.
    POLICIES: tuple[tuple[dict[str, Any], dict[str, str] | None], ...] = (
        (CRON, {"gap": "next", "overlap": "first"}),
        ({"cronExpression": "*/5 * * * *"}, {"gap": "skip", "overlap": "both"}),
        ({**CRON, "dstPolicy": {}}, {"gap": "next", "overlap": "first"}),
        ({**CRON, "dstPolicy": {"gap": "skip"}}, {"gap": "skip", "overlap": "first"}),
        ({**CRON, "dstPolicy": {"overlap": "both"}}, {"gap": "next", "overlap": "both"}),
        (
            {"cronExpression": "@hourly", "dstPolicy": {"gap": "next", "overlap": "first"}},
            {"gap": "next", "overlap": "first"},
        ),
        ({"everySeconds": 60}, None),
        ({"scheduleAt": IN_2030}, None),
    )

    @pytest.mark.parametrize(("schedule", "policies"), POLICIES)
    def test_the_answer_shows_the_policies_in_force(
        self, api: Api, schedule: dict[str, Any], policies: dict[str, str] | None
    ) -> None:
        job = api.create(**schedule)
        assert job["dstPolicy"] == policies
        assert api.call("GET", f"/v1/jobs/{job['jobId']}").body["dstPolicy"] == policies

    def test_the_policies_decide_when_a_fire_is_due(self, api: Api) -> None:
        start = {"startAt": "2027-03-28T00:00:00Z"}
        assert api.create(**BERLIN, **start)["nextRunAt"] == "2027-03-28T01:00:00.000Z"
        job = api.create(**BERLIN, **start, dstPolicy={"gap": "skip"})
        assert job["nextRunAt"] == "2027-03-29T00:30:00.000Z"


def test_a_fire_within_a_calendar_date_or_a_freeze_is_shown_with_its_reason(api: Api) -> None:
    calendar = {"name": "closed", "timezone": "Europe/Berlin", "dates": ["2026-11-24"]}
    assert api.call("POST", "/v1/calendars", calendar).status == 201
    span = {"from": "2026-11-25T00:00:00Z", "to": "2026-11-26T00:00:00Z"}
    for match in ({"all": True}, {"tags": {"team": "blue"}}):  # a preview does not know the job's tags
        assert api.call("POST", "/v1/freezes", {"match": match, **span}).status == 201
        span = {"from": "2026-11-25T00:00:00Z", "to": "2026-11-29T00:00:00Z"}
    body = {**BERLIN, "from": "2026-11-23T00:00:00Z", "calendar": {"name": "closed"}, "count": 4}
    reasons = [(one["localTime"][8:10], one["reason"]) for one in shown(api, body)]
    assert reasons == [("23", None), ("24", "calendar"), ("25", "frozen"), ("26", None)]
    assert [one["reason"] for one in shown(api, {**body, "calendar": None})] == [None, None, "frozen", None]
    assert api.call("POST", PATH, body, tenant="other").bad_fields() == ["calendar.name"]
    assert api.call("POST", PATH, {**body, "calendar": {"name": "closed", "policy": "later"}}).status == 400
    assert api.call("POST", PATH, {**body, "calendar": {"policy": "skip"}}).bad_fields() == ["calendar.name"]


def test_a_fire_that_its_calendar_moves_is_shown_with_its_start_and_the_reason(api: Api) -> None:
    calendar = {"name": "closed", "timezone": "Europe/Berlin", "dates": ["2026-11-23", "2026-12-07"]}
    assert api.call("POST", "/v1/calendars", calendar).status == 201
    span = {"from": "2026-12-08T00:00:00Z", "to": "2026-12-09T00:00:00Z"}
    assert api.call("POST", "/v1/freezes", {"match": {"all": True}, **span}).status == 201
    body = {**BERLIN, "cronExpression": "0 9 * * 1", "calendar": {"name": "closed", "policy": "next"}, "count": 3}
    moved = [(one["fireTime"][5:13], one["movedTo"], one["reason"]) for one in shown(api, body)]
    assert moved == [
        ("11-23T08", "2026-11-24T08:00:00.000Z", None),
        ("11-30T08", None, None),
        ("12-07T08", "2026-12-08T08:00:00.000Z", "frozen"),
    ]
    daily = {**body, "cronExpression": "0 9 * * *", "from": "2026-11-23T00:00:00Z", "count": 2}
    assert [(one["movedTo"], one["reason"]) for one in shown(api, daily)] == [(None, "calendar"), (None, None)]
    interval = {"everySeconds": 604_800, "anchorAt": "2026-11-23T08:00:00Z", "calendar": body["calendar"], "count": 1}
    assert shown(api, interval)[0]["movedTo"] == "2026-11-24T08:00:00.000Z", "by the clock of the calendar"
