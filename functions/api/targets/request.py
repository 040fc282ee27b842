"""What to call, as a request says it: a union told apart by `type`, with the fields that each type has."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, model_validator

from functions.api.http.request_model import Strict
from functions.api.http.schema_rules import together
from functions.api.targets.aws import (
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
from functions.api.targets.http import Body, Headers, SecretId, Url
from timeball.domain.model.terms import target

_QUEUE = ("queueArn", "queueUrl")


class HttpTarget(Strict):
    """A webhook. What stands between double braces is filled in: `{{runId}}`, `{{payload.customer.id}}`."""

    type: Literal["http"]
    url: Url
    method: Literal["DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"] = "POST"
    headers: Headers = Field(default_factory=dict, description="Headers of the call, beside those that Timeball sets.")
    body: Body | None = Field(None, description="What is sent in place of the payload.")
    secret_id: SecretId | None = Field(
        None, description="The secret whose keys sign the call by Standard Webhooks; by default it is not signed."
    )


class LambdaTarget(Strict):
    """A Lambda function."""

    type: Literal["lambda"]
    function_arn: FunctionArn = Field(description="It may end in a version or an alias.")
    invocation: Literal["requestResponse", "event"] = Field(
        "requestResponse", description="Whether its answer ends the attempt, or that Lambda has queued the event."
    )


class SqsTarget(Strict):
    """A queue of SQS, standard or FIFO."""

    model_config = ConfigDict(json_schema_extra=together(one_of=_QUEUE, exclusive=[_QUEUE]))

    type: Literal["sqs"]
    queue_arn: QueueArn | None = Field(None, description="Either this or `queueUrl`.")
    queue_url: QueueUrl | None = Field(None, description="Another way to name the queue: answers have its ARN.")
    message_group_id: MessageGroupId | None = Field(
        None,
        description="Of a FIFO queue by default the job's id. It is sent with the tenant's name and a dot before it.",
    )

    @model_validator(mode="after")
    def _names_one_queue(self) -> "SqsTarget":
        if (self.queue_arn is None) == (self.queue_url is None):
            raise ValueError("Name the queue: give either queueArn or queueUrl.")
        return self


class SnsTarget(Strict):
    """A topic of SNS, standard or FIFO."""

    type: Literal["sns"]
    topic_arn: TopicArn
    subject: Subject | None = Field(None, description="The subject of e-mails; default none.")
    message_group_id: MessageGroupId | None = Field(
        None,
        description="Of a FIFO topic by default the job's id. It is sent with the tenant's name and a dot before it.",
    )


class StepFunctionsTarget(Strict):
    """A state machine of Step Functions, of which an execution is started."""

    type: Literal["stepFunctions"]
    state_machine_arn: StateMachineArn = Field(description="It may end in a version or an alias.")
    follow: bool = Field(default=False, description="The run ends when the execution does, and stops it if cancelled.")


class EcsTarget(Strict):
    """A task that ECS runs."""

    type: Literal["ecs"]
    cluster_arn: ClusterArn
    task_definition_arn: TaskDefinitionArn = Field(description="Without a revision: the newest that is active.")
    container_name: ContainerName = Field(description="The container whose environment tells of the run.")
    launch_type: Literal["FARGATE", "EC2", "EXTERNAL"] = "FARGATE"
    subnets: Subnets = Field(default_factory=list, description="Needed where tasks have networks of their own.")
    security_groups: SecurityGroups = Field(default_factory=list, description="By default that of the network.")
    assign_public_ip: bool = False
    follow: bool = Field(default=False, description="The run ends when the task does, and stops it if cancelled.")


class EventBridgeTarget(Strict):
    """A bus of EventBridge, to which an event is put."""

    type: Literal["eventBridge"]
    bus_arn: BusArn
    source: Source
    detail_type: DetailType


TypeName = Literal["http", "lambda", "sqs", "sns", "stepFunctions", "ecs", "eventBridge"]
Target = Annotated[
    HttpTarget | LambdaTarget | SqsTarget | SnsTarget | StepFunctionsTarget | EcsTarget | EventBridgeTarget,
    Field(discriminator="type"),
]


def target_of(asked: Target) -> target.Target:
    """Return what a faultless request says is called."""
    match asked:
        case HttpTarget():
            return target.HttpTarget(asked.url, asked.method, asked.headers, asked.body, asked.secret_id)
        case LambdaTarget():
            return target.LambdaTarget(asked.function_arn, target.Invocation(asked.invocation))
        case SqsTarget():
            return target.SqsTarget(asked.queue_arn or queue_arn(asked.queue_url or ""), asked.message_group_id)
        case SnsTarget():
            return target.SnsTarget(asked.topic_arn, asked.subject, asked.message_group_id)
        case StepFunctionsTarget():
            return target.StepFunctionsTarget(asked.state_machine_arn, asked.follow)
        case EcsTarget():
            return target.EcsTarget(
                asked.cluster_arn,
                asked.task_definition_arn,
                asked.container_name,
                target.LaunchType(asked.launch_type),
                tuple(asked.subnets),
                tuple(asked.security_groups),
                asked.assign_public_ip,
                asked.follow,
            )
        case EventBridgeTarget():
            return target.EventBridgeTarget(asked.bus_arn, asked.source, asked.detail_type)
