"""The bus of events. The API makes its rules, one for each pattern, and all of them send to one queue."""

from collections.abc import Sequence

from aws_cdk import Stack
from aws_cdk import aws_events as events
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra.acknowledged import acknowledge
from infra.functions import allow
from infra.queues import Queues
from infra.settings import Settings

REMOVE_RULES = ("events:DeleteRule", "events:RemoveTargets")
MAKE_RULES = (*REMOVE_RULES, "events:PutRule")


class Bus(Construct):
    """The bus; its rules may send to the queue of events, and what that refuses to the queue of unreadable messages."""

    def __init__(self, scope: Construct, construct_id: str, settings: Settings, queues: Queues) -> None:
        super().__init__(scope, construct_id)
        self.name = settings.name
        self.arn = events.EventBus(self, "Events", event_bus_name=self.name).event_bus_arn
        self.rules_arn = Stack.of(self).format_arn(service="events", resource="rule", resource_name=f"{self.name}/*")
        self._queue_arn = queues.events.queue.queue_arn
        self._let_send(queues.events.queue)
        self._let_send(queues.unreadable)
        self.environment = {
            "TIMEBALL_EVENT_BUS": self.name,
            "TIMEBALL_EVENTS_ARN": queues.events.queue.queue_arn,
            "TIMEBALL_EVENTS_URL": queues.events.queue.queue_url,
            "TIMEBALL_UNDELIVERED_ARN": queues.unreadable.queue_arn,
        }

    def let_change_rules(self, function: lambda_.Function, actions: Sequence[str]) -> None:
        """Allow a function to make or remove rules of this bus only."""
        allow(function, actions, [self.rules_arn])
        resource = f"arn:<AWS::Partition>:events:<AWS::Region>:<AWS::AccountId>:rule/{self.name}/*"
        why = "Rules are named by the patterns of jobs, which are unknown beforehand; all belong to this bus"
        acknowledge(function.node.scope or function, f"IAM5[Resource::{resource}]", why)

    def let_put_targets(self, function: lambda_.Function) -> None:
        """Allow a function to connect rules of this bus to the queue of events, and to no other target.

        Without the condition a rule could send all tenants' events elsewhere. `ForAllValues` refuses a request in which
        one of many targets is another one, and `Null` refuses a request without a target.
        """
        function.add_to_role_policy(
            iam.PolicyStatement(
                actions=["events:PutTargets"],
                resources=[self.rules_arn],
                conditions={
                    "ForAllValues:ArnEquals": {"events:TargetArn": self._queue_arn},
                    "Null": {"events:TargetArn": "false"},
                },
            )
        )

    def _let_send(self, queue: sqs.Queue) -> None:
        queue.add_to_resource_policy(
            iam.PolicyStatement(
                principals=[iam.ServicePrincipal("events.amazonaws.com")],
                actions=["sqs:SendMessage"],
                resources=[queue.queue_arn],
                conditions={"ArnLike": {"aws:SourceArn": self.rules_arn}},
            )
        )
