"""The permissions of executors in AWS: only targets that the setting lists, each by the one action that calls it.

Executors serve all tenants; the executor and the API check which tenant may call which target.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as event_targets
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra.acknowledged import acknowledge


@dataclass(frozen=True)
class _Right:
    """An action, and the part that an ARN must contain to be a resource of it."""

    action: str
    part: str
    conditions: Mapping[str, Mapping[str, object]] = field(default_factory=dict)


_CLUSTER: Final = ":cluster/"
_MACHINE: Final = ":stateMachine:"
_DEFINITION: Final = ":task-definition/"
_FOLLOWED: Final = '*"callbackToken":"tba_*'
"""A pattern for the input of an execution that a run follows."""
_OF_A_PATTERN: Final = 10
"""The ARNs in one rule's pattern: a pattern may have 2,048 characters, and an ARN has some 160."""
_RIGHTS: Final = (
    _Right("lambda:InvokeFunction", ":lambda:"),
    _Right("sqs:SendMessage", ":sqs:"),
    _Right("sns:Publish", ":sns:"),
    _Right("states:StartExecution", _MACHINE),
    _Right("events:PutEvents", ":events:"),
    _Right("iam:PassRole", ":iam:", {"StringEquals": {"iam:PassedToService": "ecs-tasks.amazonaws.com"}}),
)


def allow_targets(function: lambda_.Function, targets: Sequence[str]) -> None:
    """Allow a function to call the targets of a list of ARNs, separated by commas."""
    arns = _read(targets)
    for right in _rights(arns):
        named = [arn for arn in arns if right.part in arn]
        if named:
            statement = iam.PolicyStatement(
                actions=[right.action], resources=named, conditions={**right.conditions} or None
            )
            function.add_to_role_policy(statement)
            for arn in named:
                if "*" in arn:
                    why = "The operator has allowed it as a target, by the setting timeball:targets"
                    acknowledge(function.node.scope or function, f"IAM5[Resource::{arn}]", why)


def allow_following(function: lambda_.Function, targets: Sequence[str]) -> None:
    """Allow a function to poll and stop the executions that a list of ARNs allows."""
    arns = _read(targets)
    machines = [f"{arn.replace(_MACHINE, ':execution:')}:*" for arn in arns if _MACHINE in arn]
    tasks = [f"{arn.replace(_CLUSTER, ':task/')}/*" for arn in arns if _CLUSTER in arn]
    for actions, named in (
        (["states:DescribeExecution", "states:StopExecution"], machines),
        (["ecs:DescribeTasks", "ecs:StopTask"], tasks),
    ):
        if named:
            function.add_to_role_policy(iam.PolicyStatement(actions=actions, resources=named))
            for arn in named:
                why = "Executions are named by runs; all belong to targets in the setting timeball:targets"
                acknowledge(function.node.scope or function, f"IAM5[Resource::{arn}]", why)


def subscribe_to_ends(scope: Construct, queue: sqs.IQueue, targets: Sequence[str]) -> None:
    """Notify a queue when executions end that Timeball has started of the targets in a list of ARNs.

    For state machines only executions that runs follow: others may start a thousand a second, and the queue is that of
    events.
    """
    arns = _read(targets)
    machines = [arn for arn in arns if _MACHINE in arn]
    clusters = [arn for arn in arns if _CLUSTER in arn]
    over = {"status": ["SUCCEEDED", "FAILED", "TIMED_OUT", "ABORTED"], "input": [{"wildcard": _FOLLOWED}]}
    stopped = {"lastStatus": ["STOPPED"], "startedBy": [{"prefix": "timeball/"}]}
    for name, source, kind, detail, begins, named in (
        ("Executions", "aws.states", "Step Functions Execution Status Change", over, "stateMachineArn", machines),
        ("Tasks", "aws.ecs", "ECS Task State Change", stopped, "clusterArn", clusters),
    ):
        for number, prefixes in enumerate(_prefixes(named)):
            of_these = {**detail, begins: [{"prefix": prefix} for prefix in prefixes]}
            pattern = events.EventPattern(source=[source], detail_type=[kind], detail=of_these)
            rule = f"{name}{number or ''}"
            events.Rule(scope, rule, event_pattern=pattern, targets=[event_targets.SqsQueue(queue)])


def _read(targets: Sequence[str]) -> list[str]:
    """Return the ARNs that a list allows, without duplicates and in the form that IAM uses."""
    return [*dict.fromkeys(map(_known_to_iam, targets))]


def _known_to_iam(arn: str) -> str:
    """Return the ARN on which AWS authorizes a call of a listed target.

    A version or an alias of a state machine is authorized as the state machine, which also names executions and events;
    a task definition without a revision as its newest one.
    """
    if _MACHINE in arn:
        return ":".join(arn.split(":")[:7])
    if _DEFINITION in arn and not arn.endswith("*") and ":" not in arn.partition(_DEFINITION)[2]:
        return f"{arn}:*"
    return arn


def _prefixes(arns: Sequence[str]) -> Iterator[list[str]]:
    """Yield the prefixes of ARNs before a wildcard, as many at a time as one pattern can have."""
    prefixes = [*dict.fromkeys(re.split(r"[*?]", arn)[0] for arn in arns)]
    for at in range(0, len(prefixes), _OF_A_PATTERN):
        yield prefixes[at : at + _OF_A_PATTERN]


def _rights(arns: Sequence[str]) -> Iterator[_Right]:
    yield from _RIGHTS
    clusters = [arn for arn in arns if _CLUSTER in arn]
    if clusters:  # a task may run only in a listed cluster
        yield _Right("ecs:RunTask", _DEFINITION, {"ArnLike": {"ecs:cluster": clusters}})
