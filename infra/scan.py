"""The scan function: it turns what is due into runs and sends them to their queues."""

from aws_cdk import Duration
from constructs import Construct

from infra.functions import FunctionMaker, allow
from infra.queues import Queues
from infra.storage import FIND, ROWS, Storage


class Scan(Construct):
    """The function that the ticker calls each second, for each partition."""

    def __init__(
        self, scope: Construct, construct_id: str, maker: FunctionMaker, storage: Storage, queues: Queues
    ) -> None:
        super().__init__(scope, construct_id)
        self.function = maker.make(
            self,
            "scan",
            "scan",
            about="Sends what is due within the look-ahead",
            timeout=Duration.seconds(30),
            memory_mb=1024,
        )
        allow(self.function, ROWS, [storage.jobs.table_arn])
        allow(self.function, FIND, storage.jobs_and_indexes)
        allow(self.function, ["sqs:SendMessage"], queues.arns)
