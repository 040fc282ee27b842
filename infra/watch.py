"""The watch function: recheck runs after they were sent, and runs that a queue gave up on."""

from constructs import Construct

from infra.concurrency import FEWEST_AT_ONCE
from infra.functions import FunctionBounds, FunctionMaker, allow
from infra.queues import WATCH_TIMEOUT, WATCHES_GATHER, Queues
from infra.rollout import live
from infra.storage import FIND, ROWS, Storage
from timeball.aws.dynamodb.table import schema


class WatchFunction(Construct):
    """One function for the runs of all priorities."""

    def __init__(
        self, scope: Construct, construct_id: str, maker: FunctionMaker, storage: Storage, queues: Queues
    ) -> None:
        super().__init__(scope, construct_id)
        self.function = maker.make(
            self,
            "watch",
            "watch",
            about="Rechecks runs that were sent, and runs that a queue gave up on",
            bounds=FunctionBounds(
                WATCH_TIMEOUT,
                memory_mb=512,
                loops=True,
                why="Reads and writes a batch's rows; as few at once as AWS allows, because no caller waits for it",
            ),
        )
        # The end of a run admits runs that wait for its limits.
        allow(self.function, ROWS, [storage.jobs.table_arn])
        allow(self.function, FIND, storage.jobs_by(schema.LISTING))
        # A lost run is sent again, but not to a queue with a backlog; unreadable messages are kept.
        allow(self.function, ["sqs:SendMessage"], [*queues.sent_to, queues.unreadable.queue_arn])
        allow(self.function, ["sqs:GetQueueAttributes"], [feed.queue.queue_arn for feed in queues.by_priority.values()])
        queues.watch.into(
            self.function, live(self.function, maker.settings), most_at_once=FEWEST_AT_ONCE, gathering=WATCHES_GATHER
        )
