"""The events function: what the rules of the bus have matched becomes runs."""

from dataclasses import replace

from constructs import Construct

from infra.bus import REMOVE_RULES, Bus
from infra.functions import Bounds, FunctionMaker, allow
from infra.queues import EVENTS_TIMEOUT, Queues
from infra.storage import FIND, ROWS, Storage
from infra.targets import hear_of_ends
from timeball.aws.dynamodb.table import schema


class Events(Construct):
    """The function that the queue of events feeds."""

    def __init__(
        self, scope: Construct, construct_id: str, maker: FunctionMaker, storage: Storage, queues: Queues, bus: Bus
    ) -> None:
        super().__init__(scope, construct_id)
        self.function = replace(maker, environment={**maker.environment, **bus.environment}).make(
            self,
            "events",
            "events",
            about="Makes the runs of jobs on events",
            bounds=Bounds(
                EVENTS_TIMEOUT,
                memory_mb=512,
                loops=True,
                why="Writes a run for each event and job of a batch; a target may send the next event, so it may loop. "
                "The bound keeps a flood of events from the places of the scan and the API",
            ),
        )
        # Whatever runs it ends, those that wait for their keys are called.
        allow(self.function, ROWS, [storage.jobs.table_arn])
        allow(self.function, FIND, storage.jobs_by(schema.LISTING))
        # What it makes is sent; what is made later comes to its own queue again; what cannot be read is kept.
        own = queues.events.queue.queue_arn
        allow(self.function, ["sqs:SendMessage"], [*queues.sent_to, own, queues.unreadable.queue_arn])
        # A rule that no job needs is removed when an event tells of it.
        bus.let_change_rules(self.function, REMOVE_RULES)
        hear_of_ends(self, queues.events.queue, maker.settings.functions.target_arns)
        queues.events.into(self.function, most_at_once=maker.settings.concurrency.events)
