"""When clients' requests took effect, and when events were accepted, over DynamoDB: the first note stands."""

from collections.abc import Sequence

from timeball.aws.dynamodb.table.codec import Item
from timeball.aws.dynamodb.table.collection import TableAccess
from timeball.aws.dynamodb.table.keys import event_key, request_key
from timeball.aws.dynamodb.table.writes import Insert
from timeball.domain.model.ids import JobKey
from timeball.domain.time.instants import DAY_MS, SECOND_MS


class DynamoRequests:
    """The requests of one table."""

    def __init__(self, table: TableAccess) -> None:
        self._table = table

    def remember(self, job: JobKey, request: str, at: int, now: int) -> int:
        """Note when a request took effect; the first note stands."""
        note: Item = {**request_key(job, request), "at": at, "expires_at": self._table.mapper.expiry(now)}
        written = self._table.writer.write([Insert(note)])[0]
        return at if written.done or written.row is None else int(written.row["at"])

    def noted(self, job: JobKey, request: str) -> int | None:
        """Read the note, strongly."""
        (row,) = self._table.reader.get([request_key(job, request)])
        return None if row is None else int(row["at"])

    def take_events(self, tenant: str, names: Sequence[str], now: int) -> list[int]:
        """Note when events were accepted. The first note stands until DynamoDB has removed it, after a day or more."""
        kept: Item = {"at": now, "expires_at": (now + DAY_MS) // SECOND_MS}
        notes = [Insert({**event_key(tenant, name), **kept}) for name in names]
        written = self._table.writer.write(notes)
        return [now if one.done or one.row is None else int(one.row["at"]) for one in written]
