"""The canary: a built-in job whose target is a function of the stack, so that one run in a while goes the whole way.

The function may do nothing but write its log, and records only the runs of that job. It is the one function of the
stack that a job may call.
"""

from collections.abc import Iterable

from aws_cdk import Aws, CustomResource, Duration
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra.functions import FunctionBounds, FunctionMaker, allow
from infra.queues import Queues
from infra.settings import Settings
from infra.storage import FIND, ROWS, Storage
from timeball.aws.dynamodb.table import schema


def canary_target(settings: Settings) -> str:
    """Return the canary's function as an allowed target, for the operating tenant only."""
    name = f"{settings.name}-canary"
    arn = f"arn:{Aws.PARTITION}:lambda:{Aws.REGION}:{Aws.ACCOUNT_ID}:function:{name}"
    return f"{arn}={settings.functions.operating_tenant}"


class Canary(Construct):
    """The function, and the job that calls it."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        maker: FunctionMaker,
        storage: Storage,
        queues: Queues,
        executors: Iterable[lambda_.Function],
    ) -> None:
        super().__init__(scope, construct_id)
        function = maker.make(
            self,
            "canary",
            "canary",
            about="Records how late the runs of the canary come",
            bounds=FunctionBounds(
                Duration.seconds(10), memory_mb=256, why="It writes one line of its log, and no more"
            ),
        )
        for executor in executors:
            allow(executor, ["lambda:InvokeFunction"], [function.function_arn])
        make = maker.make(
            self,
            "canary-job",
            "canary_job",
            about="Makes the job of the canary, and cancels it with the stack",
            bounds=FunctionBounds(
                Duration.seconds(60),
                memory_mb=256,
                why="A few requests and an answer to CloudFormation, at a deployment",
            ),
        )
        allow(make, ROWS, [storage.jobs.table_arn])
        allow(make, FIND, storage.jobs_by(schema.LISTING))
        allow(make, ["sqs:SendMessage"], queues.sent_to)
        job = CustomResource(
            self,
            "job",
            resource_type="Custom::TimeballCanary",
            service_token=make.function_arn,
            service_timeout=Duration.minutes(5),
            properties={"seconds": maker.settings.alarming.canary_seconds, "function": function.function_arn},
        )
        # Its rights must outlive the job's cancel.
        job.node.add_dependency(make, *([] if make.role is None else [make.role]))
