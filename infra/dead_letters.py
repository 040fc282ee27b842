"""The dead-letter function: what could not be carried is marked on its run, so that nothing vanishes."""

from constructs import Construct

from infra.functions import Bounds, FunctionMaker, allow
from infra.queues import DEAD_LETTER_TIMEOUT, FEWEST_AT_ONCE, Queues
from infra.storage import ROWS, Storage


class DeadLetters(Construct):
    """One function for what any queue gave up on."""

    def __init__(
        self, scope: Construct, construct_id: str, maker: FunctionMaker, storage: Storage, queues: Queues
    ) -> None:
        super().__init__(scope, construct_id)
        self.function = maker.make(
            self,
            "dead-letter",
            "dead_letter",
            about="Judges what could not be carried by its row",
            bounds=Bounds(
                DEAD_LETTER_TIMEOUT,
                memory_mb=512,
                loops=True,
                why="Reads and writes a batch's rows; as few at once as AWS lets it, for nobody waits for them",
            ),
        )
        allow(self.function, ROWS, [storage.jobs.table_arn])
        # The end of a run sends the one that is parked behind it; what cannot be read is kept.
        allow(self.function, ["sqs:SendMessage"], [*queues.arns, queues.unreadable.queue_arn])
        queues.dead.into(self.function, most_at_once=FEWEST_AT_ONCE)
