"""The tables, as the code that uses them defines them."""

from aws_cdk import RemovalPolicy
from aws_cdk import aws_dynamodb as dynamodb
from constructs import Construct

from infra.settings import Settings
from timeball.aws import schema

ROWS = (
    "dynamodb:BatchGetItem",
    "dynamodb:PartiQLInsert",
    "dynamodb:PartiQLUpdate",
    "dynamodb:PutItem",
    "dynamodb:UpdateItem",
)
"""Strong reads and conditional writes of single rows, as batches or one by one."""

FIND = ("dynamodb:Query",)
"""Reads of an item collection or of an index."""

_TYPES = {"S": dynamodb.AttributeType.STRING, "N": dynamodb.AttributeType.NUMBER}


class Storage(Construct):
    """The jobs and the tenants table; outside the local stage no deployment deletes them."""

    def __init__(self, scope: Construct, construct_id: str, settings: Settings) -> None:
        super().__init__(scope, construct_id)
        self.jobs = self._table("Jobs", schema.JOBS, settings)
        self.tenants = self._table("Tenants", schema.TENANTS, settings)

    @property
    def jobs_and_indexes(self) -> list[str]:
        """Return the ARNs of the jobs table and of each of its indexes, for a policy without wildcards."""
        arn = self.jobs.table_arn
        return [arn, *(f"{arn}/index/{index.name}" for index in schema.JOBS.indexes)]

    def _table(self, construct_id: str, table: schema.Table, settings: Settings) -> dynamodb.TableV2:
        return dynamodb.TableV2(
            self,
            construct_id,
            partition_key=_attribute(table.partition),
            sort_key=_attribute(table.sort),
            billing=dynamodb.Billing.on_demand(),
            time_to_live_attribute=table.ttl,
            global_secondary_indexes=[
                dynamodb.GlobalSecondaryIndexPropsV2(
                    index_name=index.name,
                    partition_key=_attribute(index.partition),
                    sort_key=_attribute(index.sort),
                    projection_type=dynamodb.ProjectionType.KEYS_ONLY,
                )
                for index in table.indexes
            ],
            point_in_time_recovery_specification=dynamodb.PointInTimeRecoverySpecification(
                point_in_time_recovery_enabled=not settings.is_local
            ),
            deletion_protection=not settings.is_local,
            removal_policy=RemovalPolicy.DESTROY if settings.is_local else RemovalPolicy.RETAIN,
        )


def _attribute(attribute: schema.Attribute) -> dynamodb.Attribute:
    return dynamodb.Attribute(name=attribute.name, type=_TYPES[attribute.type])
