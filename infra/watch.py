"""The watch function: runs that were sent are looked at again, and so is what a queue gave up on."""

from constructs import Construct

from infra.concurrency import FEWEST_AT_ONCE
from infra.functions import Bounds, FunctionMaker, allow
from infra.queues import WATCH_TIMEOUT, WATCHES_GATHER, Queues
from infra.storage import FIND, ROWS, Storage
from timeball.aws.dynamodb.table import schema


class Watch(Construct):
    """One function for the runs of all priorities."""

    def __init__(
        self, scope: Construct, construct_id: str, maker: FunctionMaker, storage: Storage, queues: Queues
    ) -> None:
        super().__init__(scope, construct_id)
        self.function = maker.make(
            self,
            "watch",
            "watch",
            about="Looks again at runs that were sent, and at what a queue gave up on",
            bounds=Bounds(
                WATCH_TIMEOUT,
                memory_mb=512,
                loops=True,
                why="Reads and writes a batch's rows; as few at once as AWS lets it, for nobody waits for them",
            ),
        )
        # The effects of an end call who waits for the run's key.
        allow(self.function, ROWS, [storage.jobs.table_arn])
        allow(self.function, FIND, storage.jobs_by(schema.LISTING))
        # A lost run is sent again, but not to a queue whose executors are behind; what cannot be read is kept.
        allow(self.function, ["sqs:SendMessage"], [*queues.sent_to, queues.unreadable.queue_arn])
        allow(self.function, ["sqs:GetQueueAttributes"], [feed.queue.queue_arn for feed in queues.by_priority.values()])
        queues.watch.into(self.function, most_at_once=FEWEST_AT_ONCE, gathering=WATCHES_GATHER)
