"""The owners of the partitions over DynamoDB: the greater one takes a partition from the lesser."""

from timeball.aws.dynamodb.table.collection import Table
from timeball.aws.dynamodb.table.greatest import raise_to
from timeball.ports.registers.partitions import Owner


class DynamoPartitions:
    """The partitions of one table."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def take(self, partition: int, owner: Owner) -> bool:
        """Make the greater owner the partition's; one request when it is already."""
        mine = f"{owner.started_at}|{owner.name}"
        return raise_to(self._table, {"pk": f"PARTITION#{partition}", "sk": "OWNER"}, "owner", mine) == mine
