"""What runs call: a tagged union, of which each type is one frozen value.

The `resource` of a target is what may be down apart from all others, and the key of its circuit. Resources of AWS are
known by their ARNs, which say the account and the region too. Of a webhook's a `segment` may be down by itself.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar, Final
from urllib.parse import urlsplit

_PORTS: Final = {"http": 80, "https": 443}
_LONGEST_NAME: Final = 253
"""Of a host, in characters (RFC 1035); no longer one is ever resolved, and a key must stay short."""
_LONGEST_SEGMENT: Final = 64
"""In characters: segments that begin with the same ones share a circuit, so that a host's row stays small."""


class TargetType(StrEnum):
    """The tag of a target."""

    HTTP = "http"
    LAMBDA = "lambda"
    SQS = "sqs"
    SNS = "sns"
    STEP_FUNCTIONS = "stepFunctions"
    ECS = "ecs"
    EVENT_BRIDGE = "eventBridge"


class Invocation(StrEnum):
    """Whether a function's answer is waited for, or Lambda has it queued."""

    REQUEST_RESPONSE = "requestResponse"
    EVENT = "event"


class LaunchType(StrEnum):
    """Where ECS runs a task."""

    FARGATE = "FARGATE"
    EC2 = "EC2"
    EXTERNAL = "EXTERNAL"


@dataclass(frozen=True)
class HttpTarget:
    """A webhook: where to send the payload, how, and with which headers of the user's.

    URL, headers and `body` are templates; without a body the payload is sent. The secret of the name `secret_id` holds
    the keys that sign.
    """

    type: ClassVar[TargetType] = TargetType.HTTP
    url: str
    method: str = "POST"
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str | None = None
    secret_id: str | None = None

    @property
    def resource(self) -> str | None:
        """The origin that is called: scheme, host, and port unless the scheme implies it; None if there is no host."""
        try:
            url = urlsplit(self.url)
            name, port = url.hostname, url.port
        except ValueError:
            return None
        if not name or len(name) > _LONGEST_NAME:
            return None
        name = f"[{name}]" if ":" in name else name
        return f"{url.scheme}://{name}" if port in (None, _PORTS.get(url.scheme)) else f"{url.scheme}://{name}:{port}"

    @property
    def segment(self) -> str:
        """The first segment of the path, cut at some length; empty if there is none."""
        return urlsplit(self.url).path.lstrip("/").partition("/")[0][:_LONGEST_SEGMENT]


@dataclass(frozen=True)
class LambdaTarget:
    """A function, by its ARN, which may end in a version or an alias."""

    type: ClassVar[TargetType] = TargetType.LAMBDA
    function_arn: str
    invocation: Invocation = Invocation.REQUEST_RESPONSE

    @property
    def resource(self) -> str:
        """The function."""
        return self.function_arn


@dataclass(frozen=True)
class SqsTarget:
    """A queue. Of a FIFO queue a message's group is its job, unless it is said here."""

    type: ClassVar[TargetType] = TargetType.SQS
    queue_arn: str
    message_group_id: str | None = None

    @property
    def resource(self) -> str:
        """The queue."""
        return self.queue_arn


@dataclass(frozen=True)
class SnsTarget:
    """A topic. Of a FIFO topic a message's group is its job, unless it is said here."""

    type: ClassVar[TargetType] = TargetType.SNS
    topic_arn: str
    subject: str | None = None
    message_group_id: str | None = None

    @property
    def resource(self) -> str:
        """The topic."""
        return self.topic_arn


@dataclass(frozen=True)
class StepFunctionsTarget:
    """A state machine, of which an execution is started; with `follow` the run ends when that does."""

    type: ClassVar[TargetType] = TargetType.STEP_FUNCTIONS
    state_machine_arn: str
    follow: bool = False

    @property
    def resource(self) -> str:
        """The state machine."""
        return self.state_machine_arn


@dataclass(frozen=True)
class EcsTarget:
    """A task of ECS that is run in a cluster; the named container is told of the run by its environment.

    With `follow` the run ends when the task does.
    """

    type: ClassVar[TargetType] = TargetType.ECS
    cluster_arn: str
    task_definition_arn: str
    container_name: str
    launch_type: LaunchType = LaunchType.FARGATE
    subnets: tuple[str, ...] = ()
    security_groups: tuple[str, ...] = ()
    assign_public_ip: bool = False
    follow: bool = False

    @property
    def resource(self) -> str:
        """The task definition in its cluster."""
        return f"{self.cluster_arn} {self.task_definition_arn}"


@dataclass(frozen=True)
class EventBridgeTarget:
    """A bus, and what the event that is put there says of its origin."""

    type: ClassVar[TargetType] = TargetType.EVENT_BRIDGE
    bus_arn: str
    source: str
    detail_type: str

    @property
    def resource(self) -> str:
        """The bus."""
        return self.bus_arn


Target = HttpTarget | LambdaTarget | SqsTarget | SnsTarget | StepFunctionsTarget | EcsTarget | EventBridgeTarget

AwsTarget = LambdaTarget | SqsTarget | SnsTarget | StepFunctionsTarget | EcsTarget | EventBridgeTarget


def segment_of(target: Target) -> str | None:
    """Return which part of its resource a target calls, if parts of that have circuits of their own; else None."""
    return target.segment if isinstance(target, HttpTarget) else None


def is_followed(target: Target) -> bool:
    """Say whether a run of a target goes on until what it started has ended."""
    return isinstance(target, StepFunctionsTarget | EcsTarget) and target.follow


def arns_of(target: AwsTarget) -> Mapping[str, tuple[str, ...]]:
    """Return the ARNs that a target names, by their fields; its tenant must be allowed them all."""
    match target:
        case LambdaTarget():
            return {"functionArn": (target.function_arn,)}
        case SqsTarget():
            return {"queueArn": (target.queue_arn,)}
        case SnsTarget():
            return {"topicArn": (target.topic_arn,)}
        case StepFunctionsTarget():
            return {"stateMachineArn": (target.state_machine_arn,)}
        case EcsTarget():
            return {
                "clusterArn": (target.cluster_arn,),
                "taskDefinitionArn": (target.task_definition_arn,),
                **_network_of(target),
            }
        case EventBridgeTarget():
            return {"busArn": (target.bus_arn,)}


def _network_of(target: EcsTarget) -> Mapping[str, tuple[str, ...]]:
    """Return the ARNs of what a task's network is made of, as if all were its cluster's account's.

    Where it names subnets and no security group, AWS takes the default one of their network: `default` stands for it.
    """
    partition, _, region, account = target.cluster_arn.split(":")[1:5]
    groups = target.security_groups or (("default",) if target.subnets else ())
    of = f"arn:{partition}:ec2:{region}:{account}"
    named = {
        "subnets": tuple(f"{of}:subnet/{one}" for one in target.subnets),
        "securityGroups": tuple(f"{of}:security-group/{one}" for one in groups),
    }
    return {field: arns for field, arns in named.items() if arns}
