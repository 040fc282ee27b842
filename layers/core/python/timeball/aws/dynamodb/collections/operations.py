"""The bulk operations over DynamoDB: a row each, in the due index while it runs."""

from timeball.aws.dynamodb.collections.listing import Listing
from timeball.aws.dynamodb.table.collection import DynamoRows, RowKind, TableAccess
from timeball.aws.dynamodb.table.keys import OPERATIONS, operation_key
from timeball.aws.dynamodb.table.mapper import to_operation
from timeball.domain.model.ids import OperationKey
from timeball.domain.operations.operation import Operation
from timeball.ports.collections.listing import ListQuery


class DynamoOperations(DynamoRows[OperationKey, Operation]):
    """The operations of one table."""

    def __init__(self, table: TableAccess) -> None:
        super().__init__(table, RowKind(operation_key, table.mapper.of_operation, to_operation))
        self._listing = Listing(table.reader, table.mapper.list_shards)

    def listed(self, query: ListQuery[OperationKey]) -> list[tuple[int, OperationKey]]:
        """Return what the listing index names as operations."""
        return self._listing.page(OperationKey, [OPERATIONS], query)
