"""No refactoring replaces a resource that holds data, or that others know by its name or address.

CloudFormation knows a resource by its logical id, which the CDK makes from the names of constructs. Under another id,
or with another value of a property that AWS cannot change, the resource is made anew and the old one is deleted, or
left behind with its data. `stateful.json` has both as they stand. Change it only together with a line in CHANGELOG.md
that says how a deployment keeps its data: docs/how-to/upgrade.md.
"""

import json
from pathlib import Path
from typing import Any, Final

import pytest

from tests.stack.conftest import Synthesized

KEPT: Final = Path(__file__).with_name("stateful.json")

LASTING: Final = {
    "AWS::ApiGatewayV2::Api": ("ProtocolType",),
    "AWS::DynamoDB::GlobalTable": ("TableName", "KeySchema", "LocalSecondaryIndexes"),
    "AWS::EC2::EIP": (),
    "AWS::Events::EventBus": ("Name",),
    "AWS::Logs::LogGroup": ("LogGroupName",),
    "AWS::S3::Bucket": ("BucketName",),
    "AWS::SNS::Topic": ("TopicName",),
    "AWS::SQS::Queue": ("QueueName", "FifoQueue"),
    "AWS::StepFunctions::StateMachine": ("StateMachineName", "StateMachineType"),
    "Custom::TimeballFirstKey": ("parameter",),
}
"""The kinds of resources that hold data or are known outside the stack, and their properties that AWS cannot change."""

WITHOUT_DATA: Final = {
    "AWS::ApiGatewayV2::Authorizer",
    "AWS::ApiGatewayV2::Integration",
    "AWS::ApiGatewayV2::Route",
    "AWS::ApiGatewayV2::Stage",
    "AWS::CDK::Metadata",
    "AWS::Chatbot::SlackChannelConfiguration",
    "AWS::CloudWatch::Alarm",
    "AWS::CloudWatch::CompositeAlarm",
    "AWS::CloudWatch::Dashboard",
    "AWS::CodeDeploy::Application",
    "AWS::CodeDeploy::DeploymentGroup",
    "AWS::EC2::InternetGateway",
    "AWS::EC2::NatGateway",
    "AWS::EC2::Route",
    "AWS::EC2::RouteTable",
    "AWS::EC2::SecurityGroup",
    "AWS::EC2::Subnet",
    "AWS::EC2::SubnetRouteTableAssociation",
    "AWS::EC2::VPC",
    "AWS::EC2::VPCEndpoint",
    "AWS::EC2::VPCGatewayAttachment",
    "AWS::Events::Rule",
    "AWS::IAM::Policy",
    "AWS::IAM::Role",
    "AWS::Lambda::Alias",
    "AWS::Lambda::EventInvokeConfig",
    "AWS::Lambda::EventSourceMapping",
    "AWS::Lambda::Function",
    "AWS::Lambda::LayerVersion",
    "AWS::Lambda::Permission",
    "AWS::Lambda::Version",
    "AWS::S3::BucketPolicy",
    "AWS::SNS::Subscription",
    "AWS::SNS::TopicPolicy",
    "AWS::SQS::QueuePolicy",
    "Custom::TimeballCanary",
    "Custom::TimeballCheck",
    "Custom::TimeballSettled",
}
"""The kinds of resources that a deployment may make anew."""

STACKS: Final = {
    "small": "stack",
    "large": "large_stack",
    "with alarms": "watched_stack",
    "with a key": "keyed_stack",
    "with fixed addresses": "fixed_stack",
    "with a gradual rollout": "gradual_stack",
    "with an archive": "archive_stack",
}


def lasting_of(stack: Synthesized) -> dict[str, dict[str, Any]]:
    """Return what must stay of each lasting resource of a template, by its logical id."""
    found = {}
    for name, body in stack.template["Resources"].items():
        if body["Type"] in LASTING:
            fixed = {key: body["Properties"][key] for key in LASTING[body["Type"]] if key in body["Properties"]}
            policies = [body.get("DeletionPolicy", "Delete"), body.get("UpdateReplacePolicy", "Delete")]
            found[name] = {"type": body["Type"], "policies": policies, **fixed}
    return dict(sorted(found.items()))


@pytest.mark.parametrize("name", STACKS)
def test_no_lasting_resource_has_another_logical_id_name_key_or_policy(
    name: str, request: pytest.FixtureRequest
) -> None:
    every = json.loads(KEPT.read_text())
    expected = {**every["all"], **every.get(name, {})}
    assert lasting_of(request.getfixturevalue(STACKS[name])) == dict(sorted(expected.items()))


def test_tables_and_the_archive_outlive_their_stack_and_nothing_else_does() -> None:
    every = json.loads(KEPT.read_text())
    kept = {
        resource["type"]: resource["policies"]
        for named in every.values()
        for resource in named.values()
        if resource["policies"] != ["Delete", "Delete"]
    }
    assert kept == {
        "AWS::DynamoDB::GlobalTable": ["RetainExceptOnCreate", "Retain"],
        "AWS::S3::Bucket": ["RetainExceptOnCreate", "Retain"],
    }


@pytest.mark.parametrize("name", STACKS)
def test_each_kind_of_resource_is_known_to_last_or_not(name: str, request: pytest.FixtureRequest) -> None:
    stack: Synthesized = request.getfixturevalue(STACKS[name])
    kinds = {body["Type"] for body in stack.template["Resources"].values()}
    assert kinds <= LASTING.keys() | WITHOUT_DATA
