"""Bulk operations over the API: created, read, listed, cancelled, and refused."""

from typing import Any

import pytest

from tests.api.client import NOW, Answer, Api
from timeball.domain.model.ids import OperationKey
from timeball.domain.model.jobs.job import JobStatus
from timeball.domain.time.instants import SECOND_MS
from timeball.engine.changes.history import ChangeFilter, list_changes
from timeball.engine.operations.operation import advance_operations

ALL = {"all": True}
HOURLY = {"everySeconds": 3600, "startAt": "2026-12-01T00:00:00Z"}


def ask(api: Api, action: object = "pause", match: object = None, key: str | None = None, **fields: object) -> Answer:
    headers = {} if key is None else {"Idempotency-Key": key}
    body = {"action": action, "match": ALL if match is None else match, **fields}
    return api.call("POST", "/v1/operations", body, headers=headers)


def read(api: Api, answer: Answer, tenant: str = "acme") -> Answer:
    return api.call("GET", f"/v1/operations/{answer.body['operationId']}", tenant=tenant)


def scan(api: Api, seconds: int = 5) -> None:
    """Advance every operation, as the scans of this many seconds would."""
    for _ in range(seconds):
        api.clock.advance(SECOND_MS)
        now = api.clock.now()
        advance_operations(
            api.context, [one for one in api.store.operations.values() if one.is_next(now)], now + SECOND_MS
        )


def test_all_matching_jobs_are_paused_and_the_operation_shows_its_progress(api: Api) -> None:
    blue = [api.create(**HOURLY, tags={"team": "blue"}) for _ in range(3)]
    api.create(**HOURLY)
    answer = ask(api, match={"tags": {"team": "blue"}})
    assert answer.status == 201
    assert answer.headers["Location"] == f"/v1/operations/{answer.body['operationId']}"
    assert answer.headers["ETag"] == '"1"'
    scan(api)
    assert read(api, answer).body == {
        "operationId": answer.body["operationId"],
        "action": "pause",
        "match": {"tags": {"team": "blue"}, "taskId": None, "status": None, "all": False},
        "rerun": None,
        "children": None,
        "perSecond": 100,
        "status": "succeeded",
        "progress": {"matched": 3, "done": 3, "failed": 0},
        "createdAt": "2026-11-21T09:30:00.250Z",
        "createdBy": "key_1",
        "updatedAt": "2026-11-21T09:30:02.250Z",
        "version": 1,
        "failures": [],
    }
    paused = {key.job_id for key, job in api.store.jobs.items() if job.status is JobStatus.PAUSED}
    assert paused == {job["jobId"] for job in blue}


def test_an_operation_that_matches_nothing_says_so(api: Api) -> None:
    answer = ask(api, "cancel", {"status": "paused"})
    assert answer.body["progress"] == {"matched": 0, "done": 0, "failed": 0}
    scan(api, 2)
    over = read(api, answer).body
    assert (over["status"], over["progress"]) == ("succeeded", {"matched": 0, "done": 0, "failed": 0})


@pytest.mark.parametrize(("action", "pace"), [("pause", 100), ("cancel", 100), ("trigger", 10), ("retry", 10)])
def test_starts_are_slower_than_changes_by_default(api: Api, action: str, pace: int) -> None:
    assert ask(api, action).body["perSecond"] == pace
    assert ask(api, action, perSecond=7).body["perSecond"] == 7


def test_a_failed_job_is_named_with_the_problem_of_the_single_request(api: Api) -> None:
    job = api.create(**HOURLY)
    api.call("DELETE", f"/v1/jobs/{job['jobId']}")
    for action, verb in (("pause", "pause"), ("trigger", "trigger")):
        answer = ask(api, action, {"status": "cancelled"})
        scan(api)
        found = read(api, answer).body
        assert (found["status"], found["progress"]) == ("failed", {"matched": 1, "done": 0, "failed": 1})
        (failure,) = found["failures"]
        single = api.call("POST", f"/v1/jobs/{job['jobId']}/{verb}").body
        assert failure["jobId"] == job["jobId"]
        assert [failure["problem"][part] for part in ("type", "title", "status")] == [
            single[part] for part in ("type", "title", "status")
        ]
        assert failure["problem"]["detail"]


# Each case: the body, and the fields that are named as bad.
BAD: dict[str, tuple[dict[str, Any], list[str]]] = {
    "nothing": ({}, ["action", "match"]),
    "no action": ({"match": ALL}, ["action"]),
    "no match": ({"action": "pause"}, ["match"]),
    "an empty match": ({"action": "pause", "match": {}}, ["match"]),
    "another action": ({"action": "explode", "match": ALL}, ["action"]),
    "all, and not all": ({"action": "pause", "match": {"all": True, "status": "paused"}}, ["match.all"]),
    "all is false": ({"action": "pause", "match": {"all": False}}, ["match.all"]),
    "no tags": ({"action": "pause", "match": {"tags": {}}}, ["match.tags"]),
    "a tag that is no text": ({"action": "pause", "match": {"tags": {"a": 1}}}, ["match.tags.a"]),
    "no task can have this id": ({"action": "pause", "match": {"taskId": "a b"}}, ["match.taskId"]),
    "no status": ({"action": "pause", "match": {"status": "asleep"}}, ["match.status"]),
    "an unknown part": ({"action": "pause", "match": {"all": True, "name": "x"}}, ["match.name"]),
    "an unknown field": ({"action": "pause", "match": ALL, "dryRun": True}, ["dryRun"]),
    "too slow": ({"action": "pause", "match": ALL, "perSecond": 0}, ["perSecond"]),
    "too fast": ({"action": "pause", "match": ALL, "perSecond": 1001}, ["perSecond"]),
    "all at once": ({"action": 1, "match": {"status": 2}, "perSecond": "x"}, ["action", "match.status", "perSecond"]),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_request_names_every_mistake_and_does_nothing(api: Api, case: str) -> None:
    body, fields = BAD[case]
    api.create(**HOURLY)
    answer = api.call("POST", "/v1/operations", body)
    assert (answer.status, sorted(answer.bad_fields())) == (400, sorted(fields)), answer.text
    assert not api.store.operations
    assert [job.version for job in api.store.jobs.values()] == [1]


def test_the_same_key_and_body_is_the_same_operation_and_another_body_a_conflict(api: Api) -> None:
    first = ask(api, key="k")
    scan(api)
    again = ask(api, key="k")
    assert (again.status, again.headers["Idempotency-Replayed"]) == (201, "true")
    assert again.body == read(api, first).body
    assert ask(api, "resume", key="k").status == 422
    assert ask(api, key="another").body["operationId"] != first.body["operationId"]
    assert len(api.store.operations) == 2


def test_an_operation_is_cancelled_once_and_finished_work_stays(api: Api) -> None:
    for _ in range(5):
        api.create(**HOURLY)
    answer = ask(api, perSecond=2)
    path = f"/v1/operations/{answer.body['operationId']}"
    assert api.call("DELETE", path, headers={"If-Match": '"7"'}).status == 412
    cancelled = api.call("DELETE", path, headers={"If-Match": '"1"'})
    assert (cancelled.status, cancelled.body["status"], cancelled.headers["ETag"]) == (200, "cancelled", '"2"')
    scan(api)
    assert api.call("DELETE", path).body == cancelled.body
    assert sum(job.status is JobStatus.PAUSED for job in api.store.jobs.values()) == 2


def test_an_operation_that_is_over_is_not_cancelled(api: Api) -> None:
    answer = ask(api)
    scan(api, 2)
    gone = api.call("DELETE", f"/v1/operations/{answer.body['operationId']}")
    assert (gone.status, gone.body["status"], gone.body["version"]) == (200, "succeeded", 1)


def test_another_tenants_operation_is_not_found(api: Api) -> None:
    answer = ask(api)
    assert read(api, answer, tenant="other").status == 404
    assert api.call("DELETE", f"/v1/operations/{answer.body['operationId']}", tenant="other").status == 404
    assert api.call("GET", "/v1/operations", tenant="other").body == {"items": [], "nextCursor": None}
    assert api.call("GET", "/v1/operations/no.such").status == 404


def test_an_operation_never_changes_another_tenants_jobs(api: Api) -> None:
    foreign = api.call("POST", "/v1/jobs", {"handler": "https://example.com", **HOURLY}, tenant="other").body
    ask(api, "cancel")
    scan(api)
    assert api.call("GET", f"/v1/jobs/{foreign['jobId']}", tenant="other").body["status"] == "pending"


def test_operations_are_listed_newest_first_page_by_page(api: Api) -> None:
    made = []
    for _ in range(5):
        made.append(ask(api).body["operationId"])
        api.clock.advance(1)
    first = api.call("GET", "/v1/operations", query={"limit": "3"}).body
    second = api.call("GET", "/v1/operations", query={"limit": "3", "cursor": first["nextCursor"]}).body
    assert [one["operationId"] for one in [*first["items"], *second["items"]]] == made[::-1]
    assert second["nextCursor"] is None
    assert "failures" not in first["items"][0]
    for cursor in ("x", first["nextCursor"][:-1]):
        assert api.call("GET", "/v1/operations", query={"cursor": cursor}).bad_fields() == ["cursor"]


def test_the_log_of_changes_has_the_operation_and_each_change_by_it(api: Api) -> None:
    job = api.create(**HOURLY)
    answer = ask(api)
    name = answer.body["operationId"]
    items = api.call("GET", "/v1/changes").body["items"]
    told = {(one["resource"]["type"], one["resource"]["id"], one["action"], one["operationId"]) for one in items}
    assert told == {
        ("job", job["jobId"], "create", None),
        ("operation", name, "create", None),
        ("job", job["jobId"], "pause", name),
    }
    assert {one["actor"]["keyId"] for one in items} == {"key_1"}
    assert len(list_changes(api.context, ChangeFilter("acme"), 10).items) == 3


def test_the_row_of_an_operation_belongs_to_its_tenant(api: Api) -> None:
    name = ask(api).body["operationId"]
    assert list(api.store.operations) == [OperationKey("acme", name)]
    assert api.clock.now() == NOW
