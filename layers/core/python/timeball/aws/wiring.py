"""Puts the ports together from the environment, once per process."""

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from timeball.aws.meter import CloudWatchMeter
from timeball.aws.queue import SqsInbox, SqsQueue, UnreadableQueue
from timeball.aws.settings import Settings, read_settings
from timeball.aws.store import DynamoStore
from timeball.aws.system_clock import SystemClock
from timeball.engine.world import World

if TYPE_CHECKING:
    from botocore.config import Config
    from types_boto3_dynamodb import DynamoDBClient
    from types_boto3_sqs import SQSClient

_THREADS = 16


@dataclass(frozen=True)
class Patience:
    """How long a function waits for an answer of AWS, in seconds, and how often it asks."""

    connect_seconds: int
    read_seconds: int
    attempts: int

    @property
    def longest_seconds(self) -> int:
        """How long one request may take: each attempt to its end, and the pauses between, at most 1 s, 2 s, 4 s ..."""
        pauses = (1 << (self.attempts - 1)) - 1
        return self.attempts * (self.connect_seconds + self.read_seconds) + pauses


PATIENT = Patience(connect_seconds=2, read_seconds=5, attempts=5)
"""Of whoever has a request to answer: a lost answer costs a second try and not a tick."""

BRISK = Patience(connect_seconds=1, read_seconds=2, attempts=2)
"""Of an executor, who has leases to keep: it asks again itself, as long as it has them."""


@cache
def settings() -> Settings:
    """Return the settings of this process."""
    return read_settings(os.environ)


@cache
def world() -> World:
    """Return the engine's world over AWS."""
    return _world(PATIENT)


@cache
def executor_world() -> World:
    """Return the world of an executor, in which no request outlasts a lease."""
    return _world(BRISK)


def api_world() -> World:
    """Return the world of the API function: the same as everybody's."""
    return world()


def unreadable_queue() -> UnreadableQueue:
    """Return where messages are kept that cannot be read."""
    return UnreadableQueue(_sqs(BRISK), settings().unreadable_queue)


def executor_inbox(queue_arn: str) -> SqsInbox:
    """Return the receiving side of the queue that an event came from."""
    name = queue_arn.rpartition(":")[2]
    for url in settings().queues.values():
        if url.rpartition("/")[2] == name:
            return SqsInbox(_sqs(BRISK), url, _queue_threads())
    raise LookupError(f"queue {name} is none of TIMEBALL_QUEUE_HIGH, _NORMAL and _LOW")


def _world(patience: Patience) -> World:
    found, clock = settings(), SystemClock()
    store = DynamoStore(
        _dynamodb(patience),
        found.jobs_table,
        list_shards=found.list_shards,
        retention_days=found.retention_days,
        writes="batch" if found.writes_in_batches else "single",
        threads=_THREADS,
    )
    queue = SqsQueue(_sqs(patience), found.queues, clock, _queue_threads())
    return World(store, queue, clock, found.rules, CloudWatchMeter())


def _dynamodb(patience: Patience) -> "DynamoDBClient":
    import boto3  # noqa: PLC0415 - slow, and the API's health page needs none of it

    return boto3.client("dynamodb", config=_config(patience))


@cache
def _sqs(patience: Patience) -> "SQSClient":
    import boto3  # noqa: PLC0415 - as above

    return boto3.client("sqs", config=_config(patience))


@cache
def _queue_threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_THREADS, thread_name_prefix="queue")


def _config(patience: Patience) -> "Config":
    from botocore.config import Config  # noqa: PLC0415 - as above

    return Config(
        connect_timeout=patience.connect_seconds,
        read_timeout=patience.read_seconds,
        retries={"mode": "standard", "total_max_attempts": patience.attempts},
        max_pool_connections=2 * _THREADS,
    )
