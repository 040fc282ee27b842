"""Routes of tasks: created once for a key, put, read, listed, and deleted if no open job names them."""

from typing import Any

import pytest

from tests.api.client import NOW, Answer, Api
from tests.api.http.preconditions import PRECONDITIONS
from timeball.domain.model.ids import TaskKey

URL = "https://example.com/hook"
MAIL = {"name": "mail", "target": {"type": "http", "url": URL}, "timeoutSeconds": 60}
EVERY: dict[str, Any] = {
    "name": "mail",
    "target": {"type": "http", "url": URL, "method": "PUT", "headers": {"X-A": "b"}},
    "priority": "high",
    "maxRetries": 7,
    "retryPolicy": {"baseSeconds": 1, "retryOn": ["409", "timeout"]},
    "timeoutSeconds": 86_400,
    "completion": "callback",
    "heartbeatSeconds": 60,
    "payloadSchema": {"type": "object"},
    "tags": {"team": "blue"},
}


def put(api: Api, body: object, name: str = "mail", **headers: str) -> Answer:
    sent = {key.replace("_", "-"): value for key, value in headers.items()}
    return api.call("PUT", f"/v1/tasks/{name}", body, headers=sent)


def test_a_task_is_created_under_a_generated_id_and_can_be_read(api: Api) -> None:
    answer = api.call("POST", "/v1/tasks", EVERY)
    assert (answer.status, answer.headers["ETag"]) == (201, '"1"')
    assert answer.headers["Location"] == f"/v1/tasks/{answer.body['taskId']}"
    read = api.call("GET", answer.headers["Location"])
    assert (read.status, read.body, read.headers["ETag"]) == (200, answer.body, '"1"')
    said = {name: answer.body[name] for name in EVERY}
    shown = {**EVERY["target"], "headers": ["X-A"], "body": None, "secretId": None}  # header values are never shown
    assert {**said, "retryPolicy": None} == {**EVERY, "target": shown, "retryPolicy": None}
    assert (answer.body["type"], answer.body["retryPolicy"]["retryOn"]) == ("http", ["timeout", "409"])


def test_missing_fields_get_the_defaults_of_jobs(api: Api) -> None:
    task, job = api.call("POST", "/v1/tasks", {"handler": URL}).body, api.create()
    same = ("target", "priority", "maxRetries", "retryPolicy", "timeoutSeconds", "completion", "heartbeatSeconds")
    assert {name: task[name] for name in same} == {name: job[name] for name in same}


def test_the_type_may_stand_beside_the_target(api: Api) -> None:
    assert api.call("POST", "/v1/tasks", {"type": "http", "target": {"url": URL}}).status == 201


def test_a_key_creates_one_task_and_repeats_the_first_answer(api: Api) -> None:
    headers = {"Idempotency-Key": "k"}
    first = api.call("POST", "/v1/tasks", MAIL, headers=headers)
    api.clock.advance(5_000)
    put(api, {"handler": URL}, first.body["taskId"])
    again = api.call("POST", "/v1/tasks", MAIL, headers=headers)
    assert (again.status, again.body, again.headers["Idempotency-Replayed"]) == (201, first.body, "true")
    other = api.call("POST", "/v1/tasks", {**MAIL, "name": "other"}, headers=headers)
    assert (other.status, other.body["type"]) == (422, "urn:timeball:problem:idempotency-conflict")
    assert api.call("POST", "/v1/tasks", MAIL, headers=headers, tenant="other").body["taskId"] != first.body["taskId"]


def test_put_creates_then_replaces_and_the_same_again_changes_nothing(api: Api) -> None:
    first = put(api, EVERY)
    assert (first.status, first.headers["Location"], first.headers["ETag"]) == (201, "/v1/tasks/mail", '"1"')
    api.clock.advance(1_000)
    assert (again := put(api, EVERY)).status == 200
    assert (again.body, again.headers["ETag"]) == (first.body, '"1"')
    changed = put(api, MAIL)
    assert (changed.status, changed.headers["ETag"], changed.body["maxRetries"]) == (200, '"2"', 3)
    assert changed.body["payloadSchema"] is None


@pytest.mark.parametrize(("exists", "headers", "status"), PRECONDITIONS.values(), ids=PRECONDITIONS)
def test_preconditions_decide_before_anything_is_written(
    api: Api, headers: dict[str, str], status: int, *, exists: bool
) -> None:
    if exists:
        put(api, MAIL)
    before = dict(api.store.tasks)
    assert put(api, EVERY, **headers).status == status
    assert (api.store.tasks == before) == (status >= 400)


def test_a_delete_with_a_stale_etag_is_refused_and_a_deleted_task_is_not_found(api: Api) -> None:
    put(api, MAIL)
    assert api.call("DELETE", "/v1/tasks/mail", headers={"If-Match": '"2"'}).status == 412
    gone = api.call("DELETE", "/v1/tasks/mail", headers={"If-Match": '"1"'})
    assert (gone.status, gone.body["taskId"]) == (200, "mail")
    for method, body in (("GET", None), ("DELETE", None)):
        assert api.call(method, "/v1/tasks/mail", body).status == 404
    assert api.call("GET", "/v1/tasks").body["items"] == []
    assert put(api, MAIL, If_Match='"1"').status == 412
    again = put(api, MAIL)
    assert (again.status, again.headers["ETag"]) == (201, '"2"')


def test_a_task_in_use_is_not_deleted_and_the_answer_names_a_job(api: Api) -> None:
    put(api, MAIL)
    jobs = [api.call("PUT", f"/v1/jobs/j{n}", {"taskId": "mail", "everySeconds": 60}).body for n in range(3)]
    refused = api.call("DELETE", "/v1/tasks/mail")
    assert (refused.status, refused.body["type"]) == (409, "urn:timeball:problem:task-in-use")
    assert refused.body["detail"].startswith("3 open jobs name this task, such as j")
    for job in jobs[:2]:
        api.call("DELETE", f"/v1/jobs/{job['jobId']}")
    assert api.call("DELETE", "/v1/tasks/mail").body["detail"].startswith("Job j2 names this task;")
    api.call("PATCH", "/v1/jobs/j2", {"handler": URL})
    assert api.call("DELETE", "/v1/tasks/mail").status == 200


def test_tasks_are_listed_newest_first_in_pages_without_their_schemas(api: Api) -> None:
    for n in range(5):
        put(api, EVERY, f"task-{n}")
        api.clock.advance(n % 2)
    put(api, MAIL, "gone")
    api.call("DELETE", "/v1/tasks/gone")
    api.call("PUT", "/v1/tasks/foreign", MAIL, tenant="other")
    seen, query = [], {"limit": "2"}
    while True:
        page = api.call("GET", "/v1/tasks", query=query).body
        seen += [task["taskId"] for task in page["items"]]
        assert all("payloadSchema" not in task for task in page["items"])
        if page["nextCursor"] is None:
            break
        query = {"limit": "2", "cursor": page["nextCursor"]}
    assert seen == ["task-4", "task-3", "task-2", "task-1", "task-0"]
    assert api.call("GET", "/v1/tasks", query=query, tenant="other").bad_fields() == ["cursor"]


def test_only_its_own_tenant_sees_a_task(api: Api) -> None:
    put(api, MAIL)
    for method, body in (("GET", None), ("DELETE", None)):
        assert api.call(method, "/v1/tasks/mail", body, tenant="other").status == 404
    assert api.call("PUT", "/v1/tasks/mail", MAIL, tenant="other").status == 201
    job = api.call("POST", "/v1/jobs", {"taskId": "mail"}, tenant="third")
    assert (job.status, job.bad_fields()) == (400, ["taskId"])
    assert {key.tenant for key in api.store.tasks} == {"acme", "other"}
    assert TaskKey("acme", "mail") in api.store.tasks


BAD: dict[str, tuple[dict[str, Any], list[str]]] = {
    "nothing to call": ({"name": "mail"}, ["target"]),
    "two things to call": ({**MAIL, "handler": URL}, ["handler"]),
    "a task's id as its handler": ({"handler": "other"}, ["handler"]),
    "a private address": ({"handler": "http://10.0.0.1/"}, ["handler"]),
    "a private address in a target": ({"target": {"type": "http", "url": "http://127.0.0.1/"}}, ["target.url"]),
    "another type": ({"type": "smtp", "target": {"type": "http", "url": URL}}, ["type"]),
    "an unknown field": ({**MAIL, "schedule": 1, "timeoutSecond": 3}, ["schedule", "timeoutSecond"]),
    "too long without a callback": ({**MAIL, "timeoutSeconds": 900}, ["timeoutSeconds"]),
    "a heartbeat without a callback": ({**MAIL, "heartbeatSeconds": 9}, ["heartbeatSeconds"]),
    "many at once": ({"handler": 1, "maxRetries": -1, "priority": "urgent"}, ["handler", "maxRetries", "priority"]),
}


@pytest.mark.parametrize(("body", "fields"), BAD.values(), ids=BAD)
def test_a_bad_task_is_refused_with_each_bad_field(api: Api, body: dict[str, Any], fields: list[str]) -> None:
    for answer in (api.call("POST", "/v1/tasks", body), put(api, body)):
        assert answer.status == 400
        assert sorted(answer.bad_fields()) == sorted(fields), answer.text
    assert not api.store.tasks


def test_an_invalid_task_id_is_refused(api: Api) -> None:
    assert put(api, MAIL, "a.b").bad_fields() == ["taskId"]
    assert api.call("GET", "/v1/tasks/a.b").status == 404
    assert api.clock.now() == NOW
