"""The templated targets of EventBridge Scheduler as Timeball's own. Timeball has six of its twelve types."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from timeball.importing.definitions import UnreadableError

_ARN: Final = re.compile(r"arn:[^:]+:([a-z0-9-]+):[^:]*:[^:]*:(.+)", re.ASCII)
_KNOWN: Final = frozenset(
    {
        "Arn", "RoleArn", "Input", "RetryPolicy", "DeadLetterConfig", "EcsParameters", "EventBridgeParameters",
        "KinesisParameters", "SageMakerPipelineParameters", "SqsParameters",
    }
)  # fmt: skip
_ECS_KNOWN: Final = frozenset({"TaskDefinitionArn", "LaunchType", "NetworkConfiguration", "TaskCount"})

_Target = Mapping[str, Any]


def target_fields(target: _Target) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the fields of a job that say what it calls, and notes. Raises UnreadableError."""
    arn = target.get("Arn")
    if not isinstance(arn, str):
        raise UnreadableError(
            "The target's ARN is a reference into a template; import the deployed schedule "
            "(aws scheduler get-schedule), or write the ARN."
        )
    if ":aws-sdk:" in arn:
        raise UnreadableError(
            f"The universal target {arn.partition(':::')[2]} has no counterpart; call a function that does the same."
        )
    match = _ARN.fullmatch(arn)
    service = match[1] if match else arn
    if service not in _SERVICES:
        raise UnreadableError(
            f"Timeball has no target for {service}; its targets are {', '.join(sorted(_SERVICES))} and webhooks."
        )
    made, notes = _SERVICES[service](arn, target)
    fields: dict[str, Any] = {"target": made}
    payload, payload_notes = _payload(target)
    if payload is not None:
        fields["payload"] = payload
    left = sorted(target.keys() - _KNOWN)
    notes += tuple(f"Target.{name} is not taken over." for name in left)
    return fields, (*notes, *payload_notes)


def _payload(target: _Target) -> tuple[Any, tuple[str, ...]]:
    given = target.get("Input")
    if given is None:
        return None, ()
    if not isinstance(given, str):
        raise UnreadableError("The target's Input is a reference into a template; import the deployed schedule.")
    notes: tuple[str, ...] = ()
    if "<aws.scheduler." in given:
        notes = ("Keywords such as <aws.scheduler.scheduled-time> stay as they are: each call has Timeball's facts.",)
    try:
        return json.loads(given), notes
    except ValueError:
        return given, (*notes, "The Input is no JSON, so it arrives as a JSON string, in quotes.")


def _lambda(arn: str, _target: _Target) -> tuple[dict[str, Any], tuple[str, ...]]:
    return {"type": "lambda", "functionArn": arn, "invocation": "event"}, ()


def _sqs(arn: str, target: _Target) -> tuple[dict[str, Any], tuple[str, ...]]:
    group = target.get("SqsParameters", {}).get("MessageGroupId")
    return {"type": "sqs", "queueArn": arn, **({"messageGroupId": group} if group else {})}, ()


def _sns(arn: str, _target: _Target) -> tuple[dict[str, Any], tuple[str, ...]]:
    return {"type": "sns", "topicArn": arn}, ()


def _states(arn: str, _target: _Target) -> tuple[dict[str, Any], tuple[str, ...]]:
    return {"type": "stepFunctions", "stateMachineArn": arn}, ()


def _events(arn: str, target: _Target) -> tuple[dict[str, Any], tuple[str, ...]]:
    about = target.get("EventBridgeParameters", {})
    if not {"Source", "DetailType"} <= about.keys():
        raise UnreadableError("A target that is an event bus needs EventBridgeParameters with Source and DetailType.")
    return {"type": "eventBridge", "busArn": arn, "source": about["Source"], "detailType": about["DetailType"]}, ()


def _ecs(arn: str, target: _Target) -> tuple[dict[str, Any], tuple[str, ...]]:
    about = target.get("EcsParameters", {})
    definition = about.get("TaskDefinitionArn")
    if not isinstance(definition, str):
        raise UnreadableError("A target that is a cluster of ECS needs EcsParameters with a TaskDefinitionArn.")
    if about.get("TaskCount", 1) != 1:
        raise UnreadableError(f"Each run starts one task, and TaskCount is {about['TaskCount']}; make so many jobs.")
    network = about.get("NetworkConfiguration", {})
    network = network.get("awsvpcConfiguration") or network.get("AwsvpcConfiguration") or {}
    container = definition.rsplit("/", 1)[-1].partition(":")[0]
    made = {
        "type": "ecs",
        "clusterArn": arn,
        "taskDefinitionArn": definition,
        "containerName": container,
        "launchType": about.get("LaunchType", "FARGATE"),
        "subnets": network.get("Subnets", []),
        "securityGroups": network.get("SecurityGroups", []),
        "assignPublicIp": network.get("AssignPublicIp") == "ENABLED",
    }
    notes = tuple(f"EcsParameters.{name} is not taken over." for name in sorted(about.keys() - _ECS_KNOWN))
    guess = f'containerName is a guess, "{container}": name the container that gets the payload in TIMEBALL_PAYLOAD.'
    return made, (guess, *notes)


_SERVICES: Final[Mapping[str, Callable[[str, _Target], tuple[dict[str, Any], tuple[str, ...]]]]] = {
    "ecs": _ecs,
    "events": _events,
    "lambda": _lambda,
    "sns": _sns,
    "sqs": _sqs,
    "states": _states,
}
