"""What is called, as it is told again: in an answer, where no header's value is shown, and as the request for it."""

from typing import Annotated, Any, Final, Literal

from pydantic import Field

from functions.api.http.reply import Answer
from timeball.domain.model.terms.target import (
    EcsTarget,
    EventBridgeTarget,
    HttpTarget,
    Invocation,
    LambdaTarget,
    LaunchType,
    SnsTarget,
    SqsTarget,
    StepFunctionsTarget,
    Target,
)

_LONGEST_LISTED: Final = 1000


class HttpTargetAnswer(Answer):
    """A webhook that is called."""

    type: Literal["http"]
    url: str
    method: str
    headers: list[str] = Field(description="Names alone: the values may be secret, and are never shown.")
    body: str | None = Field(
        description="The template of what is sent in place of the payload; in a list of jobs it is null if it "
        "is over 1000 characters long."
    )
    secret_id: str | None = Field(description="The name of the secret whose keys sign the call.")


class LambdaTargetAnswer(Answer):
    """A function that is called."""

    type: Literal["lambda"]
    function_arn: str
    invocation: Invocation


class SqsTargetAnswer(Answer):
    """A queue that gets a message."""

    type: Literal["sqs"]
    queue_arn: str
    message_group_id: str | None


class SnsTargetAnswer(Answer):
    """A topic that gets a message."""

    type: Literal["sns"]
    topic_arn: str
    subject: str | None
    message_group_id: str | None


class StepFunctionsTargetAnswer(Answer):
    """A state machine that is started."""

    type: Literal["stepFunctions"]
    state_machine_arn: str
    follow: bool


class EcsTargetAnswer(Answer):
    """A task that ECS runs."""

    type: Literal["ecs"]
    cluster_arn: str
    task_definition_arn: str
    container_name: str
    launch_type: LaunchType
    subnets: list[str]
    security_groups: list[str]
    assign_public_ip: bool
    follow: bool


class EventBridgeTargetAnswer(Answer):
    """A bus that gets an event."""

    type: Literal["eventBridge"]
    bus_arn: str
    source: str
    detail_type: str


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
    """Say whether the body of a target is left out where many targets are shown at once."""
    return body is not None and len(body) > _LONGEST_LISTED


def target_answer(target: Target, *, is_listed: bool = False) -> TargetAnswer:
    """Return the answer about what is called."""
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
    """Return what a request says of what is called, with the values of headers; what need not be said is left out."""
    told = target_answer(target).model_dump(mode="json", by_alias=True)
    if isinstance(target, HttpTarget):
        told |= {"headers": dict(target.headers)}
    return {name: value for name, value in told.items() if value is not None}
