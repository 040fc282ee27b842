"""The first admin key: one request of CloudFormation makes it, in an encrypted parameter and nowhere else."""

import json
import logging
from typing import Any
from unittest.mock import Mock

import boto3
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws

from functions import first_key
from functions.custom_resources import when_ready
from tests.stack.conftest import Synthesized
from tests.stack.response_url import answer_to
from timeball.domain.model.tenants.key import hash_of

NAME = "/timeball/Timeball/first-key"


class _Context:
    def get_remaining_time_in_millis(self) -> int:
        return 60_000


def _answer(kind: str, tenant: str = "timeball", before: str = "timeball") -> dict[str, Any]:
    """Request the key as CloudFormation does, and return the answer."""
    event = {
        "RequestType": kind,
        "StackId": "stack",
        "RequestId": "request",
        "LogicalResourceId": "first-key",
        "ResourceProperties": {"tenant": tenant, "parameter": NAME},
        "OldResourceProperties": {"tenant": before, "parameter": NAME},
    }
    return answer_to(lambda url: first_key.handler({**event, "ResponseURL": url}, _Context()))


def test_the_function_has_the_time_to_wait_for_each_of_its_rights(stack: Synthesized) -> None:
    pauses: list[float] = []
    refusal = ClientError({"Error": {"Code": "AccessDeniedException"}}, "PutParameter")
    with pytest.raises(ClientError):
        when_ready(Mock(side_effect=refusal), pauses.append)
    assert 2 * sum(pauses) + 30 < stack.functions()["first-key-maker"]["Timeout"]


def _parameter() -> dict[str, Any]:
    ssm = boto3.client("ssm")
    kept: dict[str, Any] = ssm.get_parameter(Name=NAME, WithDecryption=True)["Parameter"]
    return kept


def test_the_first_key_is_encrypted_and_neither_answered_nor_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("TIMEBALL_TENANTS_TABLE", "tenants")
    caplog.set_level(logging.DEBUG, logger="functions")
    with mock_aws():
        dynamodb = boto3.client("dynamodb")
        dynamodb.create_table(
            TableName="tenants",
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
            AttributeDefinitions=[
                {"AttributeName": "pk", "AttributeType": "S"},
                {"AttributeName": "sk", "AttributeType": "S"},
            ],
            BillingMode="PAY_PER_REQUEST",
        )
        answer = _answer("Create")
        assert (answer["Status"], answer["PhysicalResourceId"]) == ("SUCCESS", NAME)
        made = _parameter()
        assert made["Type"] == "SecureString"
        assert made["Value"].startswith("tb_")
        rows = json.dumps(dynamodb.scan(TableName="tenants")["Items"])
        assert hash_of(made["Value"]) in rows
        assert made["Value"] not in rows + json.dumps(answer) + caplog.text

        assert {_answer(kind)["Status"] for kind in ("Update", "Delete")} == {"SUCCESS"}
        assert _parameter()["Version"] == made["Version"]  # an update and a removal leave it alone

        _answer("Update", tenant="ops")
        assert (_parameter()["Version"], _parameter()["Value"] == made["Value"]) == (made["Version"] + 1, False)
