"""A tenant's default `notify`: set like a job's own, taken by jobs that state none, and told as such."""

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.api.client import Answer, Api, event_of
from timeball.api.authorizer import Authorizer
from timeball.aws.dynamodb.table.codec import from_item, to_item
from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.model.jobs.job import JobStatus
from timeball.domain.model.reason import Reason
from timeball.domain.model.tenants.key import Key, Role, fresh_key, hash_of, id_in
from timeball.domain.model.tenants.tenant import MOST_NOTIFY_BYTES, Defaults, Tenant, new_tenant
from timeball.domain.model.terms.notify import News, Notify, RunEnd
from timeball.domain.model.terms.target import HttpTarget, SqsTarget
from timeball.domain.run_ends.notices import notice_of_end
from timeball.engine.blackouts.read import read_defaults
from timeball.testing.memory_store import MemoryTenants

TENANT = "/v1/admin/tenants/acme"
ALARM, PAGER = "https://example.com/alarm", "https://example.com/pager"
DAILY = {"handler": "https://example.com/hook", "cronExpression": "0 9 * * *"}
ONCE = {"handler": "https://example.com/hook", "scheduleAt": "2026-11-22T09:00:00Z"}
HEADERS = {"Authorization": "Bearer abc"}
SECRET = {"type": "http", "url": ALARM, "headers": HEADERS}


def _set(api: Api, notify: object) -> Answer:
    """Set the default, and let the time pass in which a process may rely on the former one."""
    done = api.call("PATCH", TENANT, {"defaults": {"notify": notify}})
    api.clock.advance(3_000)
    return done


def _ask(api: Api, method: str, path: str, body: object = None) -> Answer:
    """Send a request as the authorizer hands it on for a tenant with a default `notify`."""
    event: dict[str, Any] = event_of(method, path, "acme", {}, {}) | {"body": json.dumps(body or {})}
    event["requestContext"]["authorizer"]["lambda"]["defaults"] = "null"
    return api.answer(event)


def _put(api: Api, **fields: object) -> Answer:
    return _ask(api, "PUT", "/v1/jobs/daily", {**DAILY, **fields})


def _called(answer: Answer) -> tuple[str | None, str | None]:
    """Return the URL for failures of a job, and whose `notify` it is."""
    notify = answer.body["notify"]
    return notify and notify["onFailure"] and notify["onFailure"]["url"], answer.body["notifySource"]


def test_a_job_without_notify_takes_the_tenants_and_another_keeps_its_own(api: Api) -> None:
    assert _set(api, {"onFailure": ALARM, "afterFailures": 2}).status == 200
    made = _ask(api, "POST", "/v1/jobs", DAILY)
    assert (made.status, _called(made), made.body["notify"]["afterFailures"]) == (201, (ALARM, "tenant"), 2)
    own = _ask(api, "POST", "/v1/jobs", {**DAILY, "notify": {"onFailure": PAGER}})
    assert (_called(own), own.body["notify"]["afterFailures"]) == ((PAGER, "job"), 1)
    batch = _ask(api, "POST", "/v1/jobs:batch", {"jobs": [DAILY, {**DAILY, "jobId": "named"}]})
    assert [item["job"]["notifySource"] for item in batch.body["items"]] == ["tenant", "tenant"]
    listed = _ask(api, "GET", "/v1/jobs").body["items"]
    assert sorted(item["notifySource"] for item in listed) == ["job", "tenant", "tenant", "tenant"]


def test_a_job_of_a_tenant_without_a_default_has_no_notify(api: Api) -> None:
    made = api.call("POST", "/v1/jobs", DAILY)
    assert (made.body["notify"], made.body["notifySource"]) == (None, None)


def test_the_notice_of_a_failure_calls_the_tenants_default(api: Api) -> None:
    _set(api, {"onFailure": SECRET})
    made = _put(api)
    (job,) = (one for one in api.store.jobs.values() if one.key.job_id == made.body["jobId"])
    end = RunEnd(RunId(job.key, job.created_at, Origin.SCHEDULE), 1, Reason.RETRIES_EXHAUSTED, job.created_at)
    notice = notice_of_end(job, News.FAILURE, end)
    assert notice is not None
    assert notice.work is not None
    assert notice.work.target == HttpTarget(ALARM, headers=HEADERS)
    assert "abc" not in made.text


def test_a_repeated_put_changes_nothing_and_takes_a_changed_default(api: Api) -> None:
    _set(api, {"onFailure": ALARM})
    assert (_put(api).status, _put(api).body["version"]) == (201, 1)
    _set(api, {"onFailure": PAGER})
    assert _called(_ask(api, "GET", "/v1/jobs/daily")) == (ALARM, "tenant")
    again = _put(api)
    assert (again.status, again.body["version"], _called(again)) == (200, 2, (PAGER, "tenant"))
    _set(api, None)
    assert _called(_put(api)) == (None, None)


def test_a_put_of_a_completed_job_does_not_run_it_again_because_the_default_has_changed(api: Api) -> None:
    key = JobKey("acme", "once")
    _set(api, {"onFailure": ALARM})
    assert _ask(api, "PUT", "/v1/jobs/once", ONCE).status == 201
    api.store.jobs[key] = replace(api.store.jobs[key], status=JobStatus.COMPLETED)
    for default in ({"onFailure": PAGER}, None):
        _set(api, default)
        again = _ask(api, "PUT", "/v1/jobs/once", ONCE)
        assert (again.status, again.body["generation"], _called(again)) == (200, 1, (ALARM, "tenant"))
    renewed = _ask(api, "PUT", "/v1/jobs/once", {**ONCE, "scheduleAt": "2026-11-23T09:00:00Z"})
    assert (renewed.status, _called(renewed)) == (201, (None, None))


# Columns: whether the job has the default of its creation, the patch, and whom its failures then call.
PATCHES: dict[str, tuple[bool, dict[str, Any], tuple[str | None, str | None]]] = {
    "another field keeps the default of the creation": (True, {"name": "nightly"}, (ALARM, "tenant")),
    "another field gives no default to an older job": (False, {"name": "nightly"}, (None, None)),
    "null takes the default of the moment": (True, {"notify": None}, (PAGER, "tenant")),
    "null takes it for an older job, too": (False, {"notify": None}, (PAGER, "tenant")),
    "a part is merged into the default, which is then the job's own": (
        True,
        {"notify": {"onSuccess": PAGER}},
        (ALARM, "job"),
    ),
}


@pytest.mark.parametrize(("has_default", "patch", "called"), PATCHES.values(), ids=PATCHES)
def test_a_patch(api: Api, has_default: bool, patch: dict[str, Any], called: tuple[str | None, str | None]) -> None:  # noqa: FBT001 - a column
    _set(api, {"onFailure": ALARM} if has_default else None)
    assert _put(api).status == 201
    _set(api, {"onFailure": PAGER})
    assert _called(_ask(api, "PATCH", "/v1/jobs/daily", patch)) == called


def test_a_restored_revision_has_the_default_that_it_had(api: Api) -> None:
    _set(api, {"onFailure": ALARM})
    assert _put(api).status == 201
    assert _called(_put(api, notify={"onFailure": PAGER})) == (PAGER, "job")
    restored = _ask(api, "POST", "/v1/jobs/daily/revisions/1:restore")
    assert (restored.status, _called(restored)) == (200, (ALARM, "tenant"))


def test_a_repeated_create_is_answered_with_the_default_of_the_creation(api: Api) -> None:
    _set(api, {"onFailure": ALARM})
    event: dict[str, Any] = event_of("POST", "/v1/jobs", "acme", {"Idempotency-Key": "one"}, {})
    event["requestContext"]["authorizer"]["lambda"]["defaults"] = "null"
    event["body"] = json.dumps(DAILY)
    first = api.answer(event)
    _set(api, {"onFailure": PAGER})
    again = api.answer(event)
    assert (first.status, again.status, _called(again)) == (201, 201, (ALARM, "tenant"))


def test_a_job_on_events_alone_takes_the_default_without_lateness(api: Api) -> None:
    late = {"onLate": PAGER, "lateAfterSeconds": 60}
    event = {"handler": "https://example.com/hook", "event": {"source": ["shop"]}}
    _set(api, {"onFailure": ALARM, **late})
    made = _ask(api, "POST", "/v1/jobs", event)
    assert (made.status, _called(made)) == (201, (ALARM, "tenant")), made.text
    assert (made.body["notify"]["onLate"], made.body["notify"]["lateAfterSeconds"]) == (None, None)
    _set(api, {"onFailure": None})
    assert _called(_ask(api, "POST", "/v1/jobs", {**event, "event": {"source": ["yard"]}})) == (None, None)


# Each case: a default that is refused, the field of the error, and a part of its sentence.
BAD: dict[str, tuple[object, str, str]] = {
    "nothing to call": ({}, "defaults.notify", "Say what to call"),
    "late, but how late": ({"onLate": ALARM}, "defaults.notify.onLate", "lateAfterSeconds or deadlineSeconds"),
    "no URL": ({"onFailure": "mail@example.com"}, "defaults.notify.onFailure.url", "https://"),
    "the instance's own credentials": ({"onFailure": "http://169.254.169.254/"}, "defaults.notify.onFailure", "call"),
    "a private address": ({"onLate": "https://10.0.0.1/", "deadlineSeconds": 9}, "defaults.notify.onLate", "address"),
    "an address of this host": ({"onBlocked": "https://[::1]/"}, "defaults.notify.onBlocked", "address"),
    "another tenant's secret": (
        {"onFailure": {"type": "http", "url": ALARM, "secretId": "timeball/globex/hook"}},
        "defaults.notify.onFailure.secretId",
        "your tenant",
    ),
    "a function that no setting lists": (
        {"onFailure": {"type": "lambda", "functionArn": "arn:aws:lambda:eu-central-1:123456789012:function:other"}},
        "defaults.notify.onFailure.functionArn",
        "",
    ),
    "an unknown field": ({"onFailure": ALARM, "onJoy": ALARM}, "defaults.notify.onJoy", ""),
    "an unknown field that is removed": ({"onFailure": ALARM, "onJoy": None}, "defaults.notify.onJoy", ""),
    "too long for the row": (
        {"onFailure": {"type": "http", "url": ALARM, "body": f'"{"x" * MOST_NOTIFY_BYTES}"'}},
        "defaults.notify",
        "4096 bytes",
    ),
    "text": ("https://example.com", "defaults.notify", ""),
}


@pytest.mark.parametrize(("notify", "field", "sentence"), BAD.values(), ids=BAD)
def test_a_bad_default_is_refused_like_a_jobs_notify(api: Api, notify: object, field: str, sentence: str) -> None:
    refused = _set(api, notify)
    assert (refused.status, refused.bad_fields()) == (400, [field])
    assert sentence in refused.body["errors"][0]["message"]
    made = api.call("POST", "/v1/admin/tenants", {"name": "initech", "defaults": {"notify": notify}})
    assert (made.status, made.bad_fields()) == (400, [field])


def test_all_bad_targets_of_a_default_are_named_at_once(api: Api) -> None:
    refused = _set(api, {"onFailure": "https://10.0.0.1/", "onSuccess": "https://127.0.0.1/", "onLate": ALARM})
    assert {*refused.bad_fields()} == {f"defaults.notify.{name}" for name in ("onFailure", "onSuccess", "onLate")}


def test_a_default_is_merged_and_shows_no_value_of_a_header(api: Api) -> None:
    _set(api, {"onFailure": SECRET, "afterFailures": 2})
    both = _set(api, {"onRecovery": PAGER}).body["defaults"]["notify"]
    assert (both["onFailure"]["headers"], both["onRecovery"]["url"], both["afterFailures"]) == (
        ["Authorization"],
        PAGER,
        2,
    )
    shown = api.call("GET", TENANT)
    assert shown.body["defaults"]["notify"] == both
    assert "abc" not in shown.text
    fewer = _set(api, {"onFailure": None, "onRecovery": None, "onSuccess": ALARM}).body["defaults"]["notify"]
    assert (fewer["onFailure"], fewer["onSuccess"]["url"], fewer["afterFailures"]) == (None, ALARM, 1)
    assert _set(api, None).body["defaults"]["notify"] is None


def test_a_patch_does_not_send_a_header_of_the_default_to_another_host(api: Api) -> None:
    _set(api, {"onFailure": SECRET})
    stolen = _set(api, {"onFailure": {"url": "https://evil.example/"}})
    assert (stolen.status, stolen.bad_fields()) == (400, ["defaults.notify.onFailure.headers.Authorization"])


def test_a_patch_of_another_default_keeps_notify(api: Api) -> None:
    _set(api, {"onFailure": ALARM})
    kept = api.call("PATCH", TENANT, {"defaults": {"timezone": "Europe/Berlin"}}).body["defaults"]
    assert (kept["notify"]["onFailure"]["url"], kept["timezone"]) == (ALARM, "Europe/Berlin")


def test_a_new_tenants_default_is_where_the_api_reads_it(api: Api) -> None:
    made = api.call("POST", "/v1/admin/tenants", {"name": "initech", "defaults": {"notify": {"onFailure": ALARM}}})
    assert made.status == 201, made.text
    assert read_defaults(api.edge.context, "initech").notify == Notify(on_failure=HttpTarget(ALARM))


def test_the_authorizer_hands_on_no_target_of_a_default(api: Api) -> None:
    tenants, text = MemoryTenants(), fresh_key("globex", bytes(32))
    notify = Notify(on_failure=HttpTarget(ALARM, headers=HEADERS))
    tenants.tenants.insert([replace(new_tenant("globex", 0), defaults=Defaults("Europe/Berlin", notify=notify))], 0)
    tenants.keys.insert([Key(id_in(text) or "", hash_of(text), Role.VIEWER, 0)], 0)
    asked = {"headers": {"authorization": f"Bearer {text}"}}
    assert Authorizer(tenants, api.clock)(asked)["context"]["defaults"] == "null"


def test_a_row_holds_a_default_with_its_targets() -> None:
    notify = Notify(on_failure=HttpTarget(ALARM, headers=HEADERS), on_success=SqsTarget("https://sqs.example/1/alarms"))
    tenant = replace(new_tenant("globex", 0), defaults=Defaults(notify=notify))
    assert from_item(Tenant, to_item(tenant)) == tenant
