"""One queue for each priority, behind each the queue of what could not be carried; and one of what cannot be read.

Invariant: a message stays invisible for at least as long as the function that took it may run, or two would
hold it.
"""

from dataclasses import dataclass

from aws_cdk import Duration
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra.acknowledged import acknowledge
from infra.functions import allow
from infra.settings import Settings

KEPT = Duration.days(14)
"""The longest that SQS allows, on every queue: an outage of executors that is shorter loses no message."""

DELIVERIES = 10
"""Receives until a message goes to the dead-letter queue; paused jobs and leases held elsewhere return some, too."""

EXECUTE_TIMEOUT = Duration.minutes(15)
"""The longest that a Lambda may run; a run may take 840 seconds of it."""

DEAD_LETTER_TIMEOUT = Duration.minutes(1)

_CONSUME = (
    "sqs:ChangeMessageVisibility",
    "sqs:DeleteMessage",
    "sqs:GetQueueAttributes",
    "sqs:ReceiveMessage",
)


@dataclass(frozen=True)
class Feed:
    """A queue and how long a message that was received stays invisible."""

    queue: sqs.Queue
    visibility: Duration

    def into(self, function: lambda_.Function, *, most_at_once: int = 0) -> None:
        """Let a function consume the queue, in batches of which it may return single messages as failed."""
        timeout = function.timeout
        if timeout is None or self.visibility.to_seconds() < timeout.to_seconds():
            raise ValueError(f"{self.queue.node.path}: visibility is shorter than the timeout of its function")
        allow(function, _CONSUME, [self.queue.queue_arn])
        lambda_.EventSourceMapping(
            function,
            f"{self.queue.node.id}-feed",
            target=function,
            event_source_arn=self.queue.queue_arn,
            batch_size=10,
            report_batch_item_failures=True,
            max_concurrency=most_at_once or None,
        )


@dataclass(frozen=True)
class PriorityQueue:
    """The queue of a priority and its dead-letter queue."""

    main: Feed
    dead: Feed


class Queues(Construct):
    """The queues between the scan and the executors."""

    def __init__(self, scope: Construct, construct_id: str, settings: Settings) -> None:
        super().__init__(scope, construct_id)
        self._enforce_ssl = not settings.is_local
        self.high = self._pair("High")
        self.normal = self._pair("Normal")
        self.low = self._pair("Low")
        # Nothing consumes it: what stands there is for people to look at.
        self.unreadable = self._queue("Unreadable", DEAD_LETTER_TIMEOUT).queue
        acknowledge(self.unreadable, "SQS3", "It is the last stop itself: nothing receives from it")
        self.by_priority = {"high": self.high, "normal": self.normal, "low": self.low}

    @property
    def arns(self) -> list[str]:
        """Return the queues that work is sent to."""
        return [pair.main.queue.queue_arn for pair in self.by_priority.values()]

    def _pair(self, priority: str) -> PriorityQueue:
        dead = self._queue(f"{priority}Dead", DEAD_LETTER_TIMEOUT)
        redrive = sqs.DeadLetterQueue(queue=dead.queue, max_receive_count=DELIVERIES)
        return PriorityQueue(main=self._queue(priority, EXECUTE_TIMEOUT, redrive), dead=dead)

    def _queue(self, construct_id: str, visibility: Duration, redrive: sqs.DeadLetterQueue | None = None) -> Feed:
        queue = sqs.Queue(
            self,
            construct_id,
            retention_period=KEPT,
            visibility_timeout=visibility,
            dead_letter_queue=redrive,
            # The embedded AWS speaks plain HTTP on the loopback interface.
            enforce_ssl=self._enforce_ssl,
        )
        return Feed(queue, visibility)
