"""The tasks over DynamoDB: one row each, and beside it the rows of replaced versions."""

from timeball.aws.dynamodb.collections.listing import Listing
from timeball.aws.dynamodb.table.collection import DynamoRows, RowKind, TableAccess
from timeball.aws.dynamodb.table.keys import REGISTERED, task_key
from timeball.aws.dynamodb.table.mapper import to_task
from timeball.domain.model.ids import TaskKey
from timeball.domain.model.jobs.task import Task
from timeball.ports.collections.listing import ListQuery


class DynamoTasks(DynamoRows[TaskKey, Task]):
    """The tasks of one table."""

    def __init__(self, table: TableAccess) -> None:
        super().__init__(table, RowKind(task_key, table.mapper.of_task, to_task))
        self._listing = Listing(table.reader, table.mapper.list_shards)

    def listed(self, query: ListQuery[TaskKey]) -> list[tuple[int, TaskKey]]:
        """Return what the listing index names as tasks."""
        return self._listing.page(TaskKey, [REGISTERED], query)
