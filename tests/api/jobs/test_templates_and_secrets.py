"""The templates and the signing secret of a webhook, and the reasons for which they are refused."""

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.api.client import Api
from timeball.api.app import build_api
from timeball.domain.model.terms.target import HttpTarget

URL = "https://example.com/orders/{{payload.id}}?run={{runId}}"
BODY = '{"text": "order {{payload.id}}", "try": {{attempt}}}'
TARGET = {"type": "http", "url": URL, "headers": {"X-At": "{{fireTime}}"}, "body": BODY}


def created(api: Api, target: dict[str, Any], **fields: object) -> Any:
    answer = api.call("POST", "/v1/jobs", {"target": target, "everySeconds": 60, **fields})
    assert answer.status == 201, answer.text
    return answer.body


def refused(api: Api, **fields: object) -> dict[str, str]:
    answer = api.call("POST", "/v1/jobs", {"everySeconds": 60, **fields})
    assert answer.status == 400, answer.text
    return {error["field"]: error["message"] for error in answer.body["errors"]}


def test_a_target_is_stored_with_its_templates_and_shown_without_header_values(api: Api) -> None:
    job = created(api, {**TARGET, "secretId": "timeball/acme/orders"})
    shown = {"type": "http", "url": URL, "method": "POST", "headers": ["X-At"], "body": BODY}
    assert job["target"] == {**shown, "secretId": "timeball/acme/orders"}
    headers = {"X-At": "{{fireTime}}"}
    assert api.work_of(job["jobId"]).target == HttpTarget(URL, "POST", headers, BODY, "timeball/acme/orders")
    read = api.call("GET", f"/v1/jobs/{job['jobId']}").body
    assert read["target"] == job["target"]


def test_a_handler_may_be_a_template_too(api: Api) -> None:
    answer = api.call("POST", "/v1/jobs", {"handler": URL, "everySeconds": 60})
    assert (answer.status, answer.body["target"]["url"]) == (201, URL)


def test_a_patch_changes_and_removes_the_body_and_the_secret(api: Api) -> None:
    path = f"/v1/jobs/{created(api, {**TARGET, 'secretId': 'timeball/acme/orders'})['jobId']}"
    patched = api.call("PATCH", path, {"target": {"body": '"{{jobId}}"'}}).body["target"]
    assert (patched["body"], patched["secretId"]) == ('"{{jobId}}"', "timeball/acme/orders")
    patched = api.call("PATCH", path, {"target": {"body": None, "secretId": None}}).body["target"]
    assert (patched["body"], patched["secretId"]) == (None, None)


@pytest.mark.parametrize(
    ("target", "field", "part"),
    [
        ({"url": "https://h.example/{{order}}"}, "target.url", "{{order}} names nothing; there are {{jobId}}"),
        ({"url": "https://h.example/{{jobId"}, "target.url", "A {{ is not closed"),
        ({"url": "https://{{payload.host}}/"}, "target.url", "Fill in nothing before the path"),
        ({"url": "https://h.example{{payload.x}}"}, "target.url", "Fill in nothing before the path"),
        ({"headers": {"X-A": "{{ jobId }}"}}, "target.headers.X-A", "Write {{jobId}} without blanks."),
        (
            {"headers": {"Content-Type": "{{payload.x}}"}},
            "target.headers",
            "Leave placeholders out of the Content-Type",
        ),
        ({"body": "{{payload.x}"}, "target.body", "A {{ is not closed"),
        ({"body": "hello {{jobId}}"}, "target.body", "This is no JSON: "),
        ({"body": '{"{{payload.x}}": 1}'}, "target.body", "Fill in values and no keys"),
        ({"body": "<{{jobId}}>", "headers": {"content-type": "text/xml"}}, "target.body", "give one of them as the"),
        ({"body": "x" * 16_385}, "target.body", "at most 16384"),
        ({"secretId": "timeball/globex/orders"}, "target.secretId", "its name begins with timeball/acme/."),
        ({"secretId": "timeball/acme"}, "target.secretId", "Name a secret of your tenant"),
        ({"secretId": "timeball/acme/"}, "target.secretId", "Name a secret of your tenant"),
        ({"secretId": "orders"}, "target.secretId", "Name a secret of your tenant"),
        ({"secretId": "timeball/acme/*"}, "target.secretId", "Give the name of a secret in Secrets Manager"),
        ({"secretId": ""}, "target.secretId", "Give the name of a secret in Secrets Manager"),
    ],
)
def test_an_invalid_template_or_secret_is_refused_at_creation(
    api: Api, target: dict[str, Any], field: str, part: str
) -> None:
    errors = refused(api, target={"type": "http", "url": "https://h.example/", **target})
    assert errors.keys() == {field}
    assert part in errors[field]


def test_a_form_body_and_a_body_without_placeholders_may_be_anything(api: Api) -> None:
    for content_type, body in (
        ("application/x-www-form-urlencoded", "a={{payload.x}}"),
        ("text/plain", "{{payload.x}}!"),
        ("application/xml", "<a/>"),
    ):
        created(api, {"type": "http", "url": URL, "headers": {"Content-Type": content_type}, "body": body})


def test_tasks_and_notifications_follow_the_same_rules(api: Api) -> None:
    foreign = {"type": "http", "url": "https://h.example/", "secretId": "timeball/globex/orders"}
    assert refused(api, handler=URL, notify={"onFailure": foreign}).keys() == {"notify.onFailure.secretId"}
    answer = api.call("POST", "/v1/tasks", {"target": foreign})
    assert [error["field"] for error in answer.body["errors"]] == ["target.secretId"]


def test_a_setting_gives_the_prefix_of_a_tenants_secrets(api: Api) -> None:
    api.handle = build_api(replace(api.edge, webhook_secrets="blue/hooks/"))
    target = {"type": "http", "url": URL}
    created(api, {**target, "secretId": "blue/hooks/acme/orders"})
    errors = refused(api, target={**target, "secretId": "timeball/acme/orders"})
    assert errors == {"target.secretId": "Name a secret of your tenant: its name begins with blue/hooks/acme/."}


def test_a_long_body_is_left_out_of_lists_and_of_revisions(api: Api) -> None:
    long = {"type": "http", "url": "https://example.com/orders", "body": json.dumps("x" * 1_000)}
    job = created(api, {**long}, notify={"onFailure": long})
    assert job["target"]["body"] == job["notify"]["onFailure"]["body"] == long["body"]
    (listed,) = api.call("GET", "/v1/jobs").body["items"]
    assert listed["notify"]["onFailure"]["body"] is None
    (change,) = api.call("GET", f"/v1/jobs/{job['jobId']}/revisions").body["items"]
    assert "body" not in change["after"]["target"]
    assert "body" not in change["after"]["notify"]["onFailure"]
