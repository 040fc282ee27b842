"""The tables, as the code that uses them defines them."""

from aws_cdk import RemovalPolicy
from aws_cdk import aws_dynamodb as dynamodb
from constructs import Construct

from infra.encryption import encrypt
from infra.settings import Settings
from infra.warmth import NEW, ready_for
from timeball.aws.dynamodb.table import schema

ROWS = (
    "dynamodb:BatchGetItem",
    "dynamodb:PartiQLInsert",
    "dynamodb:PartiQLUpdate",
    "dynamodb:PutItem",
    "dynamodb:UpdateItem",
)
"""Strong reads and conditional writes of rows, in batches or one by one."""

FIND = ("dynamodb:Query",)
"""Reads of an item collection or of an index."""

_TYPES = {"S": dynamodb.AttributeType.STRING, "N": dynamodb.AttributeType.NUMBER}


class Storage(Construct):
    """The jobs and the tenants table, which outlive their stack, except in the local stage.

    Only the deployment that creates them deletes them, if it fails. They are protected once a deployment has succeeded
    (`infra/deployment.py`): CloudFormation could not roll back a table that is protected from the beginning. A table
    that the settings name exists already; it is neither made nor changed here.
    """

    def __init__(self, scope: Construct, construct_id: str, settings: Settings) -> None:
        super().__init__(scope, construct_id)
        self.jobs = self._table("Jobs", schema.JOBS, settings, settings.jobs_table)
        self.jobs_stream = settings.archiving.jobs_stream or self.jobs.table_stream_arn
        self.tenants = self._table("Tenants", schema.TENANTS, settings, settings.tenants_table)

    def jobs_by(self, *indexes: schema.Index) -> list[str]:
        """Return the ARNs of the jobs table and of some of its indexes, for a policy without wildcards."""
        return [self.jobs.table_arn, *(f"{self.jobs.table_arn}/index/{index.name}" for index in indexes)]

    def _table(
        self, construct_id: str, table: schema.TableSchema, settings: Settings, existing: str
    ) -> dynamodb.ITableV2:
        if existing:
            return dynamodb.TableV2.from_table_name(self, construct_id, existing)
        made = dynamodb.TableV2(
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
                    projection_type=dynamodb.ProjectionType(index.projection),
                    warm_throughput=_warm(index.name, settings),
                )
                for index in table.indexes
            ],
            warm_throughput=_warm(table.name, settings),
            point_in_time_recovery_specification=dynamodb.PointInTimeRecoverySpecification(
                point_in_time_recovery_enabled=not settings.is_local
            ),
            dynamo_stream=_stream(table, settings),
            removal_policy=kept(settings),
        )
        encrypt(made, settings)
        return made


def kept(settings: Settings) -> RemovalPolicy:
    """Return the removal policy of data: it outlives its stack, unless its first deployment is rolled back."""
    return RemovalPolicy.DESTROY if settings.is_local else RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE


def _stream(table: schema.TableSchema, settings: Settings) -> dynamodb.StreamViewType | None:
    """Return what the stream of a table shows, rows before and after each write; None: no stream."""
    is_followed = settings.has_stream and table is schema.JOBS
    return dynamodb.StreamViewType.NEW_AND_OLD_IMAGES if is_followed else None


def _warm(name: str, settings: Settings) -> dynamodb.WarmThroughput | None:
    """Return the throughput for which a table or an index is pre-warmed, if it exceeds AWS's default."""
    units = ready_for(name, settings.warm_runs_per_second)
    if units == NEW:
        return None
    return dynamodb.WarmThroughput(write_units_per_second=units.writes, read_units_per_second=units.reads)


def _attribute(attribute: schema.Attribute) -> dynamodb.Attribute:
    return dynamodb.Attribute(name=attribute.name, type=_TYPES[attribute.type])
