"""Jobs that name tasks: the fields that they may override, and how they are shown, listed and changed."""

from dataclasses import replace
from typing import Any

import pytest

from tests.api.client import Api
from tests.api.tasks.test_tasks import MAIL, URL, put
from timeball.domain.model.ids import RunId
from timeball.domain.model.runs.run import RunState

CALLBACK = {**MAIL, "completion": "callback", "heartbeatSeconds": 30, "timeoutSeconds": 3600}


@pytest.fixture
def api() -> Api:
    """Return an API with the tasks `mail` and `slow`."""
    api = Api()
    put(api, MAIL)
    put(api, CALLBACK, "slow")
    return api


def create(api: Api, **fields: object) -> Any:
    answer = api.call("POST", "/v1/jobs", {"everySeconds": 60, **fields})
    assert answer.status == 201, answer.text
    return answer.body


@pytest.mark.parametrize("named", [{"taskId": "mail"}, {"handler": "mail"}])
def test_a_job_names_a_task_and_shows_the_tasks_fields(api: Api, named: dict[str, str]) -> None:
    job = create(api, **named, maxRetries=1)
    assert (job["taskId"], job["overrides"], job["target"]["url"]) == ("mail", ["maxRetries"], URL)
    assert (job["timeoutSeconds"], job["maxRetries"]) == (60, 1)
    put(api, {**MAIL, "timeoutSeconds": 61})
    read = api.call("GET", f"/v1/jobs/{job['jobId']}")
    assert (read.body["timeoutSeconds"], read.headers["ETag"][:3]) == (61, '"1.')
    (listed,) = api.call("GET", "/v1/jobs").body["items"]
    assert (listed["timeoutSeconds"], listed["taskId"]) == (61, "mail")


BAD: dict[str, tuple[dict[str, Any], list[str]]] = {
    "an unknown task": ({"taskId": "none"}, ["taskId"]),
    "an unknown task as its handler": ({"handler": "none"}, ["handler"]),
    "no id at all": ({"taskId": "a b"}, ["taskId"]),
    "no id and no URL": ({"handler": "a/b"}, ["handler"]),
    "a target of its own": ({"taskId": "mail", "target": {"type": "http", "url": URL}}, ["taskId"]),
    "a handler of its own": ({"taskId": "mail", "handler": URL}, ["taskId"]),
    "longer than an answer may take": ({"taskId": "mail", "timeoutSeconds": 900}, ["timeoutSeconds"]),
    "a heartbeat where the task has no callback": ({"taskId": "mail", "heartbeatSeconds": 9}, ["heartbeatSeconds"]),
    "an answer where the task takes an hour": ({"taskId": "slow", "completion": "answer"}, ["completion"]),
    "less time than a heartbeat": ({"taskId": "slow", "timeoutSeconds": 9}, ["timeoutSeconds"]),
}


@pytest.mark.parametrize(("body", "fields"), BAD.values(), ids=BAD)
def test_a_job_that_does_not_fit_its_task_is_refused(api: Api, body: dict[str, Any], fields: list[str]) -> None:
    answers = [api.call("POST", "/v1/jobs", body), api.call("PUT", "/v1/jobs/mine", body)]
    api.call("PUT", "/v1/jobs/there", {"handler": URL, "everySeconds": 60})
    answers.append(api.call("PATCH", "/v1/jobs/there", body))
    for answer in answers:
        assert (answer.status, answer.bad_fields()) == (400, fields), answer.text
    (item,) = api.call("POST", "/v1/jobs:batch", {"jobs": [body]}).body["items"]
    assert [error["field"] for error in item["problem"]["errors"]] == fields


GOOD: dict[str, dict[str, Any]] = {
    "more time, as its task reports later": {"taskId": "slow", "timeoutSeconds": 7200},
    "a heartbeat of its own": {"taskId": "slow", "heartbeatSeconds": 60},
    "a callback of its own": {"taskId": "mail", "completion": "callback", "heartbeatSeconds": 9, "timeoutSeconds": 900},
    "an answer in time": {"taskId": "slow", "completion": "answer", "timeoutSeconds": 60},
}


@pytest.mark.parametrize("body", GOOD.values(), ids=GOOD)
def test_a_job_that_fits_its_task_is_accepted_and_the_same_put_again_changes_nothing(
    api: Api, body: dict[str, Any]
) -> None:
    first = api.call("PUT", "/v1/jobs/mine", {**body, "everySeconds": 60})
    assert first.status == 201, first.text
    assert {name: first.body[name] for name in body} == body
    again = api.call("PUT", "/v1/jobs/mine", {**body, "everySeconds": 60})
    assert (again.status, again.headers["ETag"]) == (200, '"1"')
    patched = api.call("PATCH", "/v1/jobs/mine", {"name": "n"})
    assert (patched.status, patched.body["overrides"]) == (200, first.body["overrides"])


def test_a_patch_that_names_a_task_leaves_the_task_every_field_that_the_job_did_not_set(api: Api) -> None:
    job = api.create(everySeconds=60, maxRetries=7)
    patched = api.call("PATCH", f"/v1/jobs/{job['jobId']}", {"taskId": "mail", "priority": "low"}).body
    assert patched["overrides"] == ["priority", "maxRetries"]
    assert (patched["timeoutSeconds"], patched["maxRetries"], patched["priority"]) == (60, 7, "low")


def test_a_patch_removes_an_override_and_a_target_replaces_the_task(api: Api) -> None:
    job = create(api, taskId="mail", maxRetries=7, timeoutSeconds=5)
    path = f"/v1/jobs/{job['jobId']}"
    patched = api.call("PATCH", path, {"timeoutSeconds": None}).body
    assert (patched["overrides"], patched["timeoutSeconds"], patched["taskId"]) == (["maxRetries"], 60, "mail")
    patched = api.call("PATCH", path, {"handler": "https://example.com/own"}).body
    assert (patched["taskId"], patched["overrides"], patched["timeoutSeconds"]) == (None, [], 300)
    assert (patched["target"]["url"], patched["maxRetries"]) == ("https://example.com/own", 7)
    assert api.call("PATCH", path, {"taskId": "slow"}).body["heartbeatSeconds"] == 30


def test_a_job_that_no_longer_fits_its_task_can_still_change_other_fields(api: Api) -> None:
    put(api, {**MAIL, "payloadSchema": {"type": "string"}})
    job = create(api, taskId="mail", payload="x")
    put(api, {**MAIL, "payloadSchema": {"type": "object"}})
    path = f"/v1/jobs/{job['jobId']}"
    assert api.call("PATCH", path, {"name": "n", "everySeconds": 30}).status == 200
    assert api.call("PATCH", path, {"payload": "y"}).bad_fields() == ["payload"]
    assert api.call("PATCH", path, {"payload": {}}).status == 200


def test_an_idempotent_repeat_is_answered_although_its_task_is_gone(api: Api) -> None:
    headers = {"Idempotency-Key": "k"}
    first = api.call("POST", "/v1/jobs", {"taskId": "mail"}, headers=headers)
    assert api.call("DELETE", f"/v1/jobs/{first.body['jobId']}").status == 200
    assert api.call("DELETE", "/v1/tasks/mail").status == 200
    again = api.call("POST", "/v1/jobs", {"taskId": "mail"}, headers=headers)
    assert (again.status, again.body["jobId"]) == (201, first.body["jobId"])
    assert api.call("POST", "/v1/jobs", {"taskId": "mail"}).bad_fields() == ["taskId"]


def test_a_tasks_jobs_are_listed_by_status_and_in_pages(api: Api) -> None:
    for n in range(6):
        api.clock.advance(1)
        named = {"taskId": "mail" if n % 2 else "slow"}
        api.call("PUT", f"/v1/jobs/job-{n}", {**named, "everySeconds": 60, "tags": {"n": str(n)}})
    api.call("DELETE", "/v1/jobs/job-1")
    api.call("POST", "/v1/jobs/job-3/pause")

    def listed(**query: str) -> list[str]:
        found: list[str] = []
        query = {"taskId": "mail", **query}
        while True:
            page = api.call("GET", "/v1/jobs", query=query).body
            found += [job["jobId"] for job in page["items"]]
            if page["nextCursor"] is None:
                return found
            query["cursor"] = page["nextCursor"]

    assert listed() == listed(limit="1") == ["job-5", "job-3", "job-1"]
    assert listed(status="pending,paused") == ["job-5", "job-3"]
    assert listed(status="cancelled") == ["job-1"]
    assert (listed(tag="n:3"), listed(tag="n:2")) == (["job-3"], [])
    assert listed(taskId="none") == []
    assert api.call("GET", "/v1/jobs", query={"taskId": "a b"}).bad_fields() == ["taskId"]
    page = api.call("GET", "/v1/jobs", query={"taskId": "mail", "limit": "1"}).body
    foreign = {"taskId": "slow", "limit": "1", "cursor": page["nextCursor"]}
    assert api.call("GET", "/v1/jobs", query=foreign).bad_fields() == ["cursor"]


def test_a_run_and_a_dead_letter_show_the_task_and_version_that_they_used(api: Api) -> None:
    job = create(api, taskId="mail")
    run = api.call("POST", f"/v1/jobs/{job['jobId']}/trigger").body
    assert (run["taskId"], run["taskVersion"]) == ("mail", None)
    row = api.store.runs[RunId.parse("acme", run["runId"])]  # type: ignore[index]
    api.put(replace(row, state=RunState.FAILED, attempt=1, task_version=3, finished_at=api.clock.now()))
    shown = api.call("GET", f"/v1/runs/{run['runId']}").body
    assert (shown["taskId"], shown["taskVersion"]) == ("mail", 3)
    for task, count in (("mail", 1), ("slow", 0)):
        assert len(api.call("GET", "/v1/dead-letters", query={"taskId": task}).body["items"]) == count
        body = {"filter": {"taskId": task}, "limit": 1}
        assert api.call("POST", "/v1/dead-letters:discard", body).body["done"] == count
    assert api.call("GET", "/v1/dead-letters", query={"taskId": "a b"}).bad_fields() == ["taskId"]


def test_a_batch_reads_its_tasks_once(api: Api) -> None:
    asked: list[int] = []
    read = api.store.tasks.read

    def noting(keys: Any, **how: Any) -> Any:
        asked.append(len(keys))
        return read(keys, **how)

    api.store.tasks.read = noting  # type: ignore[method-assign]
    later = {"delaySeconds": 600}
    jobs = [{"taskId": "mail", **later}, {"handler": URL, **later}, {"taskId": "slow", **later}] * 2
    items = api.call("POST", "/v1/jobs:batch", {"jobs": jobs}).body["items"]
    assert [item["status"] for item in items] == [201] * 6
    assert asked == [2]
    asked.clear()
    api.call("POST", "/v1/jobs", {"handler": URL})
    assert asked == []


def test_a_run_shows_the_retry_policy_of_the_version_that_it_uses(api: Api) -> None:
    put(api, {**MAIL, "maxRetries": 7})
    create(api, taskId="mail", everySeconds=None, delaySeconds=0)
    run = api.only_run()
    version = api.call("GET", "/v1/tasks/mail").body["version"]
    api.put(replace(run, state=RunState.RUNNING, attempt=1, task_version=version))
    put(api, {**MAIL, "maxRetries": 9})
    assert api.call("GET", f"/v1/runs/{run.id}").body["maxRetries"] == 7
