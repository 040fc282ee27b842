"""The dead-letter function: what could not be carried is marked on its run, so that nothing vanishes."""

from constructs import Construct

from infra.functions import FunctionMaker, allow
from infra.queues import DEAD_LETTER_TIMEOUT, Queues
from infra.storage import ROWS, Storage


class DeadLetters(Construct):
    """One function for the dead letters of all priorities."""

    def __init__(
        self, scope: Construct, construct_id: str, maker: FunctionMaker, storage: Storage, queues: Queues
    ) -> None:
        super().__init__(scope, construct_id)
        self.function = maker.make(
            self,
            "dead-letter",
            "dead_letter",
            about="Judges what could not be carried by its row",
            timeout=DEAD_LETTER_TIMEOUT,
            memory_mb=512,
        )
        allow(self.function, ROWS, [storage.jobs.table_arn])
        # The end of a run sends the one that is parked behind it; what cannot be read is kept.
        allow(self.function, ["sqs:SendMessage"], [*queues.arns, queues.unreadable.queue_arn])
        for pair in queues.by_priority.values():
            pair.dead.into(self.function)
