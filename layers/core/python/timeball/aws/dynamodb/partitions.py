"""The owners of the partitions over DynamoDB: the greater one takes a partition from the lesser."""

from timeball.aws.dynamodb.table.collection import Table
from timeball.aws.dynamodb.table.keys import Key
from timeball.aws.dynamodb.table.writes import Insert, Update, Write
from timeball.ports.partitions import Owner


class DynamoPartitions:
    """The partitions of one table."""

    def __init__(self, table: Table) -> None:
        self._reader, self._writer = table.reader, table.writer

    def take(self, partition: int, owner: Owner) -> bool:
        """Make the greater owner the partition's; one request when it is already."""
        mine = f"{owner.started_at}|{owner.name}"
        partition_row: Key = {"pk": f"PARTITION#{partition}", "sk": "OWNER"}
        standing = self._reader.get([partition_row], strong=False)[0]  # who is late to know does some work twice
        while standing is None or standing["owner"] < mine:
            taking: Write = Insert({**partition_row, "owner": mine})
            if standing is not None:
                taking = Update(partition_row, {"owner": standing["owner"]}, {"owner": mine})
            written = self._writer.write([taking])[0]
            standing = {"owner": mine} if written.done else written.row
        return bool(standing["owner"] == mine)
