"""The steps around a deployment: a check before every change, and a record after everything has succeeded.

AWS documents how CloudFormation orders and rolls back; the embedded AWS keeps the order.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from functions.custom_resources import RefusedError, answered, when_ready
from tests.stack.conftest import ROOT, Synthesized
from tests.stack.response_url import answer_to

DENIED = ClientError({"Error": {"Code": "AccessDeniedException"}}, "PutItem")
WRONG = ClientError({"Error": {"Code": "ValidationException"}}, "PutItem")


def _one(stack: Synthesized, kind: str) -> tuple[str, dict[str, Any]]:
    ((name, body),) = stack.resources(kind).items()
    return name, body


def _waits_for(stack: Synthesized, name: str) -> set[str]:
    """Return the resources that a resource waits for: those that it depends on or refers to."""
    body = stack.template["Resources"][name]
    depends = body.get("DependsOn", [])
    return {*([depends] if isinstance(depends, str) else depends), *_references(body)} & {*stack.template["Resources"]}


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if "Ref" in value:
            yield value["Ref"]
        if "Fn::GetAtt" in value:
            yield value["Fn::GetAtt"][0]
        yield from re.findall(r"\$\{(\w+)", json.dumps(value.get("Fn::Sub", "")))
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _references(part)


def test_only_the_check_itself_changes_before_the_check(
    stack: Synthesized, large_stack: Synthesized, attached_stack: Synthesized
) -> None:
    for one in (stack, large_stack, attached_stack):
        check, _ = _one(one, "Custom::TimeballCheck")
        before, found = set[str](), {check}
        while found:
            before |= found
            found = {other for name in found for other in _waits_for(one, name)} - before
        kinds = {one.template["Resources"][name]["Type"] for name in before}
        assert kinds == {
            "Custom::TimeballCheck",
            "AWS::IAM::Policy",
            "AWS::IAM::Role",
            "AWS::Lambda::Function",
            "AWS::Lambda::LayerVersion",
            "AWS::Logs::LogGroup",
        }
        assert {name for name in one.template["Resources"] if check not in _waits_for(one, name)} == before


def test_a_deployment_is_recorded_after_everything_else_has_succeeded(stack: Synthesized) -> None:
    settled, _ = _one(stack, "Custom::TimeballSettled")
    layer_and_check = {name for name in stack.template["Resources"] if name.startswith(("Dependencies", "Deployment"))}
    assert _waits_for(stack, settled) | layer_and_check == set(stack.template["Resources"])


def test_the_stage_is_in_the_file_that_a_plain_deployment_reads() -> None:
    assert json.loads((ROOT / "cdk.json").read_text())["context"]["timeball:stage"] == "small"


def test_data_is_deleted_only_by_the_failed_deployment_that_created_it(stack: Synthesized) -> None:
    kept = [*stack.resources("AWS::DynamoDB::GlobalTable").values()]
    assert len(kept) == 2
    for body in kept:
        assert (body["DeletionPolicy"], body["UpdateReplacePolicy"]) == ("RetainExceptOnCreate", "Retain")


def test_tables_are_protected_at_the_end_and_not_at_their_creation(
    stack: Synthesized, local_stack: Synthesized, attached_stack: Synthesized
) -> None:
    tables = stack.resources("AWS::DynamoDB::GlobalTable")
    assert "DeletionProtectionEnabled" not in json.dumps(tables)
    _, settled = _one(stack, "Custom::TimeballSettled")
    assert sorted(one["Ref"] for one in settled["Properties"]["protected"]) == sorted(tables)
    for other in (local_stack, attached_stack):
        assert _one(other, "Custom::TimeballSettled")[1]["Properties"]["protected"] == []


def _answer(act: Any) -> dict[str, Any]:
    event = {"StackId": "stack", "RequestId": "request", "LogicalResourceId": "check"}
    return answer_to(lambda url: answered({**event, "ResponseURL": url}, "check", "It was not done", act))


def _refuse() -> None:
    raise RefusedError("Nothing was changed. Say so.")


def _fail() -> None:
    raise ValueError("tbk_secret")


@pytest.mark.parametrize(
    ("act", "status", "reason"),
    [
        (lambda: None, "SUCCESS", None),
        (_refuse, "FAILED", "Nothing was changed. Say so."),
        (_fail, "FAILED", "It was not done: ValueError."),  # the text of the error is left out
    ],
)
def test_cloudformation_gets_an_answer_in_every_case(act: Any, status: str, reason: str | None) -> None:
    answer = _answer(act)
    assert (answer["Status"], answer.get("Reason")) == (status, reason)
    assert answer["PhysicalResourceId"] == "check"


def test_a_new_role_is_waited_for_until_its_rights_hold() -> None:
    answers: list[Any] = [DENIED, DENIED, DENIED, "made"]
    waited: list[float] = []

    def act() -> str:
        answer = answers.pop(0)
        if isinstance(answer, ClientError):
            raise answer
        return str(answer)

    assert when_ready(act, waited.append) == "made"
    assert waited == [1, 2, 4]


@pytest.mark.parametrize(("error", "pauses"), [(DENIED, 31), (WRONG, 0)])
def test_a_wrong_request_fails_at_once_and_a_missing_right_after_half_a_minute(error: ClientError, pauses: int) -> None:
    waited: list[float] = []

    def act() -> None:
        raise error

    with pytest.raises(ClientError):
        when_ready(act, waited.append)
    assert sum(waited) == pauses
