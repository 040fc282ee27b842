"""The models of answers about targets, without header values. A target of the domain fills its answer."""

from typing import Annotated, Final, Literal

from pydantic import BeforeValidator, Field

from timeball.api.http.exchange import AnswerModel
from timeball.domain.model.evolve import evolve
from timeball.domain.model.terms.target import HttpTarget, InvocationType, LaunchType, Target

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


def as_listed(target: Target) -> Target:
    """Return a target as it is shown where many are: without a long body."""
    return evolve(target, body=None) if isinstance(target, HttpTarget) and is_long(target.body) else target
