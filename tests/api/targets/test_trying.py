"""Trying a target: one call, shown in full; a target that may not be called is refused before any call."""

from typing import Any

import pytest

from tests.api.client import Answer, Api
from timeball.api.targets.trying import MOST_IN_A_MINUTE
from timeball.domain.model.terms.policies import Work
from timeball.domain.model.terms.target import HttpTarget
from timeball.domain.time.instants import MINUTE_MS
from timeball.ports.target import Trial, Tried

URL = "https://example.com/hook"
SENT = {"method": "POST", "url": URL, "headers": {"webhook-id": "timeball-trial.1.m", "X-Key": None}, "body": "{}"}
TRIED = Tried(
    "failed",
    may_retry=True,
    status=503,
    body="busy",
    error="The target answered with status 503.",
    request=SENT,
    headers={"Retry-After": "5"},
    took_ms={"name": 3, "connect": 4, "tls": 9, "wait": 20, "body": 1, "total": 37},
    signatures=2,
)


def try_it(api: Api, **fields: object) -> Answer:
    return api.call("POST", "/v1/targets:test", fields)


def test_a_call_is_made_once_and_shown_in_full(api: Api) -> None:
    api.trials.comes = TRIED
    target = {"type": "http", "url": URL, "headers": {"X-Key": "abc"}, "secretId": "timeball/acme/orders"}
    answer = try_it(api, target=target, payload={"n": 1}, timeoutSeconds=5)
    assert (answer.status, answer.body) == (
        200,
        {
            "verdict": "failed",
            "mayRetry": True,
            "error": "The target answered with status 503.",
            "request": SENT,
            "response": {"status": 503, "headers": {"Retry-After": "5"}, "body": "busy"},
            "timings": {"nameMs": 3, "connectMs": 4, "tlsMs": 9, "waitMs": 20, "bodyMs": 1, "totalMs": 37},
            "signature": {"secretId": "timeball/acme/orders", "keys": 2},
        },
    )
    called = HttpTarget(URL, "POST", {"X-Key": "abc"}, None, "timeball/acme/orders")
    assert api.trials.made == [Trial("acme", Work(called, '{"n":1}'), 5)]
    assert not api.store.jobs
    assert not api.store.runs


def test_a_call_that_never_left_shows_nulls(api: Api) -> None:
    api.trials.comes = Tried("failed", may_retry=False, status=None, body="", error="No.", took_ms={"total": 0})
    body = try_it(api, handler=URL).body
    assert (body["request"], body["response"], body["signature"]) == (None, None, None)
    assert body["timings"] == {**dict.fromkeys(body["timings"]), "totalMs": 0}


def test_a_tasks_target_is_tried_by_the_tasks_id_with_its_hidden_headers(api: Api) -> None:
    target = {"type": "http", "url": URL, "headers": {"X-Key": "abc"}}
    assert api.call("PUT", "/v1/tasks/mail", {"target": target}).status == 201
    assert try_it(api, taskId="mail").status == 200
    assert api.trials.made == [Trial("acme", Work(HttpTarget(URL, "POST", {"X-Key": "abc"})), 10)]
    assert api.call("POST", "/v1/targets:test", {"taskId": "mail"}, tenant="globex", key="key_2").status == 400


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({}, "target"),
        ({"handler": URL, "taskId": "mail"}, "target"),
        ({"taskId": "mail"}, "taskId"),
        ({"handler": "https://169.254.169.254/"}, "handler"),
        ({"handler": "http://127.0.0.1/"}, "handler"),
        ({"target": {"type": "http", "url": "http://10.0.0.1/"}}, "target.url"),
        ({"target": {"type": "http", "url": URL, "secretId": "timeball/globex/x"}}, "target.secretId"),
        ({"target": {"type": "sqs", "queueArn": "arn:aws:sqs:eu-west-1:123456789012:q"}}, "target.queueArn"),
        ({"handler": URL, "timeoutSeconds": 21}, "timeoutSeconds"),
        ({"handler": URL, "timeoutSeconds": 0}, "timeoutSeconds"),
        ({"handler": "https://h.example/{{x}}"}, "handler"),
    ],
)
def test_a_target_that_may_not_be_called_is_refused_before_any_call(
    api: Api, fields: dict[str, Any], field: str
) -> None:
    answer = try_it(api, **fields)
    assert answer.status == 400
    assert answer.bad_fields() == [field]
    assert api.trials.made == []


def test_a_tenant_may_make_thirty_trials_a_minute_and_takes_none_from_another(api: Api) -> None:
    for _ in range(MOST_IN_A_MINUTE):
        assert try_it(api, handler=URL).status == 200
    refused = try_it(api, handler=URL)
    assert (refused.status, refused.body["quota"]) == (429, "trialsPerMinute")
    assert 0 < int(refused.headers["Retry-After"]) <= 60
    other = api.call("POST", "/v1/targets:test", {"handler": URL}, tenant="globex", key="key_2")
    assert other.status == 200
    api.clock.advance(MINUTE_MS)
    assert try_it(api, handler=URL).status == 200


def test_a_trial_without_a_result_is_a_503_that_says_so(api: Api) -> None:
    api.trials.comes = None
    answer = try_it(api, handler=URL)
    assert answer.status == 503
    assert "may have been made" in answer.body["detail"]
    assert len(api.trials.made) == 1


@pytest.mark.parametrize("role", ["viewer", "submitter", "worker"])
def test_a_role_that_may_not_operate_tries_nothing(api: Api, role: str) -> None:
    assert api.call("POST", "/v1/targets:test", {"handler": URL}, role=role).status == 403
    assert api.trials.made == []
