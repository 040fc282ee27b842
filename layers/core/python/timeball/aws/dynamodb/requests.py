"""When clients' requests took effect, over DynamoDB: the first note stands."""

from timeball.aws.dynamodb.table.codec import Item
from timeball.aws.dynamodb.table.collection import Table
from timeball.aws.dynamodb.table.keys import request_key
from timeball.aws.dynamodb.table.writes import Insert
from timeball.domain.model.ids import JobKey


class DynamoRequests:
    """The requests of one table."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def remember(self, job: JobKey, request: str, at: int, now: int) -> int:
        """Note when a request took effect; the first note stands."""
        note: Item = {**request_key(job, request), "at": at, "expires_at": self._table.mapper.expiry(now)}
        written = self._table.writer.write([Insert(note)])[0]
        return at if written.done or written.row is None else int(written.row["at"])
