"""Freezes over the API: when they start, which jobs they match, and that a lifted one is gone."""

from typing import Any

import pytest

from tests.api.client import NOW, Answer, Api
from timeball.domain.model.runs.run import RunState
from timeball.domain.time.instants import MINUTE_MS, SECOND_MS

ALL: dict[str, Any] = {"match": {"all": True}}


def freeze(api: Api, **fields: Any) -> Answer:
    return api.call("POST", "/v1/freezes", {**ALL, **fields})


def test_a_freeze_holds_from_its_answer_on(api: Api) -> None:
    made = freeze(api, reason="release", to=None)
    assert (made.status, made.body["from"], made.body["to"]) == (201, "2026-11-21T09:30:03.250Z", None)
    assert (made.body["status"], made.body["reason"]) == ("active", "release")
    assert made.body["match"] == {"all": True, "jobIds": [], "taskId": None, "tags": {}}
    assert made.headers["Location"] == f"/v1/freezes/{made.body['freezeId']}"
    assert api.clock.now() == NOW + 3 * SECOND_MS
    api.create(everySeconds=60, anchorAt="2026-11-21T09:30:05Z")
    api.dispatch()
    assert api.store.runs == {}


def test_a_lifted_freeze_is_gone_and_the_fires_that_it_deferred_run(api: Api) -> None:
    made = freeze(api).body
    api.create(delaySeconds=0)
    api.dispatch()
    assert api.store.runs == {}
    lifted = api.call("DELETE", f"/v1/freezes/{made['freezeId']}")
    assert (lifted.status, lifted.body["status"]) == (200, "lifted")
    api.dispatch()
    assert api.only_run().state is RunState.QUEUED
    assert api.call("GET", f"/v1/freezes/{made['freezeId']}").status == 404
    assert api.call("DELETE", f"/v1/freezes/{made['freezeId']}").status == 404
    assert api.call("GET", "/v1/freezes").body == {"items": [], "nextCursor": None}


def test_freezes_are_listed_until_they_end_and_only_to_their_tenant(api: Api) -> None:
    ids = []
    for minute in range(3):
        span = {"from": f"2026-11-21T10:0{minute}:00Z", "to": f"2026-11-21T11:0{minute}:00Z"}
        ids.append(freeze(api, **span).body["freezeId"])
        api.clock.advance(1)
    first = api.call("GET", "/v1/freezes", query={"limit": "2"}).body
    rest = api.call("GET", "/v1/freezes", query={"limit": "2", "cursor": first["nextCursor"]}).body
    assert [one["freezeId"] for one in (*first["items"], *rest["items"])] == ids[::-1]
    assert rest["nextCursor"] is None
    assert {one["status"] for one in first["items"]} == {"scheduled"}
    assert api.call("GET", "/v1/freezes", tenant="other").body["items"] == []
    assert api.call("GET", f"/v1/freezes/{ids[0]}", tenant="other").status == 404
    assert api.call("DELETE", f"/v1/freezes/{ids[0]}", tenant="other").status == 404
    api.clock.advance(91 * MINUTE_MS)
    left = api.call("GET", "/v1/freezes").body["items"]
    assert [one["freezeId"] for one in left] == [ids[2]]


def test_the_same_key_makes_one_freeze(api: Api) -> None:
    key = {"Idempotency-Key": "k"}
    first = api.call("POST", "/v1/freezes", ALL, headers=key)
    again = api.call("POST", "/v1/freezes", ALL, headers=key)
    assert (again.status, again.headers["Idempotency-Replayed"]) == (201, "true")
    assert again.body["freezeId"] == first.body["freezeId"]
    assert api.call("POST", "/v1/freezes", {**ALL, "reason": "other"}, headers=key).status == 422
    assert len(api.call("GET", "/v1/freezes").body["items"]) == 1


@pytest.mark.parametrize(
    ("match", "is_meant"),
    [
        ({"all": True}, True),
        ({"tags": {"team": "blue"}}, True),
        ({"tags": {"team": "blue", "tier": "1"}}, False),
        ({"tags": {"team": "red"}}, False),
        ({"jobIds": ["mine", "yours"]}, True),
        ({"jobIds": ["yours"]}, False),
        ({"jobIds": ["mine"], "tags": {"team": "red"}}, False),
        ({"taskId": "mail"}, True),
        ({"taskId": "report"}, False),
        ({"taskId": "mail", "tags": {"team": "red"}}, False),
    ],
)
def test_a_freeze_applies_to_the_jobs_that_match(api: Api, match: dict[str, Any], *, is_meant: bool) -> None:
    api.call("PUT", "/v1/tasks/mail", {"name": "mail", "target": {"type": "http", "url": "https://example.com/hook"}})
    assert freeze(api, match=match).body["match"].items() >= match.items()
    body = {"handler": "mail", "tags": {"team": "blue"}}
    assert api.call("PUT", "/v1/jobs/mine", body).status == 201
    assert bool(api.store.runs) is not is_meant


@pytest.mark.parametrize(
    ("fields", "bad"),
    [
        ({"match": None}, ["match"]),
        ({"match": {}}, ["match"]),
        ({"match": {"all": False}}, ["match"]),
        ({"match": {"all": True, "jobIds": ["a"]}}, ["match.all"]),
        ({"match": {"all": True, "taskId": "mail"}}, ["match.all"]),
        ({"match": {"jobIds": ["a b"]}}, ["match.jobIds.0"]),
        ({"match": {"taskId": "a b"}}, ["match.taskId"]),
        ({"match": {"tag": "x"}}, ["match.tag"]),
        ({"to": "2026-11-21T09:00:00Z"}, ["to"]),
        ({"from": "2026-11-21T12:00:00Z", "to": "2026-11-21T11:00:00Z"}, ["to"]),
        ({"from": "tomorrow"}, ["from"]),
        ({"reason": ""}, ["reason"]),
    ],
)
def test_every_bad_field_is_named(api: Api, fields: dict[str, Any], bad: list[str]) -> None:
    answer = freeze(api, **fields)
    assert (answer.status, sorted(answer.bad_fields())) == (400, bad)
    assert api.store.freezes == {}


def test_the_number_of_freezes_of_a_tenant_is_bounded(api: Api) -> None:
    for _ in range(50):
        assert freeze(api).status == 201
    refused = freeze(api)
    assert (refused.status, refused.body["type"]) == (409, "urn:timeball:problem:too-many-freezes")


def test_freezes_that_would_not_fit_into_their_row_are_refused(api: Api) -> None:
    match = {"jobIds": [f"{number:064d}" for number in range(100)]}
    answers = [freeze(api, match=match) for _ in range(20)]
    assert {answer.status for answer in answers} == {201, 409}
    assert answers[-1].body["type"] == "urn:timeball:problem:too-many-freezes"
    assert freeze(api).status == 201
