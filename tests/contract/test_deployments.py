"""Deployments over a jobs table: what is compared and recorded, and that a failed deployment can be rolled back."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from botocore.exceptions import ClientError
from botocore.stub import Stubber
from moto import mock_aws

from functions.custom_resources import RefusedError
from functions.deployment import check, settle
from tests.contract.backends import client, new_table
from tests.contract.rows import NOW
from timeball.aws.deployments import Deployments, table_of
from timeball.aws.dynamodb.store import dynamo_store
from timeball.domain.deployment import Deployment

LARGE = {"stage": "large", "shards": "64", "list_shards": "32", "pollers": "20", "confirm": ""}
SMALL = {"stage": "small", "shards": "4", "list_shards": "32", "pollers": "6", "confirm": ""}


@pytest.fixture
def table() -> Iterator[tuple[Any, str]]:
    with mock_aws():
        dynamodb = client("dynamodb")
        yield dynamodb, new_table(dynamodb)


def _deploy(deployments: Deployments, told: Mapping[str, Any]) -> None:
    check(deployments, told)
    settle(deployments, told)


def test_a_forgotten_stage_is_refused_and_leaves_the_recorded_deployment(table: tuple[Any, str]) -> None:
    deployments = Deployments(*table)
    _deploy(deployments, LARGE)
    with pytest.raises(RefusedError, match="timeball:stage=large"):
        check(deployments, SMALL)
    assert deployments.kept() == Deployment("large", 64, 32, 20)
    _deploy(deployments, LARGE)


def test_a_confirmed_move_keeps_scanning_all_shards(table: tuple[Any, str]) -> None:
    deployments = Deployments(*table)
    _deploy(deployments, LARGE)
    _deploy(deployments, {**SMALL, "confirm": "small-4"})
    assert deployments.kept() == Deployment("small", 4, 32, 6)
    assert dynamo_store(*table).due.most_shards(4) == 64


def test_a_move_that_fails_half_way_can_be_rolled_back(table: tuple[Any, str]) -> None:
    deployments = Deployments(*table)
    _deploy(deployments, {**SMALL, "pollers": "0"})
    check(deployments, {**LARGE, "confirm": "large-64"})
    assert dynamo_store(*table).due.most_shards(4) == 64  # by now a job may have any of these shards
    check(deployments, {**SMALL, "pollers": "0"})


def test_a_table_without_a_recorded_deployment_shows_its_shards(table: tuple[Any, str]) -> None:
    deployments, due = Deployments(*table), dynamo_store(*table).due
    assert deployments.used_shards() == 0
    for shard in range(64):
        due.move_oldest_day(shard, NOW)
    assert deployments.used_shards() == 64
    with pytest.raises(RefusedError, match="64 shards or more"):
        check(deployments, SMALL)
    check(deployments, LARGE)


def test_an_existing_table_can_be_protected_repeatedly(table: tuple[Any, str]) -> None:
    dynamodb, name = table
    Deployments(*table).protect()
    Deployments(*table).protect()
    assert dynamodb.describe_table(TableName=name)["Table"]["DeletionProtectionEnabled"]


def test_a_stacks_table_is_found_by_its_logical_id_once_it_exists() -> None:
    cloudformation = client("cloudformation")
    asked = {"StackName": "arn", "LogicalResourceId": "Jobs"}
    detail = {
        "LogicalResourceId": "Jobs",
        "PhysicalResourceId": "jobs-of-may",
        "ResourceType": "AWS::DynamoDB::GlobalTable",
        "LastUpdatedTimestamp": datetime(2026, 5, 1, tzinfo=UTC),
        "ResourceStatus": "CREATE_COMPLETE",
    }
    with Stubber(cloudformation) as stubber:
        stubber.add_response("describe_stack_resource", {"StackResourceDetail": detail}, asked)
        stubber.add_client_error("describe_stack_resource", "ValidationError", "Resource Jobs does not exist")
        stubber.add_client_error("describe_stack_resource", "AccessDenied")
        assert table_of(cloudformation, "arn", "Jobs") == "jobs-of-may"
        assert table_of(cloudformation, "arn", "Jobs") is None
        with pytest.raises(ClientError, match="AccessDenied"):
            table_of(cloudformation, "arn", "Jobs")
