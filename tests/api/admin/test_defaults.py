"""A tenant's defaults: admins set them, the authorizer hands them on, the API applies them to jobs and tasks."""

import json
from dataclasses import asdict, replace
from typing import Any

import pytest

from tests.api.client import Answer, Api, event_of
from timeball.api.app import build_api
from timeball.domain.model.jobs.job import Priority
from timeball.domain.model.tenants.actor import IamCaller
from timeball.domain.model.tenants.key import Role
from timeball.domain.model.tenants.tenant import Defaults

TENANT = "/v1/admin/tenants/acme"
DAILY = {"handler": "https://example.com/hook", "cronExpression": "0 9 * * *"}
BERLIN, LOW, NORMAL = Defaults("Europe/Berlin"), Defaults(None, "low"), Defaults(None, "normal")


def _ask(api: Api, defaults: Defaults, method: str, path: str, body: object) -> Answer:
    event: dict[str, Any] = event_of(method, path, "acme", {}, {}) | {"body": json.dumps(body)}
    event["requestContext"]["authorizer"]["lambda"]["defaults"] = json.dumps(asdict(defaults))
    return api.answer(event)


def _put(api: Api, defaults: Defaults, **fields: object) -> Answer:
    return _ask(api, defaults, "PUT", "/v1/jobs/daily", {**DAILY, **fields})


def _signed(api: Api, body: object) -> Answer:
    caller = {"123456789012/user/ann": IamCaller("acme", Role.SUBMITTER)}
    api.handle = build_api(replace(api.edge, iam_callers=caller))
    event = event_of("POST", "/iam/v1/jobs", None, {}, {}) | {"body": json.dumps(body)}
    event["requestContext"]["authorizer"] = {"iam": {"userArn": "arn:aws:iam::123456789012:user/ann"}}
    return api.answer(event)


def test_an_admin_sets_and_removes_the_defaults_of_a_tenant(api: Api) -> None:
    none = {"timezone": None, "priorityCeiling": None, "notify": None}
    assert api.call("GET", TENANT).body["defaults"] == none
    set_ = api.call("PATCH", TENANT, {"defaults": {"timezone": "Europe/Berlin", "priorityCeiling": "normal"}})
    assert set_.body["defaults"] == {"timezone": "Europe/Berlin", "priorityCeiling": "normal", "notify": None}
    partly = api.call("PATCH", TENANT, {"defaults": {"timezone": None}})
    assert partly.body["defaults"] == {"timezone": None, "priorityCeiling": "normal", "notify": None}
    assert api.call("GET", TENANT).body["defaults"] == partly.body["defaults"]
    assert api.call("PATCH", TENANT, {"defaults": None}).body["defaults"] == none
    made = api.call("POST", "/v1/admin/tenants", {"name": "initech", "defaults": {"priorityCeiling": "low"}})
    assert (made.status, made.body["defaults"]["priorityCeiling"]) == (201, "low")


def test_all_bad_defaults_are_named_at_once(api: Api) -> None:
    refused = api.call("PATCH", TENANT, {"defaults": {"timezone": "Mars/Base", "priorityCeiling": "urgent", "a": 1}})
    assert refused.status == 400
    assert {*refused.bad_fields()} == {"defaults.timezone", "defaults.priorityCeiling", "defaults.a"}


def test_a_cron_without_a_time_zone_gets_the_tenants(api: Api) -> None:
    assert _ask(api, BERLIN, "POST", "/v1/jobs", DAILY).body["timezone"] == "Europe/Berlin"
    assert _ask(api, BERLIN, "POST", "/v1/jobs", {**DAILY, "timezone": "Asia/Tokyo"}).body["timezone"] == "Asia/Tokyo"
    assert _ask(api, BERLIN, "POST", "/v1/jobs", {"handler": DAILY["handler"]}).body["timezone"] is None
    batch = _ask(api, BERLIN, "POST", "/v1/jobs:batch", {"jobs": [DAILY]}).body
    assert batch["items"][0]["job"]["timezone"] == "Europe/Berlin"


def test_a_repeated_put_without_a_time_zone_changes_nothing(api: Api) -> None:
    assert _put(api, BERLIN).status == 201
    again = _put(api, BERLIN)
    assert (again.status, again.body["version"], again.body["timezone"]) == (200, 1, "Europe/Berlin")


def test_a_patch_to_a_cron_without_a_time_zone_gets_the_tenants_and_others_keep_theirs(api: Api) -> None:
    assert _put(api, BERLIN, timezone="Asia/Tokyo").status == 201
    path = "/v1/jobs/daily"
    assert _ask(api, BERLIN, "PATCH", path, {"cronExpression": "0 8 * * *"}).body["timezone"] == "Asia/Tokyo"
    assert _ask(api, BERLIN, "PATCH", path, {"timezone": None}).body["timezone"] == "Europe/Berlin"


def test_a_preview_shows_the_fires_in_the_tenants_time_zone(api: Api) -> None:
    shown = _ask(api, BERLIN, "POST", "/v1/schedules:preview", {"cronExpression": "0 9 * * *"}).body
    assert "Europe/Berlin" in shown["scheduleText"]
    assert {fire["localTime"][11:16] for fire in shown["items"]} == {"09:00"}


@pytest.mark.parametrize(
    ("path", "method", "body"),
    [
        ("/v1/jobs", "POST", DAILY),
        ("/v1/jobs/one", "PUT", DAILY),
        ("/v1/tasks", "POST", {"handler": "https://example.com"}),
        ("/v1/tasks/one", "PUT", {"handler": "https://example.com"}),
    ],
)
def test_a_priority_above_the_ceiling_is_refused_by_the_name_of_the_ceiling(
    api: Api, path: str, method: str, body: dict[str, object]
) -> None:
    refused = _ask(api, NORMAL, method, path, {**body, "priority": "high"})
    assert (refused.status, refused.bad_fields()) == (400, ["priority"])
    assert refused.body["errors"][0]["message"] == (
        "Your tenant's priorityCeiling is normal; give no priority above it."
    )
    assert _ask(api, NORMAL, method, path, {**body, "priority": "normal"}).status == 201


def test_a_patch_above_the_ceiling_is_refused_and_a_priority_from_before_it_stands(api: Api) -> None:
    assert _put(api, Defaults(), priority="high").status == 201
    assert _put(api, LOW, priority="high").status == 200
    assert _ask(api, LOW, "PATCH", "/v1/jobs/daily", {"name": "nightly"}).status == 200
    refused = _ask(api, LOW, "PATCH", "/v1/jobs/daily", {"priority": "normal"})
    assert (refused.status, refused.bad_fields()) == (400, ["priority"])
    assert _ask(api, LOW, "PATCH", "/v1/jobs/daily", {"priority": "low"}).status == 200


def test_a_lowered_ceiling_is_told_by_every_answer_about_a_job(api: Api) -> None:
    made = _put(api, Defaults(), priority="high")
    assert (made.body["priority"], made.body["effectivePriority"]) == ("high", "high")
    for method, path in (("GET", "/v1/jobs/daily"), ("PATCH", "/v1/jobs/daily"), ("POST", "/v1/jobs/daily/pause")):
        told = _ask(api, LOW, method, path, {}).body
        assert (told["priority"], told["effectivePriority"]) == ("high", "low"), path
    for item in _ask(api, NORMAL, "GET", "/v1/jobs", {}).body["items"]:
        assert (item["priority"], item["effectivePriority"]) == ("high", "normal")


def test_new_runs_start_at_a_ceiling_that_was_lowered_and_at_the_jobs_priority_without_one(api: Api) -> None:
    def priority_of_new_run() -> str:
        made = api.call("POST", "/v1/jobs/daily/trigger")
        assert made.status == 201, made.text
        return next(run.priority for run in api.store.runs.values() if str(run.id) == made.body["runId"])

    assert _put(api, Defaults(), priority="high").status == 201
    assert priority_of_new_run() == "high"
    api.call("PATCH", TENANT, {"defaults": {"priorityCeiling": "low"}})
    assert priority_of_new_run() == "low"
    api.call("PATCH", TENANT, {"defaults": {"priorityCeiling": None}})
    assert priority_of_new_run() == "high"


def test_a_job_without_a_priority_runs_at_a_ceiling_below_the_default(api: Api) -> None:
    api.call("PATCH", TENANT, {"defaults": {"priorityCeiling": "low"}})
    made = _ask(api, LOW, "POST", "/v1/jobs", {"handler": "https://example.com/now"})
    assert (made.status, made.body["effectivePriority"]) == (201, "low")
    assert {run.priority for run in api.store.runs.values()} == {"low"}


def test_the_etag_of_a_job_changes_with_a_ceiling_that_lowers_its_priority(api: Api) -> None:
    assert _put(api, Defaults(), priority="high").status == 201
    tags = [_ask(api, one, "GET", "/v1/jobs/daily", {}).headers["ETag"] for one in (Defaults(), LOW, NORMAL)]
    assert len({*tags}) == len(tags)


def test_a_signed_request_has_the_defaults_of_its_tenant(api: Api) -> None:
    api.call("PATCH", TENANT, {"defaults": {"timezone": "Europe/Berlin", "priorityCeiling": "low"}})
    assert _signed(api, DAILY).body["timezone"] == "Europe/Berlin"
    assert _signed(api, {**DAILY, "priority": "high"}).bad_fields() == ["priority"]


@pytest.mark.parametrize(
    ("priority", "ceiling", "within"),
    [
        (Priority.HIGH, None, Priority.HIGH),  # no ceiling
        (Priority.HIGH, "high", Priority.HIGH),  # at the ceiling
        (Priority.HIGH, "low", Priority.LOW),  # above it
        (Priority.NORMAL, "low", Priority.LOW),
        (Priority.LOW, "normal", Priority.LOW),  # below it
    ],
)
def test_a_priority_within_a_ceiling(priority: Priority, ceiling: str | None, within: Priority) -> None:
    assert priority.within(ceiling) is within
