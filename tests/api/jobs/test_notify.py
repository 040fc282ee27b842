"""Notifications of a job: the request is stored and answered, and headers are shown only by name."""

from typing import Any

import pytest

from tests.api.client import Api

URL = "https://example.com/alarm"
OK = {"handler": "https://example.com/hook", "everySeconds": 60}
WITH_SECRET = {"type": "http", "url": URL, "method": "PUT", "headers": {"Authorization": "Bearer abc"}}
SHOWN: dict[str, Any] = {"type": "http", "url": URL, "method": "POST", "headers": [], "body": None, "secretId": None}


def test_notifications_are_answered_as_requested(api: Api) -> None:
    asked = {"onFailure": URL, "onLate": WITH_SECRET, "afterFailures": 3, "lateAfterSeconds": 60, "deadlineSeconds": 90}
    answer = api.create(**OK, notify=asked, pauseAfterFailures=5)
    assert answer["notify"] == {
        "onFailure": SHOWN,
        "onRecovery": None,
        "onLate": {**WITH_SECRET, "headers": ["Authorization"], "body": None, "secretId": None},
        "onBlocked": None,
        "onSuccess": None,
        "afterFailures": 3,
        "afterBlocked": 3,
        "lateAfterSeconds": 60,
        "deadlineSeconds": 90,
    }
    assert (answer["pauseAfterFailures"], answer["pausedReason"], answer["notice"]) == (5, None, None)


def test_a_job_notifies_nowhere_by_default(api: Api) -> None:
    answer = api.create(**OK)
    assert (answer["notify"], answer["pauseAfterFailures"]) == (None, None)


def test_a_notification_about_blocked_runs_is_answered_as_requested(api: Api) -> None:
    answer = api.create(**OK, notify={"onBlocked": URL, "afterBlocked": 2})
    assert (answer["notify"]["onBlocked"], answer["notify"]["afterBlocked"]) == (SHOWN, 2)
    removed = api.call("PATCH", f"/v1/jobs/{answer['jobId']}", {"notify": {"onBlocked": None, "onSuccess": URL}})
    assert (removed.body["notify"]["onBlocked"], removed.body["notify"]["afterBlocked"]) == (None, 3)


BAD: list[tuple[str, dict[str, Any], list[str], str]] = [
    ("nobody to tell", {"notify": {}}, ["notify"], "Say what to call"),
    (
        "failures that nobody hears of",
        {"notify": {"onSuccess": URL, "afterFailures": 2}},
        ["notify.afterFailures"],
        "onFailure",
    ),
    (
        "blocked runs that nobody hears of",
        {"notify": {"onFailure": URL, "afterBlocked": 2}},
        ["notify.afterBlocked"],
        "onBlocked",
    ),
    ("no blocked runs", {"notify": {"onBlocked": URL, "afterBlocked": 0}}, ["notify.afterBlocked"], "at least 1"),
    ("no failures", {"notify": {"onFailure": URL, "afterFailures": 0}}, ["notify.afterFailures"], "at least 1"),
    (
        "lateness that nobody hears of",
        {"notify": {"onFailure": URL, "deadlineSeconds": 9}},
        ["notify.deadlineSeconds"],
        "onLate",
    ),
    (
        "whoever is late, but how late?",
        {"notify": {"onLate": URL}},
        ["notify.onLate"],
        "lateAfterSeconds or deadlineSeconds",
    ),
    (
        "later than a month",
        {"notify": {"onLate": URL, "deadlineSeconds": 2_592_001}},
        ["notify.deadlineSeconds"],
        "at most",
    ),
    ("no URL", {"notify": {"onFailure": "mail@example.com"}}, ["notify.onFailure.url"], "https://"),
    (
        "another kind of target",
        {"notify": {"onFailure": {"type": "mail", "url": URL}}},
        ["notify.onFailure.type"],
        "http",
    ),
    ("a private address", {"notify": {"onFailure": "https://10.0.0.1/"}}, ["notify.onFailure"], "private"),
    (
        "a field that no notice has",
        {"notify": {"onFailure": {"type": "http", "url": URL, "body": '{"text": "{{jobTitle}}"}'}}},
        ["notify.onFailure.body"],
        "{{jobTitle}} names nothing; there are the fields of a notice, {{type}}, {{jobId}}",
    ),
    (
        "a payload that is not the notice",
        {"notify": {"onRecovery": {"type": "http", "url": f"{URL}?c={{{{payload.customer}}}}"}}},
        ["notify.onRecovery.url"],
        "{{payload.customer}} names nothing",
    ),
    (
        "a body that breaks when it is filled in",
        {"notify": {"onFailure": {"type": "http", "url": URL, "body": '{"text": {{jobId}} failed}'}}},
        ["notify.onFailure.body"],
        "This is no JSON",
    ),
    (
        "a field of a notice in the job's own target",
        {"handler": None, "target": {"type": "http", "url": URL, "body": '"{{reason}}"'}},
        ["target.body"],
        "{{reason}} names nothing; there are {{jobId}}, {{runId}}",
    ),
    ("an unknown wish", {"notify": {"onFailure": URL, "onBoredom": URL}}, ["notify.onBoredom"], "no such field"),
    ("a pause after nothing", {"pauseAfterFailures": 0}, ["pauseAfterFailures"], "at least 1"),
]


@pytest.mark.parametrize(("fields", "names", "words"), [one[1:] for one in BAD], ids=[one[0] for one in BAD])
def test_an_invalid_notification_is_refused_by_its_field(
    api: Api, fields: dict[str, Any], names: list[str], words: str
) -> None:
    answer = api.call("POST", "/v1/jobs", {**OK, **fields})
    assert answer.status == 400
    assert [error["field"] for error in answer.body["errors"]] == names
    assert words in answer.body["errors"][0]["message"]


def test_the_body_of_a_notice_is_a_template_over_its_fields(api: Api) -> None:
    body = '{"text": "{{jobName}} {{reason}} <{{consoleUrl}}>"}'
    target = {"type": "http", "url": f"{URL}/{{{{jobId}}}}", "headers": {"X-Type": "{{type}}"}, "body": body}
    answer = api.create(**OK, notify={"onFailure": target})
    assert (answer["notify"]["onFailure"]["body"], answer["notify"]["onFailure"]["url"]) == (body, target["url"])
    copied = api.call("PATCH", f"/v1/jobs/{answer['jobId']}", {"name": "mine"})  # the stored target is read again
    assert copied.body["notify"] == answer["notify"]


def test_only_a_recurring_job_pauses_itself_after_failures(api: Api) -> None:
    answer = api.call("POST", "/v1/jobs", {"handler": URL, "pauseAfterFailures": 3})
    assert [error["field"] for error in answer.body["errors"]] == ["pauseAfterFailures"]
    assert api.create(handler=URL, event={"source": ["shop"]}, pauseAfterFailures=3)["pauseAfterFailures"] == 3


def test_a_patch_changes_some_fields_and_null_removes_all(api: Api) -> None:
    job = api.create(**OK, notify={"onFailure": WITH_SECRET, "afterFailures": 2})
    path = f"/v1/jobs/{job['jobId']}"
    changed = api.call("PATCH", path, {"notify": {"afterFailures": 4, "onSuccess": URL}}).body
    assert changed["notify"] == {**job["notify"], "afterFailures": 4, "onSuccess": SHOWN}
    assert api.call("PATCH", path, {"notify": None}).body["notify"] is None


def test_removing_a_notification_removes_its_conditions(api: Api) -> None:
    asked = {"onFailure": URL, "afterFailures": 2, "onLate": URL, "deadlineSeconds": 9, "onSuccess": URL}
    job = api.create(**OK, notify=asked)
    changed = api.call("PATCH", f"/v1/jobs/{job['jobId']}", {"notify": {"onFailure": None, "onLate": None}})
    assert changed.body["notify"] == {
        **dict.fromkeys(("onFailure", "onRecovery", "onLate", "lateAfterSeconds", "deadlineSeconds")),
        "onBlocked": None,
        "onSuccess": SHOWN,
        "afterFailures": 1,
        "afterBlocked": 3,
    }


@pytest.mark.parametrize(("method", "fields"), [("PATCH", {"name": "mine"}), ("PUT", OK)])
def test_a_user_cannot_change_a_notice(api: Api, method: str, fields: dict[str, Any]) -> None:
    api.create(handler="https://example.com/hook", notify={"onLate": WITH_SECRET, "lateAfterSeconds": 9})
    api.dispatch()
    (notice,) = (job.key.job_id for job in api.store.jobs.values() if job.spec.notice is not None)
    path = f"/v1/jobs/{notice}"
    shown = api.call("GET", path)
    assert (shown.body["notice"]["type"], "Bearer" in shown.text) == ("late", False)
    assert api.call(method, path, fields).bad_fields() == ["jobId"]
    assert api.call("GET", path).body == shown.body


def test_a_patch_carries_no_header_to_another_host(api: Api) -> None:
    job = api.create(**OK, notify={"onFailure": WITH_SECRET})
    path = f"/v1/jobs/{job['jobId']}"
    taken = api.call("PATCH", path, {"notify": {"onFailure": {"url": "https://evil.example/"}}})
    assert [error["field"] for error in taken.body["errors"]] == ["notify.onFailure.headers.Authorization"]
    instead = api.call("PATCH", path, {"notify": {"onFailure": "https://evil.example/"}})
    assert instead.body["notify"]["onFailure"]["headers"] == []


def test_no_history_shows_the_value_of_a_header(api: Api) -> None:
    job = api.create(**OK, notify={"onFailure": WITH_SECRET})
    api.call("PATCH", f"/v1/jobs/{job['jobId']}", {"name": "x"})
    answer = api.call("GET", f"/v1/jobs/{job['jobId']}/revisions")
    assert "Bearer abc" not in answer.text
    assert answer.body["items"][0]["after"]["notify"]["onFailure"]["headers"] == {"Authorization": None}


def test_the_same_request_again_changes_nothing(api: Api) -> None:
    asked = {**OK, "notify": {"onLate": WITH_SECRET, "deadlineSeconds": 60}, "pauseAfterFailures": 2}
    first, again = (api.call("PUT", "/v1/jobs/nightly", asked) for _ in range(2))
    assert (first.status, again.status, again.body["version"]) == (201, 200, 1)
