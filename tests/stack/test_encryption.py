"""The owner's key encrypts everything that is stored, and each role uses it only for what it reads and writes."""

import copy
import json
import re
from typing import Any, Final

import pytest

from tests.stack.conftest import KEY_ARN, ROOT, Synthesized
from tests.stack.functions import short_name

READ: Final = {"Decrypt", "DescribeKey"}
WRITE: Final = {*READ, "Encrypt", "GenerateDataKey", "ReEncryptFrom", "ReEncryptTo"}
SEND: Final = {"Decrypt", "GenerateDataKey"}
RECEIVE: Final = {"Decrypt"}

USES: Final[dict[str, dict[str, set[str]]]] = {
    "api": {"dynamodb": WRITE, "sqs": SEND},
    "scan": {"dynamodb": WRITE, "sqs": SEND},
    "execute-high": {"dynamodb": WRITE, "sqs": SEND | RECEIVE},
    "execute-normal": {"dynamodb": WRITE, "sqs": SEND | RECEIVE},
    "execute-low": {"dynamodb": WRITE, "sqs": SEND | RECEIVE},
    "watch": {"dynamodb": WRITE, "sqs": SEND | RECEIVE},
    "events": {"dynamodb": WRITE, "sqs": SEND | RECEIVE},
    "authorize": {"dynamodb": WRITE},
    "admin": {"dynamodb": WRITE},
    "console": {},
    "deployment": {"dynamodb": WRITE},
    "first-key-maker": {"dynamodb": WRITE, "ssm": {"Encrypt"}},
}

ENCRYPTED: Final[dict[str, dict[str, object]]] = {
    "AWS::Logs::LogGroup": {"KmsKeyId": KEY_ARN},
    "AWS::SQS::Queue": {"KmsMasterKeyId": KEY_ARN},
    "AWS::DynamoDB::GlobalTable": {"SSESpecification": {"SSEEnabled": True, "SSEType": "KMS"}},
    "Custom::TimeballFirstKey": {"encryption": KEY_ARN},
}


def test_every_table_queue_and_log_and_the_first_key_is_encrypted_with_the_key(keyed_stack: Synthesized) -> None:
    for kind, properties in ENCRYPTED.items():
        found = keyed_stack.resources(kind).values()
        assert found
        for resource in found:
            assert properties.items() <= resource["Properties"].items()
    for table in keyed_stack.resources("AWS::DynamoDB::GlobalTable").values():
        (replica,) = table["Properties"]["Replicas"]
        assert replica["SSESpecification"] == {"KMSMasterKeyId": KEY_ARN}


@pytest.mark.parametrize("function", USES)
def test_a_role_uses_the_key_only_for_what_it_reads_and_writes(keyed_stack: Synthesized, function: str) -> None:
    role = keyed_stack.functions()[function]["Role"]
    used = {}
    for statement in _uses_of(keyed_stack, {"Ref": role["Fn::GetAtt"][0]}):
        via = statement.pop("Condition")["StringEquals"]["kms:ViaService"]["Fn::Join"][1]
        assert via[1:] == [{"Ref": "AWS::Region"}, ".", {"Ref": "AWS::URLSuffix"}]
        used[via[0].removesuffix(".")] = {action.removeprefix("kms:") for action in _listed(statement.pop("Action"))}
        assert statement == {"Effect": "Allow", "Resource": KEY_ARN}
    assert used == USES[function]


def test_no_other_role_uses_the_key(keyed_stack: Synthesized) -> None:
    assert keyed_stack.functions().keys() == USES.keys()
    assert len(_uses_of(keyed_stack)) == sum(len(uses) for uses in USES.values())


def test_without_a_key_the_template_is_as_without_the_setting(stack: Synthesized, keyed_stack: Synthesized) -> None:
    text = json.dumps(stack.template)
    assert not re.search("kms|SSESpecification", text, re.IGNORECASE)
    keyed = copy.deepcopy(keyed_stack.template)
    for resource in keyed["Resources"].values():
        properties = resource.get("Properties", {})
        for name in ENCRYPTED.get(resource["Type"], ()):
            del properties[name]
        for replica in properties.get("Replicas", ()):
            del replica["SSESpecification"]
        if resource["Type"] == "AWS::IAM::Policy":
            document = properties["PolicyDocument"]
            document["Statement"] = [one for one in document["Statement"] if one["Resource"] != KEY_ARN]
    assert keyed == stack.template


def test_the_documented_policy_lets_the_rules_and_the_logs_of_this_stack_use_the_key(stack: Synthesized) -> None:
    page = (ROOT / "docs/reference/aws.md").read_text()
    found = re.search(r"<!-- key policy -->\n```json\n(.*?)```", page, re.DOTALL)
    assert found
    owner, events, logs = json.loads(found[1])["Statement"]
    assert owner["Principal"]["AWS"].endswith(":root")
    assert events["Principal"] == {"Service": "events.amazonaws.com"}
    assert {action.removeprefix("kms:") for action in events["Action"]} == SEND
    patterns = logs["Condition"]["ArnLike"]["kms:EncryptionContext:aws:logs:arn"]
    names = [re.escape(pattern.partition(":log-group:")[2]).replace(r"\*", ".*") for pattern in patterns]
    for log in stack.resources("AWS::Logs::LogGroup").values():
        assert any(re.fullmatch(name, log["Properties"]["LogGroupName"]) for name in names)


def test_the_requests_to_kms_are_as_many_as_the_documents_say(stack: Synthesized) -> None:
    fives_a_month = 30 * 24 * 12
    pairs, senders, receivers = set(), {("events", "Events"), ("events", "Unreadable")}, set()
    for role, policy in stack.resources("AWS::IAM::Policy").items():
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]:
            actions = {*_listed(statement["Action"])}
            for resource in _listed(statement["Resource"]):
                if any(action.startswith("dynamodb:") and "Table" not in action for action in actions):
                    pairs.add((role, short_name(resource).partition("/")[0]))
                if "sqs:SendMessage" in actions:
                    senders.add((role, short_name(resource)))
                if "sqs:ReceiveMessage" in actions:
                    receivers.add((role, short_name(resource)))
    of_queues = (2 * len(senders) + len(receivers)) * fives_a_month  # SQS's formula, for all queues together
    of_tables = len(pairs) * fives_a_month
    page = (ROOT / "docs/reference/aws.md").read_text()
    assert f"{len(pairs)} pairs of a role and a table: {round(of_tables, -3):,} | ${of_tables * 0.000003:.2f} |" in page
    assert f"{round(of_queues, -3):,}, if all are busy day and night | ${of_queues * 0.000003:.2f} |" in page


def _uses_of(stack: Synthesized, role: dict[str, str] | None = None) -> list[dict[str, Any]]:
    """Return the statements about the key, of one role or of all."""
    return [
        dict(statement)
        for policy in stack.resources("AWS::IAM::Policy").values()
        if role is None or role in policy["Properties"]["Roles"]
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]
        if statement["Resource"] == KEY_ARN
    ]


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
