"""Targets in requests and answers: a union by `type`, with the fields of each type.

A tenant may not call every target in this deployment: some addresses are closed, ARNs must be listed, and a call may
not be signed with another tenant's secret. Answers show no header values; a target of the domain fills its answer.
"""

from ipaddress import ip_address
from typing import Annotated, Final, Literal, get_args
from urllib.parse import urlsplit

from pydantic import BeforeValidator, ConfigDict, Field, model_validator

from timeball.api.http.edge import ApiContext
from timeball.api.http.exchange import AnswerModel
from timeball.api.http.problems import FieldError
from timeball.api.http.request_model import ByValue, Strict, stated
from timeball.api.http.schema_rules import together
from timeball.api.targets.aws import (
    BusArn,
    ClusterArn,
    ContainerName,
    DetailType,
    FunctionArn,
    MessageGroupId,
    QueueArn,
    QueueUrl,
    SecurityGroups,
    Source,
    StateMachineArn,
    Subject,
    Subnets,
    TaskDefinitionArn,
    TopicArn,
    queue_arn,
)
from timeball.api.targets.http import Body, Headers, SecretId, Url
from timeball.domain.model.evolve import evolve
from timeball.domain.model.tenants.key import may_name, prefix_of
from timeball.domain.model.terms import target as model
from timeball.domain.model.terms.target import HttpTarget, InvocationType, LaunchType
from timeball.targets.http.addresses import CLOSED

_QUEUE = ("queueArn", "queueUrl")


class HttpTargetField(Strict):
    """A webhook. Placeholders in double braces are filled in: `{{runId}}`, `{{payload.customer.id}}`."""

    type: Literal["http"] = Field(description="The type of the target.")
    url: Url = Field(description="The URL to call.")
    method: Literal["DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"] = Field(
        "POST", description="The HTTP method of the call."
    )
    headers: Headers = Field(default_factory=dict, description="Headers of the call besides those that Timeball sets.")
    body: Body | None = Field(None, description="The body that is sent instead of the payload.")
    secret_id: SecretId | None = Field(
        None, description="The secret whose keys sign the call by Standard Webhooks; default: the call is not signed."
    )


class LambdaTargetField(Strict):
    """A Lambda function."""

    type: Literal["lambda"] = Field(description="The type of the target.")
    function_arn: FunctionArn = Field(description="The ARN of the function, optionally with a version or an alias.")
    invocation: Annotated[InvocationType, ByValue] = Field(
        InvocationType.REQUEST_RESPONSE,
        description="`requestResponse`: the function's answer ends the attempt; `event`: its queueing does.",
    )


class SqsTargetField(Strict):
    """A queue of SQS, standard or FIFO."""

    model_config = ConfigDict(json_schema_extra=together(one_of=_QUEUE, exclusive=[_QUEUE]))

    type: Literal["sqs"] = Field(description="The type of the target.")
    queue_arn: QueueArn | None = Field(None, description="The ARN of the queue. Give either this or `queueUrl`.")
    queue_url: QueueUrl | None = Field(None, description="The URL of the queue; answers show its ARN.")
    message_group_id: MessageGroupId | None = Field(
        None,
        description=(
            "The message group, prefixed with the tenant's name and a dot; default for a FIFO queue: the job's id."
        ),
    )

    @model_validator(mode="after")
    def _names_one_queue(self) -> "SqsTargetField":
        if (self.queue_arn is None) == (self.queue_url is None):
            raise ValueError("Name the queue: give either queueArn or queueUrl.")
        return self


class SnsTargetField(Strict):
    """A topic of SNS, standard or FIFO."""

    type: Literal["sns"] = Field(description="The type of the target.")
    topic_arn: TopicArn = Field(description="The ARN of the topic.")
    subject: Subject | None = Field(None, description="The subject of e-mails; default: none.")
    message_group_id: MessageGroupId | None = Field(
        None,
        description=(
            "The message group, prefixed with the tenant's name and a dot; default for a FIFO topic: the job's id."
        ),
    )


class StepFunctionsTargetField(Strict):
    """A state machine of Step Functions, of which each attempt starts an execution."""

    type: Literal["stepFunctions"] = Field(description="The type of the target.")
    state_machine_arn: StateMachineArn = Field(
        description="The ARN of the state machine, optionally with a version or an alias."
    )
    follow: bool = Field(
        default=False, description="True: the run ends when the execution does, and a cancel stops the execution."
    )


class EcsTargetField(Strict):
    """A task that ECS runs."""

    type: Literal["ecs"] = Field(description="The type of the target.")
    cluster_arn: ClusterArn = Field(description="The ARN of the cluster.")
    task_definition_arn: TaskDefinitionArn = Field(
        description="The ARN of the task definition; without a revision, the newest active one."
    )
    container_name: ContainerName = Field(description="The container whose environment describes the run.")
    launch_type: Annotated[LaunchType, ByValue] = Field(LaunchType.FARGATE, description="The launch type of the task.")
    subnets: Subnets = Field(
        default_factory=list,
        description="The ids of the task's subnets; needed where tasks have their own network interface.",
    )
    security_groups: SecurityGroups = Field(
        default_factory=list, description="The ids of the task's security groups; default: that of the network."
    )
    assign_public_ip: bool = Field(default=False, description="Whether the task gets a public address.")
    follow: bool = Field(
        default=False, description="True: the run ends when the task does, and a cancel stops the task."
    )


class EventBridgeTargetField(Strict):
    """An event bus of EventBridge."""

    type: Literal["eventBridge"] = Field(description="The type of the target.")
    bus_arn: BusArn = Field(description="The ARN of the bus.")
    source: Source = Field(description="The `source` of the event.")
    detail_type: DetailType = Field(description="The `detail-type` of the event.")


TypeName = Literal["http", "lambda", "sqs", "sns", "stepFunctions", "ecs", "eventBridge"]
Target = Annotated[
    HttpTargetField
    | LambdaTargetField
    | SqsTargetField
    | SnsTargetField
    | StepFunctionsTargetField
    | EcsTargetField
    | EventBridgeTargetField,
    Field(discriminator="type"),
]


_VALUES: Final = {str(value.type): value for value in get_args(model.Target)}


def target_of(asked: Target) -> model.Target:
    """Return the domain's value for the target of a valid request."""
    fields = stated(asked)
    value: type[model.Target] = _VALUES[fields.pop("type")]
    if "queue_url" in fields:
        fields["queue_arn"] = queue_arn(fields.pop("queue_url"))
    return value(**fields)


def called(asked: Target | None, url: str | None) -> model.Target | None:
    """Return the target that a valid request names, as such or by the URL of a webhook; None if it names neither."""
    if asked is not None:
        return target_of(asked)
    return None if url is None else HttpTarget(url)


_UNLISTED = (
    "Your tenant may not use this in this deployment; its operator must add it to the setting timeball:targets and "
    "deploy again. Timeball's own resources are never called."
)


def closed_target(
    edge: ApiContext, tenant: str, field: str, target: model.Target, url_field: str | None = None
) -> list[FieldError]:
    """Return what is wrong with a tenant's target, by the name of its field; `url_field` is the field of its URL.

    The addresses of a host name are looked up and checked at each call.
    """
    if isinstance(target, HttpTarget):
        closed = _closed_url(edge, url_field or f"{field}.url", target.url)
        return [*closed, *_foreign_secret(edge, tenant, f"{field}.secretId", target.secret_id)]
    return [FieldError(f"{field}.{name}", _UNLISTED) for name in edge.allowed.closed(target, tenant)]


def _foreign_secret(edge: ApiContext, tenant: str, field: str, name: str | None) -> list[FieldError]:
    if name is None or may_name(name, tenant, edge.webhook_secrets):
        return []
    own = prefix_of(tenant, edge.webhook_secrets)
    return [FieldError(field, f"Name a secret of your tenant: its name begins with {own}.")]


def _closed_url(edge: ApiContext, field: str, url: str) -> list[FieldError]:
    parts = urlsplit(url)
    try:
        address = ip_address((parts.hostname or "").removesuffix("."))
    except ValueError:
        return []
    if edge.addresses.is_open(address, parts.port or (443 if parts.scheme == "https" else 80)):
        return []
    return [FieldError(field, f"Webhooks do not call this address: it is {CLOSED}.")]


_LONGEST_LISTED: Final = 1000


class HttpTargetAnswer(AnswerModel):
    """A webhook."""

    type: Literal["http"] = Field(description="The type of the target.")
    url: str = Field(description="The URL of the call.")
    method: str = Field(description="The HTTP method of the call.")
    headers: Annotated[list[str], BeforeValidator(list)] = Field(
        description="The names of headers; values may be secret and are never shown."
    )
    body: str | None = Field(
        description="The template of the body that replaces the payload; in a list, null if over 1000 characters."
    )
    secret_id: str | None = Field(description="The name of the secret whose keys sign the call.")


class LambdaTargetAnswer(AnswerModel):
    """A Lambda function."""

    type: Literal["lambda"] = Field(description="The type of the target.")
    function_arn: str = Field(description="The ARN of the function.")
    invocation: InvocationType = Field(
        description="`requestResponse`: the function's answer ends the attempt; `event`: its queueing does."
    )


class SqsTargetAnswer(AnswerModel):
    """A queue of SQS."""

    type: Literal["sqs"] = Field(description="The type of the target.")
    queue_arn: str = Field(description="The ARN of the queue.")
    message_group_id: str | None = Field(description="The message group, as the request gave it.")


class SnsTargetAnswer(AnswerModel):
    """A topic of SNS."""

    type: Literal["sns"] = Field(description="The type of the target.")
    topic_arn: str = Field(description="The ARN of the topic.")
    subject: str | None = Field(description="The subject of e-mails.")
    message_group_id: str | None = Field(description="The message group, as the request gave it.")


class StepFunctionsTargetAnswer(AnswerModel):
    """A state machine of Step Functions."""

    type: Literal["stepFunctions"] = Field(description="The type of the target.")
    state_machine_arn: str = Field(description="The ARN of the state machine.")
    follow: bool = Field(description="Whether the run ends when the execution does.")


class EcsTargetAnswer(AnswerModel):
    """A task that ECS runs."""

    type: Literal["ecs"] = Field(description="The type of the target.")
    cluster_arn: str = Field(description="The ARN of the cluster.")
    task_definition_arn: str = Field(description="The ARN of the task definition.")
    container_name: str = Field(description="The container whose environment describes the run.")
    launch_type: LaunchType = Field(description="The launch type of the task.")
    subnets: list[str] = Field(description="The ids of the task's subnets.")
    security_groups: list[str] = Field(description="The ids of the task's security groups.")
    assign_public_ip: bool = Field(description="Whether the task gets a public address.")
    follow: bool = Field(description="Whether the run ends when the task does.")


class EventBridgeTargetAnswer(AnswerModel):
    """An event bus of EventBridge."""

    type: Literal["eventBridge"] = Field(description="The type of the target.")
    bus_arn: str = Field(description="The ARN of the bus.")
    source: str = Field(description="The `source` of the event.")
    detail_type: str = Field(description="The `detail-type` of the event.")


TargetAnswer = Annotated[
    HttpTargetAnswer
    | LambdaTargetAnswer
    | SqsTargetAnswer
    | SnsTargetAnswer
    | StepFunctionsTargetAnswer
    | EcsTargetAnswer
    | EventBridgeTargetAnswer,
    Field(discriminator="type"),
]


def is_long(body: str | None) -> bool:
    """Say whether the body of a target is left out where many targets are shown."""
    return body is not None and len(body) > _LONGEST_LISTED


def as_listed(target: model.Target) -> model.Target:
    """Return a target as it is shown where many are: without a long body."""
    return evolve(target, body=None) if isinstance(target, HttpTarget) and is_long(target.body) else target
