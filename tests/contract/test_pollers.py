"""Provisioned pollers: the fake and Lambda's own mappings agree."""

import io
import json
import zipfile
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from moto import mock_aws

from timeball.aws.executors import MappingPollers
from timeball.domain.sharing.executors import PollerBounds, Provisioned
from timeball.ports.executors import Pollers
from timeball.runtime.settings import parse_provisioned, provisioned_text
from timeball.testing.recorders import KeptPollers

REGION = "eu-west-1"
LEAST = {"high": 11, "low": 2}
MOST = 45


@pytest.fixture(params=["memory", "moto"])
def pollers(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Pollers]:
    if request.param == "memory":
        yield KeptPollers(dict(LEAST))
        return
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    with mock_aws():
        client, mappings = boto3.client("lambda", region_name=REGION), _mappings()
        provisioned = {name: Provisioned(uuid, MOST, PollerBounds(LEAST[name], 30)) for name, uuid in mappings.items()}
        yield MappingPollers(lambda: client, provisioned)
        for uuid in mappings.values():
            kept = client.get_event_source_mapping(UUID=uuid)
            assert kept["ProvisionedPollerConfig"]["MaximumPollers"] == MOST
            assert kept["BatchSize"] == 10


def _mappings() -> dict[str, str]:
    make: Any = boto3.client
    roles, queues, client = (make(service, region_name=REGION) for service in ("iam", "sqs", "lambda"))
    trusted = json.dumps({"Version": "2012-10-17", "Statement": []})
    role = roles.create_role(RoleName="r", AssumeRolePolicyDocument=trusted)["Role"]["Arn"]
    code = io.BytesIO()
    with zipfile.ZipFile(code, "w") as archive:
        archive.writestr("f.py", "")
    function = {"Runtime": "python3.13", "Role": role, "Handler": "f.f", "Code": {"ZipFile": code.getvalue()}}
    client.create_function(FunctionName="f", **function)
    return {
        name: _mapping(client, queues.create_queue(QueueName=name)["QueueUrl"], least) for name, least in LEAST.items()
    }


def _mapping(client: Any, queue: str, least: int) -> str:
    arn = f"arn:aws:sqs:{REGION}:123456789012:{queue.rpartition('/')[2]}"
    config = {"MinimumPollers": least, "MaximumPollers": MOST}
    mapping = client.create_event_source_mapping(
        FunctionName="f", EventSourceArn=arn, BatchSize=10, ProvisionedPollerConfig=config
    )
    return str(mapping["UUID"])


def test_the_number_of_provisioned_pollers_is_read(pollers: Pollers) -> None:
    assert pollers.ready() == LEAST


def test_only_the_pollers_of_one_priority_are_raised_and_lowered(pollers: Pollers) -> None:
    pollers.make_ready("high", 30)
    assert pollers.ready() == {"high": 30, "low": 2}
    pollers.make_ready("high", 11)
    assert pollers.ready() == LEAST


def test_the_scan_reads_the_mappings_that_the_stack_has_written() -> None:
    written = provisioned_text({"high": ("m-1", 11, 45, 24), "low": ("m-2", 2, 3, 2)})
    assert parse_provisioned(written) == {
        "high": Provisioned("m-1", 45, PollerBounds(11, 24)),
        "low": Provisioned("m-2", 3, PollerBounds(2, 2)),
    }
    assert parse_provisioned("") == {}
