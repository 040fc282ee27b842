"""The beginning and the end of a deployment: a check that may refuse it, and a record once it has succeeded.

Every resource depends on the check, except for those that the check itself needs: so a refused deployment changes
nothing else, neither a table's throughput nor a mapping. For the same reason the check gets the logical id of the jobs
table: a reference would make it wait for the table.
"""

from collections.abc import Sequence
from dataclasses import replace

from aws_cdk import Aws, CfnElement, CustomResource, Duration, Stack
from aws_cdk import aws_dynamodb as dynamodb
from constructs import Construct, IConstruct

from infra.acknowledged import acknowledge
from infra.functions import FunctionBounds, FunctionMaker, allow
from infra.settings import Settings
from infra.storage import Storage

_KEEP = ("dynamodb:BatchGetItem", "dynamodb:PutItem", "dynamodb:UpdateItem")


class DeploymentCheck(Construct):
    """The function that checks and records a deployment, and its two resources."""

    def __init__(self, scope: Construct, construct_id: str, maker: FunctionMaker, storage: Storage) -> None:
        super().__init__(scope, construct_id)
        settings = maker.settings
        self.function = replace(maker, environment={}).make(
            self,
            "deployment",
            "deployment",
            about="Checks a deployment before any other change, and records its success",
            bounds=FunctionBounds(
                Duration.seconds(60),
                memory_mb=256,
                why="A few requests and an answer to CloudFormation, twice a deployment; permissions of a new role "
                "take seconds to spread",
            ),
        )
        properties = _properties(settings)
        own = {} if settings.jobs_table else {"jobs": storage.jobs}
        own |= {} if settings.tenants_table else {"tenants": storage.tenants}
        found = {name: _logical_id(table) for name, table in own.items()}
        self._let_keep(settings, found)
        self.check = self._resource(
            "check",
            "Custom::TimeballCheck",
            {
                **properties,
                "confirm": settings.confirm,
                "table": settings.jobs_table,
                "logicalId": found.get("jobs", ""),
                "atOnce": 0 if settings.is_local else sum(settings.concurrency.at_once.values()),
            },
        )
        protected = [] if settings.is_local else [table.table_name for table in own.values()]
        self.settled = self._resource(
            "settled",
            "Custom::TimeballSettled",
            {**properties, "table": storage.jobs.table_name, "protected": protected},
        )

    def around(self, others: Sequence[IConstruct]) -> None:
        """Make all other constructs depend on the check, and the record depend on all others."""
        for other in others:
            other.node.add_dependency(self.check)
        self.settled.node.add_dependency(self.check, *others)

    def _resource(self, name: str, kind: str, properties: dict[str, object]) -> CustomResource:
        return CustomResource(
            self,
            name,
            resource_type=kind,
            service_token=self.function.function_arn,
            service_timeout=Duration.minutes(5),
            properties=properties,
        )

    def _let_keep(self, settings: Settings, found: dict[str, str]) -> None:
        """Allow the function to read and write the record in the jobs table, and to protect the stack's own tables."""
        stack = Stack.of(self)
        arns = {
            name: stack.format_arn(
                service="dynamodb", resource="table", resource_name=f"{settings.name}-{logical_id}-*"
            )
            for name, logical_id in found.items()
        }
        jobs = arns.get("jobs") or stack.format_arn(
            service="dynamodb", resource="table", resource_name=settings.jobs_table
        )
        allow(self.function, _KEEP, [jobs])
        if arns and not settings.is_local:
            allow(self.function, ["dynamodb:UpdateTable"], [*arns.values()])
        allow(self.function, ["cloudformation:DescribeStackResource"], [Aws.STACK_ID])
        allow(self.function, ["lambda:GetAccountSettings"], ["*"])
        acknowledge(self, "IAM5[Resource::*]", "The account's limit is not a resource, so it has no name")
        for logical_id in found.values():
            name = f"{settings.name}-{logical_id}-*"
            arn = f"arn:<AWS::Partition>:dynamodb:<AWS::Region>:<AWS::AccountId>:table/{name}"
            why = "CloudFormation appends random letters to the name of the stack's own table"
            acknowledge(self, f"IAM5[Resource::{arn}]", why)


def _properties(settings: Settings) -> dict[str, object]:
    return {
        "stage": settings.stage,
        "shards": settings.functions.rules.shards,
        "list_shards": settings.functions.mapper.list_shards,
        "pollers": settings.pollers,
    }


def _logical_id(table: dynamodb.ITableV2) -> str:
    definition = table.node.default_child
    if not isinstance(definition, CfnElement):
        raise TypeError("a table is no longer a CfnElement")
    return str(Stack.of(table).resolve(definition.logical_id))
