"""The models of answers about targets, without header values; and a target in the form of a request."""

from typing import Annotated, Any, Final, Literal

from pydantic import Field

from timeball.api.http.reply import AnswerModel
from timeball.domain.model.terms.target import (
    EcsTarget,
    EventBridgeTarget,
    HttpTarget,
    InvocationType,
    LambdaTarget,
    LaunchType,
    SnsTarget,
    SqsTarget,
    StepFunctionsTarget,
    Target,
)

_LONGEST_LISTED: Final = 1000


class HttpTargetAnswer(AnswerModel):
    """A webhook."""

    type: Literal["http"] = Field(description="The type of the target.")
    url: str = Field(description="The URL of the call.")
    method: str = Field(description="The HTTP method of the call.")
    headers: list[str] = Field(description="The names of headers; values may be secret and are never shown.")
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


def target_answer(target: Target, *, is_listed: bool = False) -> TargetAnswer:
    """Return the answer about a target."""
    match target:
        case HttpTarget():
            return HttpTargetAnswer(
                type="http",
                url=target.url,
                method=target.method,
                headers=list(target.headers),
                body=None if is_listed and is_long(target.body) else target.body,
                secret_id=target.secret_id,
            )
        case LambdaTarget():
            return LambdaTargetAnswer(type="lambda", **vars(target))
        case SqsTarget():
            return SqsTargetAnswer(type="sqs", **vars(target))
        case SnsTarget():
            return SnsTargetAnswer(type="sns", **vars(target))
        case StepFunctionsTarget():
            return StepFunctionsTargetAnswer(type="stepFunctions", **vars(target))
        case EcsTarget():
            lists = {"subnets": [*target.subnets], "security_groups": [*target.security_groups]}
            return EcsTargetAnswer(type="ecs", **{**vars(target), **lists})
        case EventBridgeTarget():
            return EventBridgeTargetAnswer(type="eventBridge", **vars(target))


def target_document(target: Target) -> dict[str, Any]:
    """Return a target in the form of a request, with header values; values that need not be stated are left out."""
    answer = target_answer(target).model_dump(mode="json", by_alias=True)
    if isinstance(target, HttpTarget):
        answer |= {"headers": dict(target.headers)}
    return {name: value for name, value in answer.items() if value is not None}
