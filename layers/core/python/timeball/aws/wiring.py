"""Puts the ports together from the environment, once per process."""

import os
from functools import cache
from typing import TYPE_CHECKING

from timeball.aws.queue import SqsInbox, SqsQueue
from timeball.aws.settings import Settings, read_settings
from timeball.aws.store import DynamoStore
from timeball.aws.system_clock import SystemClock
from timeball.engine.world import World

if TYPE_CHECKING:
    from botocore.config import Config
    from types_boto3_dynamodb import DynamoDBClient
    from types_boto3_sqs import SQSClient

_THREADS = 16


@cache
def settings() -> Settings:
    """Return the settings of this process."""
    return read_settings(os.environ)


@cache
def world() -> World:
    """Return the engine's world over AWS."""
    found, clock = settings(), SystemClock()
    store = DynamoStore(
        _dynamodb(),
        found.jobs_table,
        list_shards=found.list_shards,
        retention_days=found.retention_days,
        writes="batch" if found.writes_in_batches else "single",
        threads=_THREADS,
    )
    return World(store, SqsQueue(_sqs(), found.queues, clock), clock, found.rules)


def api_world() -> World:
    """Return the world of the API function: the same as everybody's."""
    return world()


def inbox(queue_arn: str) -> SqsInbox:
    """Return the receiving side of the queue that an event came from."""
    name = queue_arn.rpartition(":")[2]
    for url in settings().queues.values():
        if url.rpartition("/")[2] == name:
            return SqsInbox(_sqs(), url)
    raise LookupError(f"queue {name} is none of TIMEBALL_QUEUE_HIGH, _NORMAL and _LOW")


def _dynamodb() -> "DynamoDBClient":
    import boto3  # noqa: PLC0415 - slow, and the API's health page needs none of it

    return boto3.client("dynamodb", config=_config())


@cache
def _sqs() -> "SQSClient":
    import boto3  # noqa: PLC0415 - as above

    return boto3.client("sqs", config=_config())


def _config() -> "Config":
    """Short timeouts, so that a lost answer costs a second try and not a tick."""
    from botocore.config import Config  # noqa: PLC0415 - as above

    return Config(
        connect_timeout=2,
        read_timeout=5,
        retries={"mode": "standard", "max_attempts": 5},
        max_pool_connections=2 * _THREADS,
    )
