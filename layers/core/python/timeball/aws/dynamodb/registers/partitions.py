"""The owners of the partitions over DynamoDB: one row for each partition, with its last tick."""

from timeball.aws.dynamodb.table.codec import Item
from timeball.aws.dynamodb.table.collection import TableAccess
from timeball.aws.dynamodb.table.writes import Insert, Update
from timeball.ports.registers.partitions import Owner, Tick, next_tick


class DynamoPartitions:
    """The partitions of one table."""

    def __init__(self, table: TableAccess) -> None:
        self._table = table

    def take(self, partition: int, owner: Owner, now: int) -> bool:
        """Give the partition to the newest owner that ticks: one request, or two if the tick is noted.

        The reading may be old. Then the write is refused, and returns the row that stands.
        """
        key = {"pk": f"PARTITION#{partition}", "sk": "OWNER"}
        row = self._table.reader.get([key], strong=False)[0]
        while True:
            last = _to_tick(row) if row else None
            tick = next_tick(last, owner, now)
            if tick is None or tick == last:
                return tick is not None
            write = Update(key, _to_item(last), _to_item(tick)) if last else Insert({**key, **_to_item(tick)})
            written = self._table.writer.write([write])[0]
            if written.done:
                return True
            row = written.row


def _to_item(tick: Tick) -> Item:
    return {"owner": f"{tick.owner.started_at}|{tick.owner.name}", "at": tick.at}


def _to_tick(row: Item) -> Tick:
    started_at, _, name = str(row["owner"]).partition("|")
    return Tick(Owner(started_at, name), int(row["at"]))
