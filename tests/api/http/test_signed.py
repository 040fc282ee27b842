"""AWS callers that sign their requests: each gets the tenant and role that the setting maps it to; others get a 401."""

from dataclasses import replace
from typing import Any

import pytest

from tests.api.client import Answer, Api, event_of
from timeball.api.app import build_api
from timeball.domain.model.tenants.actor import IamCaller, parse_callers, principal_of
from timeball.domain.model.tenants.key import Role

BILLING = "123456789012/role/billing"
ARN = "arn:aws:sts::123456789012:assumed-role/billing/i-0123"


@pytest.fixture
def signed(api: Api) -> Api:
    """Return an API on which the IAM role `billing` of an account may submit in the tenant acme."""
    callers = parse_callers(f"{BILLING}=acme:submitter, 123456789012/user/ann=globex:viewer")
    api.handle = build_api(replace(api.edge, iam_callers=callers))
    return api


def ask(api: Api, method: str, path: str, arn: str = ARN, body: str | None = None) -> Answer:
    event: dict[str, Any] = event_of(method, f"/iam{path}", None, {"Authorization": "AWS4-HMAC-SHA256 ..."}, {})
    event["requestContext"]["authorizer"] = {"iam": {"userArn": arn, "accountId": "123456789012"}}
    return api.answer(event if body is None else {**event, "body": body})


def test_a_signed_request_has_the_tenant_and_the_role_that_its_caller_is_mapped_to(signed: Api) -> None:
    made = ask(signed, "POST", "/v1/jobs", body='{"handler": "https://example.com", "everySeconds": 60}')
    assert made.status == 201, made.text
    path = f"/v1/jobs/{made.body['jobId']}"
    assert made.body["createdBy"] == f"iam/{BILLING}"
    assert signed.call("GET", path).status == 200
    assert ask(signed, "POST", "/v1/tasks", body='{"handler": "https://example.com"}').status == 403
    assert ask(signed, "GET", path, "arn:aws:iam::123456789012:user/team/ann").status == 404


def test_a_signed_request_counts_towards_the_quotas_of_its_tenant(signed: Api) -> None:
    signed.call("PATCH", "/v1/admin/tenants/acme", {"quotas": {"submitsPerSecond": 1}})
    body = '{"handler": "https://example.com", "everySeconds": 60}'
    assert [ask(signed, "POST", "/v1/jobs", body=body).status for _ in range(2)] == [201, 429]


@pytest.mark.parametrize(
    "arn",
    [
        "",
        "arn:aws:sts::123456789012:assumed-role/other/i-0123",
        "arn:aws:sts::210987654321:assumed-role/billing/i-0123",
        "arn:aws:iam::123456789012:user/billing",
        "arn:aws:iam::123456789012:root",
        "arn:aws:sts::123456789012:federated-user/billing",
    ],
)
def test_a_caller_that_is_not_mapped_is_refused(signed: Api, arn: str) -> None:
    for path in ("/v1/jobs", "/v1/nothing"):
        answer = ask(signed, "GET", path, arn)
        assert (answer.status, answer.body["type"]) == (403, "urn:timeball:problem:forbidden")
        assert "timeball:iam_callers" in answer.body["detail"]


def test_the_signed_path_alone_does_not_authenticate(signed: Api) -> None:
    for path in ("/iam/v1/jobs", "/v1/jobs"):
        event = event_of("GET", path, None, {"Authorization": "AWS4-HMAC-SHA256 ...", "iam": ARN}, {})
        assert signed.answer(event).status == 401


def test_a_setting_maps_iam_roles_and_users_to_tenants_and_roles() -> None:
    assert parse_callers("") == {}
    assert parse_callers(f" {BILLING}=acme:worker ,") == {BILLING: IamCaller("acme", Role.WORKER)}


@pytest.mark.parametrize(
    "text",
    [
        "billing=acme:viewer",
        f"{BILLING}=acme",
        f"{BILLING}=acme:admin",
        f"{BILLING}=acme:boss",
        f"{BILLING}=a_b:viewer",
        f"{BILLING}=acme:viewer,{BILLING}=globex:viewer",
        "123456789012/group/billing=acme:viewer",
    ],
)
def test_an_invalid_setting_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="must"):
        parse_callers(text)


def test_an_arn_is_reduced_to_its_principal_without_session_and_path() -> None:
    assert principal_of(ARN) == BILLING
    assert principal_of("arn:aws-cn:iam::123456789012:user/a/b/ann") == "123456789012/user/ann"
