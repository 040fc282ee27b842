"""The events function, which creates runs for matched events."""

from dataclasses import replace

from constructs import Construct

from infra.bus import REMOVE_RULES, Bus
from infra.functions import FunctionBounds, FunctionMaker, allow
from infra.queues import EVENTS_TIMEOUT, Queues
from infra.rollout import live
from infra.storage import FIND, ROWS, Storage
from infra.targets import subscribe_to_ends
from timeball.aws.dynamodb.table import schema


class Events(Construct):
    """The function of the queue of events."""

    def __init__(
        self, scope: Construct, construct_id: str, maker: FunctionMaker, storage: Storage, queues: Queues, bus: Bus
    ) -> None:
        super().__init__(scope, construct_id)
        self.function = replace(maker, environment={**maker.environment, **bus.environment}).make(
            self,
            "events",
            "events",
            about="Creates the runs of jobs on events",
            bounds=FunctionBounds(
                EVENTS_TIMEOUT,
                memory_mb=512,
                loops=True,
                why="Writes a run for each event and job of a batch; a target may send the next event, so it may loop. "
                "The bound reserves concurrency for the scan and the API in a flood of events",
            ),
        )
        # The end of a run admits runs that wait for its limits.
        allow(self.function, ROWS, [storage.jobs.table_arn])
        allow(self.function, FIND, storage.jobs_by(schema.LISTING))
        # It sends runs, continues through its own queue, and keeps unreadable messages.
        own = queues.events.queue.queue_arn
        allow(self.function, ["sqs:SendMessage"], [*queues.sent_to, own, queues.unreadable.queue_arn])
        # It removes a rule that no job needs when the rule matches an event.
        bus.let_change_rules(self.function, REMOVE_RULES)
        subscribe_to_ends(self, queues.events.queue, maker.settings.functions.target_arns)
        called = live(self.function, maker.settings)
        queues.events.into(self.function, called, most_at_once=maker.settings.concurrency.events)
