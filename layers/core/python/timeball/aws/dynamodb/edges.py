"""The edges over DynamoDB: rows in the parent's item collection, named by the child. They are all key."""

from collections.abc import Sequence
from itertools import islice

from timeball.aws.dynamodb.table.collection import Table
from timeball.aws.dynamodb.table.keys import CHILD, LAST, edge_key, job_key
from timeball.aws.dynamodb.table.writes import Insert
from timeball.domain.model.dependency import Edge
from timeball.domain.model.ids import JobKey


class DynamoEdges:
    """The edges of one table."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def note(self, edges: Sequence[Edge], now: int) -> None:  # noqa: ARG002 - kept for good
        """Insert each that is not there."""
        self._table.writer.write([Insert({**edge_key(one)}) for one in edges])

    def children(self, parent: JobKey, after: str = "", limit: int | None = None) -> list[JobKey]:
        """Return a parent's children behind an id."""
        # A space sorts before whatever an id goes on with.
        first = f"{CHILD}{after} " if after else CHILD
        rows = self._table.reader.between(job_key(parent)["pk"], first, CHILD + LAST)
        return [JobKey(parent.tenant, row["sk"].removeprefix(CHILD)) for row in islice(rows, limit)]
