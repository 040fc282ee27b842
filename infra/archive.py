"""The archive: a bucket, and a function that the stream of the jobs table feeds."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from aws_cdk import Duration, Stack
from aws_cdk import aws_s3 as s3
from constructs import Construct

from infra.acknowledged import acknowledge
from infra.archive_settings import FULL
from infra.encryption import encrypt
from infra.functions import FunctionBounds, FunctionMaker, allow
from infra.queues import Queues
from infra.settings import Settings
from infra.storage import Storage, kept
from infra.stream import WRITES, feed

_BEGINS_WITH: Final = "prefix"

PATTERNS: Final[Sequence[Mapping[str, Any]]] = (
    # A run that has ended.
    {
        "eventName": WRITES,
        "dynamodb": {
            "Keys": {"sk": {"S": [{_BEGINS_WITH: "RUN#"}]}},
            "NewImage": {"state": {"S": ["succeeded", "failed", "skipped", "cancelled"]}},
        },
    },
    # A run that a user's trigger has made.
    {
        "eventName": ["INSERT"],
        "dynamodb": {
            "Keys": {"sk": {"S": [{_BEGINS_WITH: "RUN#"}]}},
            "NewImage": {"triggered_by": {"S": [{"exists": True}]}},
        },
    },
    # A job: no pattern compares its versions, so the function drops the writes of plans.
    {"eventName": WRITES, "dynamodb": {"Keys": {"sk": {"S": ["JOB"]}}}},
    # A request about anything else.
    {"eventName": ["INSERT"], "dynamodb": {"Keys": {"sk": {"S": [{_BEGINS_WITH: "CHANGE#"}]}}}},
)
"""The writes that the function is given."""

ATTEMPTS: Final[Mapping[str, Any]] = {
    "eventName": WRITES,
    "dynamodb": {"Keys": {"sk": {"S": [{_BEGINS_WITH: "RESULT#"}]}}},
}
"""An attempt with a row of its own, for a full archive. AWS accepts five patterns."""

_MOST_RECORDS: Final = 10_000


class ArchiveFunction(Construct):
    """The bucket of the archive, and the function that writes to it."""

    def __init__(
        self, scope: Construct, construct_id: str, maker: FunctionMaker, storage: Storage, queues: Queues
    ) -> None:
        super().__init__(scope, construct_id)
        settings = maker.settings
        self.bucket = _bucket(self, settings)
        environment = {**maker.environment, "TIMEBALL_ARCHIVE_BUCKET": self.bucket.bucket_name}
        self.function = replace(maker, environment=environment).make(
            self,
            "archive",
            "archive",
            about="Writes runs that ended and changes of users into the archive",
            bounds=FunctionBounds(
                Duration.minutes(2),
                memory_mb=1024,
                why="Turns up to 6 MB of records into lines, in seconds; no run and no caller waits for it",
            ),
        )
        # A changed job may have its payload in a row of its own.
        allow(self.function, ["dynamodb:BatchGetItem"], [storage.jobs.table_arn])
        allow(self.function, ["s3:PutObject"], [self.bucket.arn_for_objects("*")])
        acknowledge(
            self.function.role or self.function,
            f"IAM5[Resource::<{_logical_id(self.bucket)}.Arn>/*]",
            "The keys of objects name tenants and hours",
        )
        feed(
            self,
            self.function,
            storage,
            queues,
            patterns=[*PATTERNS, ATTEMPTS] if settings.archiving.archive == FULL else PATTERNS,
            most=_MOST_RECORDS,
            gathering=Duration.seconds(settings.archiving.archive_seconds),
        )


def _bucket(scope: Construct, settings: Settings) -> s3.Bucket:
    """Make the bucket. It outlives its stack, as the tables do."""
    bucket = s3.Bucket(
        scope,
        "Bucket",
        block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
        encryption=s3.BucketEncryption.S3_MANAGED,
        # The embedded AWS uses plain HTTP on the loopback interface.
        enforce_ssl=not settings.is_local,
        object_ownership=s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
        lifecycle_rules=_lifecycle(settings),
        removal_policy=kept(settings),
    )
    encrypt(bucket, settings)
    acknowledge(bucket, "S1", "CloudTrail's data events log its reads and writes, if their price is worth it")
    return bucket


def _lifecycle(settings: Settings) -> list[s3.LifecycleRule]:
    cold, days = settings.archiving.archive_cold_days, settings.archiving.archive_days
    if not cold and not days:
        return []
    moves = [
        s3.Transition(storage_class=s3.StorageClass.GLACIER_INSTANT_RETRIEVAL, transition_after=Duration.days(cold))
    ]
    return [s3.LifecycleRule(transitions=moves if cold else None, expiration=Duration.days(days) if days else None)]


def _logical_id(bucket: s3.Bucket) -> str:
    definition = bucket.node.default_child
    if not isinstance(definition, s3.CfnBucket):
        raise TypeError("a bucket is no longer a CfnBucket")
    return str(Stack.of(bucket).resolve(definition.logical_id))
