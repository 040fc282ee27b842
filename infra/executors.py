"""The executors: one function for each priority, which lends its slots to higher priorities.

The high priority has most executors and the low priority few. An executor takes messages from its own queue and from
those of higher priorities: under overload, high waits least, and low continues with its minimum.
"""

from dataclasses import replace

from aws_cdk import ArnFormat, Duration, Stack
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra.acknowledged import acknowledge
from infra.egress import Egress
from infra.functions import FunctionBounds, FunctionMaker, allow
from infra.queues import EXECUTE_TIMEOUT, Feed, Queues
from infra.rollout import live, live_arn, live_name
from infra.settings import FIXED
from infra.storage import FIND, ROWS, Storage
from infra.targets import allow_targets
from timeball.aws.dynamodb.table import schema

_RESOLVER = "timeout:1 attempts:2"
"""How the system's resolver queries (`man resolv.conf`): a look-up ends after about two seconds instead of ten or more.

The thread of a look-up outlives a call that was given up.
"""


class Executors(Construct):
    """One executor for each priority, fed by its queue."""

    def __init__(
        self, scope: Construct, construct_id: str, maker: FunctionMaker, storage: Storage, queues: Queues
    ) -> None:
        super().__init__(scope, construct_id)
        bounds = FunctionBounds(
            EXECUTE_TIMEOUT,
            memory_mb=maker.settings.functions.execute_memory_mb,
            loops=True,
            network=Egress(self, "Egress", maker.settings).network if maker.settings.egress == FIXED else None,
            why="A run may take 840 s. It receives ten messages, takes more during a long call or while executors are "
            "too few, and starts a successor when it is too old; the bound reserves concurrency for the scan and the "
            "API while webhooks are slow",
        )
        variables = {"TIMEBALL_TENANTS_TABLE": storage.tenants.table_name, "RES_OPTIONS": _RESOLVER}
        maker = replace(maker, environment={**maker.environment, **variables})
        above: list[Feed] = []
        self.by_priority: dict[str, lambda_.Function] = {}
        self.provisioned: dict[str, lambda_.EventSourceMapping] = {}
        for priority, feed in queues.by_priority.items():
            name = f"execute-{priority}"
            about = f"Executes runs of {priority} priority"
            function = maker.make(self, name, "execute", about=about, bounds=bounds)
            # It reads results of parents, and the length of a streak of failures, from the ledger.
            # The end of a run admits runs that wait for its limits.
            allow(function, ROWS, [storage.jobs.table_arn])
            allow(function, FIND, storage.jobs_by(schema.LISTING))
            # It reads the weights of tenants that contend for its slots.
            allow(function, ["dynamodb:BatchGetItem"], [storage.tenants.table_arn])
            # The end of a run sends the next holder of the overlap lock; unreadable messages are kept.
            allow(function, ["sqs:SendMessage"], [*queues.sent_to, queues.unreadable.queue_arn])
            self._let_sign(function, maker.settings.functions.webhook_secrets)
            allow_targets(function, maker.settings.functions.target_arns)
            for higher in above:
                higher.let_take(function)
            above.append(feed)
            pollers = maker.settings.pollers_of.get(priority)
            called = live(function, maker.settings)
            mapping = feed.into(function, called, most_at_once=maker.settings.executors[priority], pollers=pollers)
            if pollers:
                self.provisioned[priority] = mapping
            function.add_environment("TIMEBALL_SUCCESSOR", live_name(maker.settings, name))
            function.add_environment("TIMEBALL_SUCCESSOR_PERCENT", str(maker.settings.successor_percent[priority]))
            allow(function, ["lambda:InvokeFunction"], [live_arn(self, maker.settings, name)])
            # A successor that does not start at once is not needed later, and one that failed is not restarted.
            called.configure_async_invoke(max_event_age=Duration.minutes(1), retry_attempts=0)
            self.by_priority[priority] = function

    def _let_sign(self, function: lambda_.Function, prefix: str) -> None:
        """Allow a function to read the tenants' secrets that sign webhooks, and no other secrets."""
        arn = Stack.of(self).format_arn(
            service="secretsmanager",
            resource="secret",
            resource_name=f"{prefix}*",
            arn_format=ArnFormat.COLON_RESOURCE_NAME,
        )
        allow(function, ["secretsmanager:GetSecretValue"], [arn])
        found = f"arn:<AWS::Partition>:secretsmanager:<AWS::Region>:<AWS::AccountId>:secret:{prefix}*"
        why = "Tenants name their secrets themselves, and the engine reads each secret for its own tenant only"
        acknowledge(function.node.scope or function, f"IAM5[Resource::{found}]", why)
