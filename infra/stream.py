"""The stream of the jobs table, and how it feeds a function.

The stream, its filters and its reads by Lambda are free of charge; a batch without a record of interest
invokes nothing.
A stream is meant for two readers of a shard (documented): the archive and lifecycle events are two.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from aws_cdk import Duration
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra.functions import allow
from infra.queues import Queues
from infra.storage import Storage

WRITES: Final = ["INSERT", "MODIFY"]
"""The events of the stream that matter: not those of rows that expire."""

_GIVES_UP: Final = Duration.hours(23)
"""A stream keeps a record for a day; what is lost is noted in the queue of unreadable messages before that."""

_READ_STREAM: Final = (
    "dynamodb:DescribeStream",
    "dynamodb:GetRecords",
    "dynamodb:GetShardIterator",
    "dynamodb:ListStreams",
)


def feed(
    scope: Construct,
    function: lambda_.Function,
    storage: Storage,
    queues: Queues,
    *,
    patterns: Sequence[Mapping[str, Any]],
    most: int,
    gathering: Duration,
) -> None:
    """Feed a function with the writes that match a pattern, at most so many at once, gathered for a while.

    A batch that fails comes again, halved, until Lambda gives it up and notes it for people.
    """
    stream = storage.jobs_stream
    if stream is None:
        raise ValueError("the jobs table has no stream")
    allow(function, _READ_STREAM, [stream])
    # The function keeps what it cannot process, and Lambda what the function did not take.
    allow(function, ["sqs:SendMessage"], [queues.unreadable.queue_arn])
    mapping = lambda_.EventSourceMapping(
        scope,
        "feed",
        target=function,
        event_source_arn=stream,
        starting_position=lambda_.StartingPosition.TRIM_HORIZON,
        batch_size=most,
        max_batching_window=gathering,
        bisect_batch_on_error=True,
        max_record_age=_GIVES_UP,
        filters=[{"pattern": json.dumps(pattern, separators=(",", ":"))} for pattern in patterns],
    )
    definition = mapping.node.default_child
    if not isinstance(definition, lambda_.CfnEventSourceMapping):
        raise TypeError("a mapping is no longer a CfnEventSourceMapping")
    # The CDK's own way would also allow the function to read the queue's attributes.
    definition.add_property_override("DestinationConfig.OnFailure.Destination", queues.unreadable.queue_arn)
    # Lambda checks the function's rights when the mapping is made.
    mapping.node.add_dependency(*([] if function.role is None else [function.role]))
