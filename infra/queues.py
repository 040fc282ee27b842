"""The queues: one for each priority, one for runs to recheck, one for events, and one for unreadable messages.

Invariant: a message stays invisible for at least the time that it may be gathered and its function may run; otherwise
two functions would process it at once.
"""

from dataclasses import dataclass

from aws_cdk import Duration, Stack
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra.acknowledged import acknowledge
from infra.encryption import encrypt
from infra.functions import allow
from infra.settings import Settings
from infra.why import explain

PRIORITIES = ("high", "normal", "low")
"""Each priority has a queue and an executor of its own."""

KEPT = Duration.days(14)
"""The longest that SQS allows, on every queue: no shorter outage of executors loses a message."""

DELIVERIES = 10
"""Receives before a queue gives up on a message; paused jobs and leases of other executors also return messages."""

EVENTS_TIMEOUT = Duration.minutes(1)

EXECUTE_TIMEOUT = Duration.minutes(15)
"""The longest that a Lambda may run, of which a run may take 840 seconds."""

WATCH_TIMEOUT = Duration.minutes(1)

WATCHES_GATHER = Duration.seconds(5)
"""How long watch messages are gathered into one call; it counts against their queue's visibility."""

_CONSUME = (
    "sqs:ChangeMessageVisibility",
    "sqs:DeleteMessage",
    "sqs:GetQueueAttributes",
    "sqs:ReceiveMessage",
)


@dataclass(frozen=True)
class Feed:
    """A queue, and how long a received message stays invisible."""

    queue: sqs.Queue
    visibility: Duration

    def let_take(self, function: lambda_.Function) -> None:
        """Allow a function to receive messages from the queue."""
        allow(function, _CONSUME, [self.queue.queue_arn])

    def into(
        self,
        function: lambda_.Function,
        called: lambda_.IFunction,
        *,
        most_at_once: int,
        pollers: tuple[int, int] | None = None,
        gathering: Duration | None = None,
    ) -> lambda_.EventSourceMapping:
        """Feed the queue into a function in batches, of which the function may return single messages as failed.

        The function is `called` as it is, or by its alias.

        Messages may be gathered for a while, so that fewer calls are made for them. Without a bound one queue could
        take all of the account's concurrency, which the scan and the API need. AWS accepts either a bound or
        provisioned `pollers`, whose maximum is a bound.
        """
        held = function.timeout and function.timeout.plus(gathering or Duration.seconds(0))
        if held is None or self.visibility.to_seconds() < held.to_seconds():
            raise ValueError(
                f"{self.queue.node.path}: visibility is shorter than the time for which its function may hold a message"
            )
        self.let_take(function)
        return lambda_.EventSourceMapping(
            function,
            f"{self.queue.node.id}-feed",
            target=called,
            event_source_arn=self.queue.queue_arn,
            batch_size=10,
            max_batching_window=gathering,
            report_batch_item_failures=True,
            max_concurrency=None if pollers else most_at_once,
            provisioned_poller_config=pollers
            and lambda_.ProvisionedPollerConfig(minimum_pollers=pollers[0], maximum_pollers=pollers[1]),
        )


class Queues(Construct):
    """The queues between the scan and the executors."""

    def __init__(self, scope: Construct, construct_id: str, settings: Settings) -> None:
        super().__init__(scope, construct_id)
        self._settings = settings
        self.watch = self._feed(
            "Watch",
            WATCH_TIMEOUT.plus(WATCHES_GATHER),
            why="Runs to recheck after they were sent; also the dead-letter queue of all priorities, because in both "
            "cases its function goes by the run's row alone",
            accepts=sqs.RedriveAllowPolicy(source_queues=self._sources()),
        )
        self.by_priority = {
            priority: self._feed(
                priority.title(),
                EXECUTE_TIMEOUT,
                why="Its executor hides the message of a claimed run for a lease at a time; the message of an "
                "unclaimed run comes back when no executor can still process it",
                name=self._name(priority),
                redrive=sqs.DeadLetterQueue(queue=self.watch.queue, max_receive_count=DELIVERIES),
            )
            for priority in PRIORITIES
        }
        self.unreadable = self._feed(
            "Unreadable", WATCH_TIMEOUT, why="No function receives from it: its messages are for people"
        ).queue
        self.events = self._feed(
            "Events",
            EVENTS_TIMEOUT,
            why="Events that rules of the bus have matched; messages that its function cannot process are for people",
            redrive=sqs.DeadLetterQueue(queue=self.unreadable, max_receive_count=DELIVERIES),
        )
        acknowledge(self.unreadable, "SQS3", "It is the last stop: no function receives from it")

    @property
    def sent_to(self) -> list[str]:
        """Return the queues that any sender of runs must be able to send to: each sent run is also watched."""
        return [feed.queue.queue_arn for feed in (*self.by_priority.values(), self.watch)]

    def _sources(self) -> list[sqs.IQueue]:
        """Return the queues that may send here when they give up, by name, because each refers to this queue."""
        arns = {name: Stack.of(self).format_arn(service="sqs", resource=self._name(name)) for name in PRIORITIES}
        return [sqs.Queue.from_queue_arn(self, f"{name.title()}Source", arn) for name, arn in arns.items()]

    def _name(self, priority: str) -> str:
        return f"{self._settings.name}-{priority}"

    def _feed(
        self,
        construct_id: str,
        visibility: Duration,
        *,
        why: str,
        name: str | None = None,
        redrive: sqs.DeadLetterQueue | None = None,
        accepts: sqs.RedriveAllowPolicy | None = None,
    ) -> Feed:
        queue = sqs.Queue(
            self,
            construct_id,
            retention_period=KEPT,
            visibility_timeout=visibility,
            # The embedded AWS uses plain HTTP on the loopback interface.
            enforce_ssl=not self._settings.is_local,
            queue_name=name,
            dead_letter_queue=redrive,
            redrive_allow_policy=accepts,
        )
        encrypt(queue, self._settings)
        explain(queue, why)
        return Feed(queue, visibility)
