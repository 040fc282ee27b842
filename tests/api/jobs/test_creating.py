from typing import Any

import pytest

from tests.api.client import Answer, Api
from timeball.domain.model.terms.target import HttpTarget
from timeball.domain.time.schedule import At, Cron, Every
from timeball.ports.errors import UnavailableError

# The clock shows 2026-11-21T09:30:00.250Z, a Saturday.
SCHEDULES: list[tuple[str, dict[str, Any], dict[str, Any], list[str]]] = [
    ("nothing runs now", {}, {"scheduleAt": "2026-11-21T09:30:00.250Z"}, ["2026-11-21T09:30:00.250Z"]),
    (
        "scheduleAt is kept to the millisecond, in UTC",
        {"scheduleAt": "2026-11-21T12:00:00.5+01:00"},
        {"scheduleAt": "2026-11-21T11:00:00.500Z"},
        ["2026-11-21T11:00:00.500Z"],
    ),
    (
        "scheduleAt in the past is due at its own instant, and so at once",
        {"scheduleAt": "2020-01-01T00:00:00Z"},
        {"scheduleAt": "2020-01-01T00:00:00.000Z"},
        ["2020-01-01T00:00:00.000Z"],
    ),
    (
        "a delay counts from now",
        {"delaySeconds": 90},
        {"scheduleAt": "2026-11-21T09:31:30.250Z"},
        ["2026-11-21T09:31:30.250Z"],
    ),
    (
        "a delay may be an ISO 8601 duration",
        {"delaySeconds": "P1DT2H"},
        {"scheduleAt": "2026-11-22T11:30:00.250Z"},
        ["2026-11-22T11:30:00.250Z"],
    ),
    (
        "a cron is read in its zone",
        {"cronExpression": " 0 9 * * MON-FRI", "timezone": "Europe/Berlin"},
        {"cronExpression": "0 9 * * MON-FRI", "timezone": "Europe/Berlin"},
        [f"2026-11-{day}T08:00:00.000Z" for day in (23, 24, 25, 26, 27)],
    ),
    (
        "a cron without a zone is read in UTC, within its window, for its count of runs",
        {"cronExpression": "0 12 * * *", "startAt": "2026-12-01T00:00:00Z", "maxRuns": 2},
        {"timezone": "UTC", "startAt": "2026-12-01T00:00:00.000Z", "maxRuns": 2},
        ["2026-12-01T12:00:00.000Z", "2026-12-02T12:00:00.000Z"],
    ),
    (
        "an end cuts the fire times off, itself included",
        {"cronExpression": "0 12 * * *", "endAt": "2026-11-22T12:00:00Z"},
        {"endAt": "2026-11-22T12:00:00.000Z"},
        ["2026-11-21T12:00:00.000Z", "2026-11-22T12:00:00.000Z"],
    ),
    (
        "an interval without an anchor begins with the next whole second",
        {"everySeconds": 3600, "maxRuns": 2},
        {"everySeconds": 3600, "anchorAt": "2026-11-21T09:30:01.000Z"},
        ["2026-11-21T09:30:01.000Z", "2026-11-21T10:30:01.000Z"],
    ),
    (
        "an interval with a start is anchored there",
        {"everySeconds": "PT1H", "startAt": "2026-11-21T10:00:00Z", "maxRuns": 1},
        {"everySeconds": 3600, "anchorAt": "2026-11-21T10:00:00.000Z"},
        ["2026-11-21T10:00:00.000Z"],
    ),
    (
        "an interval keeps to an anchor in the past",
        {"everySeconds": 60, "anchorAt": "2026-01-01T00:00:07Z", "maxRuns": 1},
        {"anchorAt": "2026-01-01T00:00:07.000Z"},
        ["2026-11-21T09:30:07.000Z"],
    ),
]


@pytest.mark.parametrize(
    ("fields", "stored", "next_runs"), [row[1:] for row in SCHEDULES], ids=[row[0] for row in SCHEDULES]
)
def test_the_answer_has_the_next_fire_times_of_the_schedule(
    api: Api, fields: dict[str, Any], stored: dict[str, Any], next_runs: list[str]
) -> None:
    body = api.create(**fields)
    assert body["nextRuns"] == next_runs
    assert body["nextRunAt"] == next_runs[0]
    assert {name: body[name] for name in stored} == stored
    assert api.call("GET", f"/v1/jobs/{body['jobId']}").body["endAt"] == body["endAt"]


def test_a_job_with_every_field_is_stored_and_answered_as_requested(api: Api) -> None:
    asked: dict[str, Any] = {
        "name": "Nightly report, für alle",
        "target": {
            "type": "http",
            "url": "https://user-portal.example.com:8443/hook?x=1&y=%20",
            "method": "PUT",
            "headers": {"Authorization": "Bearer abc", "X-Team": "blue, green"},
        },
        "payload": {"rows": [1, 2.5, None, "ä😀"], "deep": {"on": True}},
        "cronExpression": "30 2 * * *",
        "timezone": "America/New_York",
        "startAt": "2026-12-01T00:00:00.000Z",
        "endAt": "2027-12-01T00:00:00.000Z",
        "maxRuns": 100,
        "priority": "high",
        "maxRetries": 4,
        "retryPolicy": {
            "baseSeconds": 1,
            "factor": 1.5,
            "maxSeconds": 2,
            "jitter": "none",
            "maxAgeSeconds": 600,
            "retryOn": ["connection", "409", "5xx"],
        },
        "timeoutSeconds": 604_800,
        "completion": "callback",
        "heartbeatSeconds": 3600,
        "delivery": "at_most_once",
        "tags": {"team": "blue", "empty": ""},
    }
    answer = api.call("POST", "/v1/jobs", asked)
    assert answer.status == 201
    shown = {
        **asked["target"],
        "headers": ["Authorization", "X-Team"],
        "body": None,
        "secretId": None,
    }  # header values are never shown
    assert {name: answer.body[name] for name in asked} == {**asked, "target": shown}
    assert "Bearer abc" not in answer.text
    assert answer.body["retryTimetable"] == [1, 1.5, 2, 2]
    assert (answer.body["status"], answer.body["version"]) == ("pending", 1)
    assert answer.headers["ETag"] == '"1"'
    assert answer.headers["Location"] == f"/v1/jobs/{answer.body['jobId']}"
    read = api.call("GET", answer.headers["Location"])
    never: dict[str, Any] = {"latestRun": None, "lastRun": None, "running": [], "recent": ""}
    assert read.body == {**answer.body, **never, "waitingFor": []}


def test_missing_fields_get_the_documented_defaults(api: Api) -> None:
    body = api.create()
    assert body["target"] == {
        "type": "http",
        "url": "https://example.com/hook",
        "method": "POST",
        "headers": [],
        "body": None,
        "secretId": None,
    }
    assert body["retryPolicy"] == {
        "baseSeconds": 5,
        "factor": 2.0,
        "maxSeconds": 3600,
        "jitter": "full",
        "maxAgeSeconds": None,
        "retryOn": ["timeout", "connection", "reported", "408", "425", "429", "5xx"],
    }
    defaults = {
        "maxRetries": 3,
        "timeoutSeconds": 300,
        "completion": "answer",
        "heartbeatSeconds": None,
        "delivery": "at_least_once",
        "priority": "normal",
        "tags": {},
        "name": None,
        "payload": None,
    }
    assert {name: body[name] for name in defaults} == defaults
    assert body["retryTimetable"] == [5, 10, 20]


@pytest.mark.parametrize(
    ("given", "answered"),
    [
        (["5xx", "503", "timeout", "3xx", "409", "connection"], ["timeout", "connection", "409", "503", "3xx", "5xx"]),
        (["reported"], ["reported"]),
        ([], []),
    ],
)
def test_retry_on_is_answered_in_one_order(api: Api, given: list[str], answered: list[str]) -> None:
    assert api.create(retryPolicy={"retryOn": given})["retryPolicy"]["retryOn"] == answered


@pytest.mark.parametrize(
    "fields",
    [
        {"timeoutSeconds": 840},
        {"timeoutSeconds": 840, "completion": "callback"},
        {"timeoutSeconds": 841, "completion": "callback", "heartbeatSeconds": 1},
        {"timeoutSeconds": 60, "completion": "callback", "heartbeatSeconds": 60},
        {"completion": "callback", "heartbeatSeconds": 300},
    ],
)
def test_timeouts_up_to_the_limit_of_their_completion_are_accepted(api: Api, fields: dict[str, Any]) -> None:
    created = api.create(**fields)
    assert {name: created[name] for name in fields} == fields


def test_null_counts_as_a_missing_field_except_for_the_payload(api: Api) -> None:
    job = api.create(scheduleAt=None, cronExpression=None, retryPolicy=None, tags=None, payload=None)
    without = api.create()
    assert api.work_of(job["jobId"]).payload == "null"
    assert api.work_of(without["jobId"]).payload is None


def test_a_job_that_is_due_now_is_sent_before_the_answer(api: Api) -> None:
    body = api.create(priority="high")
    (sent,) = api.queue.sent
    assert (sent.id.job.job_id, sent.priority) == (body["jobId"], "high")


def test_a_job_due_after_the_look_ahead_is_left_to_the_scan(api: Api) -> None:
    api.create(delaySeconds=6)
    assert api.queue.sent == []


def test_the_engine_gets_values_of_its_own_types(api: Api) -> None:
    api.create(everySeconds=5, anchorAt="2026-01-01T00:00:00Z", payload=[1, "ü"])
    api.create(cronExpression="@daily", timezone="Asia/Tokyo")
    api.create(
        scheduleAt="2027-01-01T00:00:00Z",
        target={"type": "http", "url": "http://h/x", "method": "GET"},
        handler=None,
    )
    every, cron, at = api.store.jobs.values()
    assert isinstance(every.spec.schedule.timing, Every)
    assert api.work_of(every.key.job_id).payload == '[1,"ü"]'
    assert cron.spec.schedule.timing == Cron("@daily", "Asia/Tokyo")
    assert isinstance(at.spec.schedule.timing, At)
    assert api.work_of(at.key.job_id).target == HttpTarget("http://h/x", "GET")


def test_ids_without_a_key_come_from_the_given_randomness(api: Api) -> None:
    assert [api.create()["jobId"] for _ in range(2)] == ["job_" + "0" * 25 + digit for digit in "12"]


@pytest.mark.parametrize("length", [262_144, 262_145])
def test_a_payload_may_have_256_kb_as_serialized_utf_8(api: Api, length: int) -> None:
    payload = "ä" * ((length - 2) // 2) + "x" * (length % 2)
    answer = api.call("POST", "/v1/jobs", {"handler": "https://example.com", "payload": payload})
    assert answer.status == (201 if length == 262_144 else 400)
    assert len(api.store.jobs) == (1 if length == 262_144 else 0)


class TestIdempotency:
    def post(self, api: Api, body: dict[str, Any], tenant: str = "acme") -> Answer:
        asked = {"handler": "https://example.com", **body}
        return api.call("POST", "/v1/jobs", asked, headers={"Idempotency-Key": "order-17"}, tenant=tenant)

    def test_the_same_key_and_body_gives_the_first_answer_and_stores_nothing(self, api: Api) -> None:
        first = self.post(api, {"delaySeconds": 60, "maxRetries": 1})
        api.clock.advance(10_000)
        again = self.post(api, {"maxRetries": 1, "delaySeconds": 60})
        assert (again.status, again.text) == (201, first.text)
        assert again.headers["Idempotency-Replayed"] == "true"
        assert "Idempotency-Replayed" not in first.headers
        assert {name: again.headers[name] for name in ("ETag", "Location")} == {
            name: first.headers[name] for name in ("ETag", "Location")
        }
        assert len(api.store.jobs) == 1

    def test_the_first_answer_is_repeated_long_after_the_job_has_moved_on(self, api: Api) -> None:
        first = self.post(api, {"everySeconds": 60, "payload": {"a": 1}})
        api.call("DELETE", first.headers["Location"])
        api.clock.advance(86_400_000)
        assert self.post(api, {"everySeconds": 60, "payload": {"a": 1}}).text == first.text

    @pytest.mark.parametrize(
        "times",
        [
            {"scheduleAt": "2026-11-21T09:31:00Z", "pastSchedule": "reject"},
            {"everySeconds": 5, "endAt": "2026-11-21T09:31:00Z"},
            {"cronExpression": "* * * * *", "endAt": "2026-11-21T09:31:00Z"},
        ],
    )
    def test_the_first_answer_is_repeated_when_its_times_have_passed(self, api: Api, times: dict[str, Any]) -> None:
        first = self.post(api, times)
        api.clock.advance(3_600_000)
        assert (first.status, self.post(api, times).text) == (201, first.text)
        assert self.post(api, {**times, "name": "another"}).status == 422
        assert api.call("POST", "/v1/jobs", {"handler": "https://example.com", **times}).status == 400

    def test_the_same_key_with_another_body_is_a_conflict(self, api: Api) -> None:
        self.post(api, {"maxRetries": 1})
        answer = self.post(api, {"maxRetries": 2})
        assert (answer.status, answer.body["type"]) == (422, "urn:timeball:problem:idempotency-conflict")
        assert len(api.store.jobs) == 1

    def test_a_key_belongs_to_its_tenant(self, api: Api) -> None:
        mine, yours = self.post(api, {}), self.post(api, {"name": "other"}, tenant="globex")
        assert (mine.status, yours.status) == (201, 201)
        assert mine.body["jobId"] != yours.body["jobId"]

    def test_a_creation_whose_answer_was_lost_in_the_store_is_no_replay(self, api: Api) -> None:
        api.store.lose_answers(1)
        answer = self.post(api, {"delaySeconds": 60})
        assert answer.status == 201
        assert "Idempotency-Replayed" not in answer.headers


def test_a_stored_job_is_a_201_even_if_its_dispatch_failed(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_queue(*_: object) -> list[bool]:
        raise UnavailableError("no answer")

    monkeypatch.setattr(api.queue, "send", no_queue)
    assert api.call("POST", "/v1/jobs", {"handler": "https://example.com"}).status == 201
