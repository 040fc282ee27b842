"""The rights of each function: exactly those that it uses."""

import json
import re
from typing import Any

import pytest

from tests.stack.conftest import ROOT, Synthesized
from tests.stack.functions import NAMED_BY_CLOUDFORMATION, NAMED_BY_USERS, short_name

ROWS = {"BatchGetItem", "PartiQLInsert", "PartiQLUpdate", "PutItem", "UpdateItem"}

FIND = {"Query"}

KEEP = {"BatchGetItem", "PutItem", "UpdateItem"}

CONSUME = {"ChangeMessageVisibility", "DeleteMessage", "GetQueueAttributes", "ReceiveMessage"}

INVOKE = {"InvokeFunction"}

SEND = {"SendMessage"}

SENDER = {"High": SEND, "Normal": SEND, "Low": SEND, "Watch": SEND}

LOOK = {"GetQueueAttributes"}

LISTED = {"Jobs/index/listing": FIND}

KEEPER = {**SENDER, "Unreadable": SEND}

WEIGH = {"Tenants": {"BatchGetItem"}}

SIGN = {"secrets": {"GetSecretValue"}}


@pytest.mark.parametrize(
    ("function", "allowed"),
    [
        (
            "api",
            {
                "Jobs": ROWS | FIND,
                "Jobs/index/listing": FIND,
                "Jobs/index/by_state": FIND,
                "Jobs/index/by_task": FIND,
                "Jobs/index/due": FIND,
                "Jobs/index/notable": FIND,
                **dict.fromkeys(SENDER, SEND | LOOK),
                "Watch": SEND,
                "BusEvents": {"ListRules", "PutEvents"},
                "execute-low": {"InvokeFunction"},
                "rules": {"DeleteRule", "ListRules", "PutRule", "PutTargets", "RemoveTargets"},
            },
        ),
        (
            "scan",
            {
                "Jobs": ROWS | FIND,
                "Jobs/index/due": FIND,
                "Jobs/index/listing": FIND,
                "Jobs/index/by_state": FIND,
                "Jobs/index/by_task": FIND,
                **SENDER,
                "Tenants": {"BatchGetItem"},
            },
        ),
        (
            "execute-high",
            {"Jobs": ROWS | FIND, **LISTED, **KEEPER, **WEIGH, "High": CONSUME | SEND, "execute-high": INVOKE, **SIGN},
        ),
        (
            "execute-normal",
            {
                "Jobs": ROWS | FIND,
                **LISTED,
                **KEEPER,
                **WEIGH,
                **dict.fromkeys(["High", "Normal"], CONSUME | SEND),
                "execute-normal": INVOKE,
                **SIGN,
            },
        ),
        (
            "execute-low",
            {
                "Jobs": ROWS | FIND,
                **LISTED,
                **KEEPER,
                **WEIGH,
                **dict.fromkeys(["High", "Normal", "Low"], CONSUME | SEND),
                "execute-low": INVOKE,
                **SIGN,
            },
        ),
        (
            "watch",
            {
                "Jobs": ROWS | FIND,
                "Jobs/index/listing": FIND,
                **dict.fromkeys(SENDER, SEND | LOOK),
                "Unreadable": SEND,
                "Watch": CONSUME | SEND,
            },
        ),
        (
            "events",
            {
                "Jobs": ROWS | FIND,
                "Jobs/index/listing": FIND,
                **KEEPER,
                "Events": CONSUME | {"SendMessage"},
                "rules": {"DeleteRule", "RemoveTargets"},
            },
        ),
        ("authorize", {"Tenants": {"BatchGetItem", "UpdateItem"}}),
        (
            "admin",
            {
                "Jobs": KEEP | FIND | {"PartiQLInsert"},
                "Jobs/index/listing": FIND,
                "Jobs/index/by_state": FIND,
                "Jobs/index/due": FIND,
                "Jobs/index/notable": FIND,
                "Tenants": KEEP | FIND,
            },
        ),
        (
            "deployment",
            {
                "Jobs": KEEP | {"UpdateTable"},
                "Tenants": {"UpdateTable"},
                "stack": {"DescribeStackResource"},
                "account": {"GetAccountSettings"},
            },
        ),
        ("console", {}),
        ("first-key-maker", {"Tenants": {"PutItem"}, "first key": {"PutParameter"}}),
    ],
)
def test_a_function_has_exactly_the_rights_that_it_uses(
    function: str, allowed: dict[str, set[str]], stack: Synthesized
) -> None:
    role = stack.functions()[function]["Role"]["Fn::GetAtt"][0]
    granted: dict[str, set[str]] = {}
    for policy in stack.resources("AWS::IAM::Policy").values():
        if {"Ref": role} in policy["Properties"]["Roles"]:
            for statement in policy["Properties"]["PolicyDocument"]["Statement"]:
                for resource in _listed(statement["Resource"]):
                    actions = {action.split(":")[1] for action in _listed(statement["Action"])}
                    granted.setdefault(short_name(resource), set()).update(actions)
    assert granted == {**allowed, f"{function.replace('-', '')}log": {"CreateLogStream", "PutLogEvents"}}
    assert "ManagedPolicyArns" not in stack.template["Resources"][role]["Properties"]


def test_the_rights_to_rows_are_those_that_the_code_uses() -> None:
    source = "".join(
        (ROOT / f"layers/core/python/timeball/aws/dynamodb/table/{name}.py").read_text()
        for name in ("queries", "writes")
    )
    asked = {name.title().replace("_", "") for name in re.findall(r"_client\.([a-z_]+)\(", source)}
    statements = {f"PartiQL{verb.title()}" for verb in re.findall(r"f['\"](INSERT|UPDATE|DELETE|SELECT) ", source)}
    assert "BatchExecuteStatement" in asked  # which AWS allows by the rights to its statements
    assert asked - {"BatchExecuteStatement"} | statements == ROWS | FIND


def test_policies_have_wildcards_only_for_names_that_users_choose(stack: Synthesized) -> None:
    for policy in stack.resources("AWS::IAM::Policy").values():
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]:
            resources = json.dumps([statement["Action"], statement["Resource"]])
            for named in NAMED_BY_USERS:
                resources = resources.replace(named, "")
            resources = NAMED_BY_CLOUDFORMATION.sub("", resources)
            resources = resources.replace('["lambda:GetAccountSettings", "*"]', "")  # only the account has it
            assert "*" not in resources


def test_only_the_rules_of_the_bus_may_send_events_and_only_to_their_queues(stack: Synthesized) -> None:
    sending = [
        (short_name(statement["Resource"]), statement)
        for policy in stack.resources("AWS::SQS::QueuePolicy").values()
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]
        if statement["Effect"] == "Allow"
    ]
    assert {name for name, _ in sending} == {"Events", "Unreadable"}
    for _, statement in sending:
        assert (statement["Action"], statement["Principal"]) == ("sqs:SendMessage", {"Service": "events.amazonaws.com"})
        assert short_name(statement["Condition"]["ArnLike"]["aws:SourceArn"]) == "rules"


def test_rights_that_only_the_emulator_needs_are_not_deployed_to_an_account(
    stack: Synthesized, local_stack: Synthesized
) -> None:
    assert "SendMessageBatch" in json.dumps(local_stack.template)
    assert "SendMessageBatch" not in json.dumps(stack.template)
    assert "BatchExecuteStatement" not in json.dumps(stack.template)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def test_a_rule_sends_only_to_the_queue_of_events(stack: Synthesized) -> None:
    # The ARN of a rule does not reveal its target: without a condition a rule could forward all tenants' events.
    found = [
        statement
        for policy in stack.resources("AWS::IAM::Policy").values()
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]
        if "events:PutTargets" in _listed(statement["Action"])
    ]
    (statement,) = found
    assert statement["Action"] == "events:PutTargets"
    condition = statement["Condition"]
    assert condition["Null"] == {"events:TargetArn": "false"}
    assert short_name(condition["ForAllValues:ArnEquals"]["events:TargetArn"]) == "Events"


def test_the_authorizer_writes_the_rows_of_sessions_alone(stack: Synthesized) -> None:
    role = stack.functions()["authorize"]["Role"]["Fn::GetAtt"][0]
    (written,) = [
        statement
        for policy in stack.resources("AWS::IAM::Policy").values()
        if {"Ref": role} in policy["Properties"]["Roles"]
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]
        if "dynamodb:UpdateItem" in _listed(statement["Action"])
    ]
    assert written["Action"] == "dynamodb:UpdateItem"
    assert written["Condition"] == {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["SESSIONS#*"]}}
