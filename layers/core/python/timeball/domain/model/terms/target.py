"""The targets that runs call, as a tagged union with one frozen value for each type; and how a job uses a task.

The `resource` of a target is what may be down independently of all others; it is the key of a circuit. Resources of AWS
are identified by their ARNs, which also contain the account and the region. A `segment` of a webhook may be down by
itself.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar, Final
from urllib.parse import urlsplit

_PORTS: Final = {"http": 80, "https": 443}
_LONGEST_NAME: Final = 253
"""The longest name of a host, in characters (RFC 1035). Longer names never resolve, and keys must stay short."""
_LONGEST_SEGMENT: Final = 64
"""In characters. Segments with the same beginning share a circuit, so that a host's row stays small."""


class TargetType(StrEnum):
    """The tag of a target."""

    HTTP = "http"
    LAMBDA = "lambda"
    SQS = "sqs"
    SNS = "sns"
    STEP_FUNCTIONS = "stepFunctions"
    ECS = "ecs"
    EVENT_BRIDGE = "eventBridge"


class InvocationType(StrEnum):
    """Whether the caller waits for a function's answer, or Lambda queues the call."""

    REQUEST_RESPONSE = "requestResponse"
    EVENT = "event"


class LaunchType(StrEnum):
    """Where ECS runs a task."""

    FARGATE = "FARGATE"
    EC2 = "EC2"
    EXTERNAL = "EXTERNAL"


@dataclass(frozen=True)
class HttpTarget:
    """A webhook. URL, headers and body are templates."""

    type: ClassVar[TargetType] = TargetType.HTTP
    url: str
    """The URL to call."""
    method: str = "POST"
    """The HTTP method."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """The user's headers, by name."""
    body: str | None = None
    """The body; None: the payload is sent."""
    secret_id: str | None = None
    """The name of the secret that holds the signing keys; None: the call is not signed."""

    @property
    def resource(self) -> str | None:
        """The called origin: scheme, host, and port unless the scheme implies it; None if the URL has no host."""
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
        """The first segment of the path, cut to 64 characters; empty if there is none."""
        return urlsplit(self.url).path.lstrip("/").partition("/")[0][:_LONGEST_SEGMENT]


@dataclass(frozen=True)
class LambdaTarget:
    """A function of AWS Lambda."""

    type: ClassVar[TargetType] = TargetType.LAMBDA
    function_arn: str
    """Its ARN, which may end in a version or an alias."""
    invocation: InvocationType = InvocationType.REQUEST_RESPONSE
    """Whether the call waits for the answer."""

    @property
    def resource(self) -> str:
        """The function."""
        return self.function_arn


@dataclass(frozen=True)
class SqsTarget:
    """A queue of SQS."""

    type: ClassVar[TargetType] = TargetType.SQS
    queue_arn: str
    """Its ARN."""
    message_group_id: str | None = None
    """The message group in a FIFO queue; None: the job is the group."""

    @property
    def resource(self) -> str:
        """The queue."""
        return self.queue_arn


@dataclass(frozen=True)
class SnsTarget:
    """A topic of SNS."""

    type: ClassVar[TargetType] = TargetType.SNS
    topic_arn: str
    """Its ARN."""
    subject: str | None = None
    """The subject of the message; None: no subject."""
    message_group_id: str | None = None
    """The message group in a FIFO topic; None: the job is the group."""

    @property
    def resource(self) -> str:
        """The topic."""
        return self.topic_arn


@dataclass(frozen=True)
class StepFunctionsTarget:
    """A state machine, of which the call starts an execution."""

    type: ClassVar[TargetType] = TargetType.STEP_FUNCTIONS
    state_machine_arn: str
    """Its ARN."""
    follow: bool = False
    """The run ends when the execution ends."""

    @property
    def resource(self) -> str:
        """The state machine."""
        return self.state_machine_arn


@dataclass(frozen=True)
class EcsTarget:
    """A task that ECS runs in a cluster."""

    type: ClassVar[TargetType] = TargetType.ECS
    cluster_arn: str
    """The cluster's ARN."""
    task_definition_arn: str
    """The ARN of the task definition."""
    container_name: str
    """The container that receives the run in its environment."""
    launch_type: LaunchType = LaunchType.FARGATE
    """Where ECS runs the task."""
    subnets: tuple[str, ...] = ()
    """The ids of its subnets; empty: none are set."""
    security_groups: tuple[str, ...] = ()
    """The ids of its security groups; empty: AWS uses the default group of the network."""
    assign_public_ip: bool = False
    """The task gets a public address."""
    follow: bool = False
    """The run ends when the task ends."""

    @property
    def resource(self) -> str:
        """The task definition in its cluster."""
        return f"{self.cluster_arn} {self.task_definition_arn}"


@dataclass(frozen=True)
class EventBridgeTarget:
    """A bus of EventBridge."""

    type: ClassVar[TargetType] = TargetType.EVENT_BRIDGE
    bus_arn: str
    """Its ARN."""
    source: str
    """The source of the event."""
    detail_type: str
    """The detail type of the event."""

    @property
    def resource(self) -> str:
        """The bus."""
        return self.bus_arn


Target = HttpTarget | LambdaTarget | SqsTarget | SnsTarget | StepFunctionsTarget | EcsTarget | EventBridgeTarget

AwsTarget = LambdaTarget | SqsTarget | SnsTarget | StepFunctionsTarget | EcsTarget | EventBridgeTarget


def segment_of(target: Target) -> str | None:
    """Return the part of its resource that a target calls, if parts have circuits of their own; else None."""
    return target.segment if isinstance(target, HttpTarget) else None


def is_followed(target: Target) -> bool:
    """Say whether a run of a target lasts until what it started has ended."""
    return isinstance(target, StepFunctionsTarget | EcsTarget) and target.follow


def arns_of(target: AwsTarget) -> Mapping[str, tuple[str, ...]]:
    """Return the ARNs that a target names, by their fields. Its tenant needs permission for all of them."""
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
    """Return the ARNs of a task's network, as if all belonged to the account of its cluster.

    If it names subnets and no security group, AWS uses the default group of their network, which `default` stands for.
    """
    partition, _, region, account = target.cluster_arn.split(":")[1:5]
    groups = target.security_groups or (("default",) if target.subnets else ())
    of = f"arn:{partition}:ec2:{region}:{account}"
    named = {
        "subnets": tuple(f"{of}:subnet/{one}" for one in target.subnets),
        "securityGroups": tuple(f"{of}:security-group/{one}" for one in groups),
    }
    return {field: arns for field, arns in named.items() if arns}


class Override(StrEnum):
    """The fields of a task that a job may set itself."""

    PRIORITY = "priority"
    MAX_RETRIES = "maxRetries"
    RETRY_POLICY = "retryPolicy"
    TIMEOUT = "timeoutSeconds"
    COMPLETION = "completion"
    HEARTBEAT = "heartbeatSeconds"


@dataclass(frozen=True)
class TaskUse:
    """The task that a job names, and the fields that the job sets itself.

    The job's row decides no other field of `Override`. `version` and `life_ms` are set only in a resolved job
    (resolve.py), never on a row.
    """

    task_id: str
    """The task's id within the job's tenant."""
    own: tuple[Override, ...] = ()
    """The fields that the job sets itself."""
    version: int | None = None
    """The version of the task; None: the job is not resolved."""
    life_ms: int = 0
    """How long a run of any version so far may live (ms); 0: the job is not resolved."""
