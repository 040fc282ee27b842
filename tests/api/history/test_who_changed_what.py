"""Each change of a job is recorded: its actor, its time, its action, and the job before and after."""

from typing import Any

import pytest

from tests.api.client import NOW, Api
from timeball.domain.model.ids import JobKey
from timeball.domain.time.instants import DAY_MS, SECOND_MS, format_instant

URL = "https://example.com/hook"
ACTOR = {"keyId": "key_1", "role": "admin", "address": "192.0.2.1"}

CHANGES: dict[str, tuple[str, str, object]] = {
    "patch": ("PATCH", "", {"name": "other"}),
    "put": ("PUT", "", {"handler": URL, "everySeconds": 90}),
    "pause": ("POST", "/pause", None),
    "resume": ("POST", "/resume", None),
    "cancel": ("DELETE", "", None),
    "skip_next": ("POST", "/skip-next", None),
    "restore": ("POST", "/revisions/1:restore", None),
}


def change(api: Api, job_id: str, action: str, key: str = "key_2", **headers: str) -> Any:
    """Change a job, one second after the previous change."""
    api.clock.advance(SECOND_MS)
    method, path, body = CHANGES[action]
    return api.call(method, f"/v1/jobs/{job_id}{path}", body, key=key, headers=headers)


def revisions(api: Api, job_id: str, **query: str) -> list[Any]:
    answer = api.call("GET", f"/v1/jobs/{job_id}/revisions", query=query)
    assert answer.status == 200, answer.text
    items: list[Any] = answer.body["items"]
    return items


def changes(api: Api, **query: str) -> list[Any]:
    answer = api.call("GET", "/v1/changes", query=query)
    assert answer.status == 200, answer.text
    items: list[Any] = answer.body["items"]
    return items


def paged(api: Api, path: str, limit: int, **query: str) -> list[Any]:
    """Return all items of a list, page by page."""
    items: list[Any] = []
    cursor: dict[str, str] = {}
    for _ in range(100):
        answer = api.call("GET", path, query={"limit": str(limit), **query, **cursor})
        assert answer.status == 200, answer.text
        assert len(answer.body["items"]) <= limit
        items += answer.body["items"]
        if answer.body["nextCursor"] is None:
            return items
        cursor = {"cursor": answer.body["nextCursor"]}
    raise AssertionError("the list has no end")


def test_a_job_shows_its_creator_and_its_type_of_schedule(api: Api) -> None:
    once, cron, interval = api.create(), api.create(cronExpression="0 9 * * *"), api.create(everySeconds=60)
    assert [one["createdBy"] for one in (once, cron, interval)] == ["key_1"] * 3
    assert [one["scheduleType"] for one in (once, cron, interval)] == ["once", "cron", "interval"]
    change(api, cron["jobId"], "patch")
    assert api.call("GET", f"/v1/jobs/{cron['jobId']}").body["createdBy"] == "key_1"
    assert {one["createdBy"] for one in api.call("GET", "/v1/jobs").body["items"]} == {"key_1"}


def test_a_new_job_has_one_revision(api: Api) -> None:
    job = api.create(everySeconds=60, payload={"n": 1}, name="first")
    (only,) = revisions(api, job["jobId"])
    assert only | {"after": None} == {
        "resource": {"type": "job", "id": job["jobId"]},
        "jobId": job["jobId"],
        "revision": 1,
        "at": format_instant(NOW),
        "actor": ACTOR,
        "action": "create",
        "operationId": None,
        "before": None,
        "after": None,
        "scheduleText": job["scheduleText"],
    }
    assert (only["after"]["name"], only["after"]["payload"]) == ("first", {"n": 1})


@pytest.mark.parametrize("action", ["patch", "put", "pause", "cancel", "skip_next"])
def test_a_change_is_a_revision_with_its_actor(api: Api, action: str) -> None:
    job = api.create(everySeconds=60)
    answer = change(api, job["jobId"], action)
    assert answer.status == 200
    newest, first = revisions(api, job["jobId"])
    assert newest["revision"] == answer.body["version"] == 2
    assert (newest["action"], newest["at"]) == (action, format_instant(NOW + SECOND_MS))
    assert newest["actor"] == {**ACTOR, "keyId": "key_2"}
    assert newest["before"] == first["after"]
    assert (first["action"], first["actor"]) == ("create", ACTOR)


def test_a_request_that_changes_nothing_leaves_no_entry(api: Api) -> None:
    job = api.create(everySeconds=60)
    for action in ("patch", "patch", "pause", "pause", "resume", "resume", "cancel", "cancel"):
        assert change(api, job["jobId"], action).status == 200
    assert [one["action"] for one in revisions(api, job["jobId"])] == ["cancel", "resume", "pause", "patch", "create"]


def test_each_revisions_before_is_the_after_of_the_revision_before_it(api: Api) -> None:
    job = api.create(everySeconds=60)
    for name in ("a", "b", "c"):
        api.clock.advance(SECOND_MS)
        assert api.call("PATCH", f"/v1/jobs/{job['jobId']}", {"name": name}).status == 200
    items = paged(api, f"/v1/jobs/{job['jobId']}/revisions", limit=2)
    assert [one["revision"] for one in items] == [4, 3, 2, 1]
    assert [one["after"].get("name") for one in items] == ["c", "b", "a", None]
    assert [one["before"] for one in items] == [one["after"] for one in items[1:]] + [None]


def test_a_revisions_after_is_a_body_that_restores_the_job(api: Api) -> None:
    job = api.create(everySeconds=60, payload=[1], tags={"a": "b"}, catchUp={"policy": "all"})
    change(api, job["jobId"], "patch")
    document = revisions(api, job["jobId"])[1]["after"]
    answer = api.call("PUT", f"/v1/jobs/{job['jobId']}", document)
    assert answer.status == 200
    assert revisions(api, job["jobId"])[0]["after"] == document


def test_header_values_are_hidden_and_a_large_payload_is_left_out(api: Api) -> None:
    target = {"type": "http", "url": URL, "headers": {"X-Key": "secret-word"}}
    job = api.create(handler=None, target=target, everySeconds=60, payload="p" * 2_000)
    change(api, job["jobId"], "pause")
    for items in (revisions(api, job["jobId"]), changes(api)):
        assert "secret-word" not in str(items)
        assert [one["after"]["target"]["headers"] for one in items] == [{"X-Key": None}] * 2
        assert ["payload" in one["after"] for one in items] == [False, False]


def test_the_log_of_changes_has_the_changes_of_all_jobs_newest_first_and_triggers_too(api: Api) -> None:
    one = api.create(everySeconds=60)["jobId"]
    api.clock.advance(SECOND_MS)
    other = api.create(everySeconds=60)["jobId"]
    change(api, one, "pause")
    api.clock.advance(SECOND_MS)
    run = api.call("POST", f"/v1/jobs/{other}/trigger", key="key_3").body["runId"]
    change(api, other, "cancel")
    expected = [
        (other, "cancel", 2, other, "key_2"),
        (other, "trigger", None, run, "key_3"),
        (one, "pause", 2, one, "key_2"),
        (other, "create", 1, other, "key_1"),
        (one, "create", 1, one, "key_1"),
    ]
    for items in (changes(api), paged(api, "/v1/changes", limit=1), paged(api, "/v1/changes", limit=2)):
        told = [(i["jobId"], i["action"], i["revision"], i["resource"]["id"], i["actor"]["keyId"]) for i in items]
        assert told == expected
    assert changes(api)[2]["before"] == changes(api)[4]["after"]
    assert changes(api)[1]["before"] is None


def test_the_log_of_changes_is_filtered_by_job_by_actor_and_by_time(api: Api) -> None:
    one, other = api.create(everySeconds=60)["jobId"], api.create(everySeconds=60)["jobId"]
    change(api, one, "pause")
    change(api, other, "pause", key="key_3")
    change(api, one, "resume", key="key_3")

    def actions(**query: str) -> list[str]:
        return [item["action"] for item in paged(api, "/v1/changes", limit=1, **query)]

    assert actions(jobId=one) == ["resume", "pause", "create"]
    assert actions(actor="key_3") == ["resume", "pause"]
    assert actions(actor="key_1") == ["create", "create"]
    assert actions(jobId=other, actor="key_3") == ["pause"]
    assert actions(**{"from": format_instant(NOW + 2 * SECOND_MS)}) == ["resume", "pause"]
    assert actions(to=format_instant(NOW + SECOND_MS)) == ["pause", "create", "create"]
    assert actions(jobId="another") == actions(actor="key_9") == []


def test_many_jobs_of_one_instant_are_all_listed_whatever_the_page_size(api: Api) -> None:
    body = {"jobs": [{"handler": URL, "everySeconds": 60} for _ in range(7)]}
    created = [item["job"]["jobId"] for item in api.call("POST", "/v1/jobs:batch", body).body["items"]]
    assert sorted(item["jobId"] for item in paged(api, "/v1/changes", limit=2)) == sorted(created)


def test_a_tenant_sees_no_changes_of_another_tenant(api: Api) -> None:
    job = api.create(everySeconds=60)["jobId"]
    change(api, job, "pause")
    assert api.call("GET", "/v1/changes", tenant="other").body["items"] == []
    assert api.call("GET", "/v1/changes", tenant="other", query={"jobId": job}).body["items"] == []
    assert api.call("GET", f"/v1/jobs/{job}/revisions", tenant="other").status == 404
    assert api.call("POST", f"/v1/jobs/{job}/revisions/1:restore", tenant="other").status == 404


def test_a_change_that_was_announced_and_never_made_is_not_listed(api: Api) -> None:
    """A process dies between the announcement and the change, and another request makes the next version."""
    job = api.create(everySeconds=60)["jobId"]
    swap = api.store.jobs.swap
    api.store.jobs.swap = lambda *_: 1 / 0  # type: ignore[method-assign, assignment]
    assert change(api, job, "cancel").status == 500
    api.store.jobs.swap = swap  # type: ignore[method-assign]
    assert [item["action"] for item in changes(api)] == ["create"]
    assert [item["action"] for item in revisions(api, job)] == ["create"]
    change(api, job, "pause", key="key_3")
    assert [item["action"] for item in changes(api)] == ["pause", "create"]
    assert [item["action"] for item in revisions(api, job)] == ["pause", "create"]
    assert len(api.store.changes.announcements) == 2


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"jobId": "a b"}, "jobId"),
        ({"actor": ""}, "actor"),
        ({"actor": "ü"}, "actor"),
        ({"from": "yesterday"}, "from"),
        ({"from": "2026-11-22T00:00:00Z", "to": "2026-11-21T00:00:00Z"}, "to"),
        ({"limit": "0"}, "limit"),
        ({"cursor": "abc"}, "cursor"),
        ({"status": "pending"}, "status"),
    ],
)
def test_a_bad_parameter_is_named(api: Api, query: dict[str, str], field: str) -> None:
    assert api.call("GET", "/v1/changes", query=query).bad_fields() == [field]


def test_a_cursor_of_another_query_is_refused(api: Api) -> None:
    one, other = api.create(everySeconds=60)["jobId"], api.create(everySeconds=60)["jobId"]
    cursor = api.call("GET", "/v1/changes", query={"limit": "1"}).body["nextCursor"]
    assert api.call("GET", "/v1/changes", query={"jobId": one, "cursor": cursor}).bad_fields() == ["cursor"]
    assert api.call("GET", "/v1/changes", tenant="other", query={"cursor": cursor}).bad_fields() == ["cursor"]
    change(api, one, "pause")
    cursor = api.call("GET", f"/v1/jobs/{one}/revisions", query={"limit": "1"}).body["nextCursor"]
    assert api.call("GET", f"/v1/jobs/{other}/revisions", query={"cursor": cursor}).bad_fields() == ["cursor"]


def test_a_job_created_later_under_the_same_id_has_its_own_revisions(api: Api) -> None:
    path, body = "/v1/jobs/mine", {"handler": URL, "everySeconds": 60}
    for _ in range(2):
        assert api.call("PUT", path, body).status == 201
        assert change(api, "mine", "pause").status == 200
        assert change(api, "mine", "cancel").status == 200
        items = revisions(api, "mine")
        assert [one["revision"] for one in items] == [3, 2, 1]
        assert {one["at"][:10] for one in items} == {format_instant(api.clock.now())[:10]}
        del api.store.jobs[JobKey("acme", "mine")]  # its row expires before its revisions do
        api.clock.advance(DAY_MS)


def test_a_job_that_the_index_lists_twice_is_shown_once_and_ends_no_list(api: Api) -> None:
    """This happens while a job's status changes: the listing index is updated a moment later."""
    for _ in range(4):
        api.create(everySeconds=60)
        api.clock.advance(SECOND_MS)
    listed = api.store.jobs.listed
    api.store.jobs.listed = lambda *query: [one for one in listed(*query) for _ in (1, 2)]  # type: ignore[method-assign]
    assert len({item["jobId"] for item in paged(api, "/v1/changes", limit=1)}) == 4
    assert len(paged(api, "/v1/changes", limit=2)) == 4


def test_a_job_that_names_a_task_has_a_history_as_any_other_and_is_restored_to_it(api: Api) -> None:
    target = {"type": "http", "url": URL, "headers": {"X-Secret": "s"}}
    assert api.call("PUT", "/v1/tasks/mail", {"name": "mail", "target": target}).status == 201
    job = api.call(
        "PUT", "/v1/jobs/nightly", {"taskId": "mail", "payload": 1, "everySeconds": 60, "maxRetries": 1}
    ).body
    api.clock.advance(SECOND_MS)
    assert api.call("PATCH", "/v1/jobs/nightly", {"handler": URL}).status == 200
    newest, first = revisions(api, "nightly")
    assert (newest["before"], newest["after"]["target"]["url"]) == (first["after"], URL)
    assert (first["after"]["taskId"], first["after"]["payload"], first["after"]["maxRetries"]) == ("mail", 1, 1)
    assert "target" not in first["after"]
    assert "priority" not in first["after"], "fields that the task decides are not the job's"
    told = [(one["resource"]["type"], one["action"]) for one in changes(api)]
    assert told == [("job", "patch"), ("job", "create"), ("task", "put")]
    api.clock.advance(SECOND_MS)
    restored = api.call("POST", "/v1/jobs/nightly/revisions/1:restore")
    assert (restored.status, restored.body["taskId"], restored.body["overrides"]) == (200, "mail", job["overrides"])
