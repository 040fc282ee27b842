"""The scan function, which turns due jobs into runs and sends them to their queues."""

from collections.abc import Mapping
from dataclasses import replace

from aws_cdk import Duration
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra.functions import FunctionBounds, FunctionMaker, allow
from infra.queues import Queues
from infra.rollout import live
from infra.settings import Settings
from infra.storage import FIND, ROWS, Storage
from infra.targets import allow_following
from timeball.aws.dynamodb.table import schema
from timeball.runtime.settings import provisioned_text


class ScanFunction(Construct):
    """The function that the ticker calls each second for each partition."""

    def __init__(
        self, scope: Construct, construct_id: str, maker: FunctionMaker, storage: Storage, queues: Queues
    ) -> None:
        super().__init__(scope, construct_id)
        tenants = {"TIMEBALL_TENANTS_TABLE": storage.tenants.table_name}
        self.function = replace(maker, environment={**maker.environment, **tenants}).make(
            self,
            "scan",
            "scan",
            about="Sends runs that are due within the look-ahead",
            bounds=FunctionBounds(
                Duration.seconds(30),
                memory_mb=maker.settings.scan_memory_mb,
                quiet=True,
                reserved=maker.settings.reserved_concurrency,
                why="One call a second for each partition, two while a new loop takes over; "
                "a call that takes longer delays only its own partition",
            ),
        )
        allow(self.function, ROWS, [storage.jobs.table_arn])
        # A bulk operation lists the jobs of its tenant, or of a task.
        allow(self.function, FIND, storage.jobs_by(schema.DUE, schema.LISTING, schema.BY_STATE, schema.BY_TASK))
        # It reads the weights of tenants that contend.
        allow(self.function, ["dynamodb:BatchGetItem"], [storage.tenants.table_arn])
        allow(self.function, ["sqs:SendMessage"], queues.sent_to)
        allow_following(self.function, maker.settings.functions.target_arns)
        self.called = live(self.function, maker.settings)

    def grant_scaling(self, mappings: Mapping[str, lambda_.EventSourceMapping], settings: Settings) -> None:
        """Allow the scan to change the mappings of the executors' queues, and no other mappings."""
        provisioned = {
            priority: (mappings[priority].event_source_mapping_id, *settings.pollers_of[priority], raised)
            for priority, raised in settings.raised_of.items()
        }
        self.function.add_environment("TIMEBALL_PROVISIONED", provisioned_text(provisioned))
        arns = [mapping.event_source_mapping_arn for mapping in mappings.values()]
        allow(self.function, ["lambda:GetEventSourceMapping", "lambda:UpdateEventSourceMapping"], arns)
