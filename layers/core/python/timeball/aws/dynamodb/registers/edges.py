"""The edges over DynamoDB: rows in the parent's item collection, named by the child.

A forgotten edge expires in a day, and is not returned any more; until then it may be noted again.
"""

from collections.abc import Iterator, Sequence

from timeball.aws.dynamodb.table.codec import Item
from timeball.aws.dynamodb.table.collection import TableAccess
from timeball.aws.dynamodb.table.keys import CHILD, LAST, edge_key, job_key
from timeball.aws.dynamodb.table.writes import Insert, Update
from timeball.domain.model.ids import JobKey
from timeball.domain.model.terms.dependency import Edge
from timeball.domain.time.instants import DAY_MS, SECOND_MS
from timeball.ports.errors import UnavailableError


class DynamoEdges:
    """The edges of one table."""

    def __init__(self, table: TableAccess) -> None:
        self._table = table

    def note(self, edges: Sequence[Edge], now: int) -> None:
        """Insert each edge that does not exist; renew the others."""
        noted: Item = {"noted_at": now}
        inserted = self._table.writer.write([Insert({**edge_key(one), **noted}) for one in edges])
        old = [edge_key(one) for one, written in zip(edges, inserted, strict=True) if not written.done]
        renewed = self._table.writer.write([Update(key, {}, noted, ("expires_at",)) for key in old])
        if not all(written.done for written in renewed):
            raise UnavailableError("an edge has just expired")

    def children(self, parents: Sequence[JobKey]) -> list[list[JobKey]]:
        """Return the children of each parent; all parents are queried at the same time."""
        return list(self._table.threads.map(lambda parent: [edge.child for edge, _ in self._edges(parent)], parents))

    def forget(self, edges: Sequence[Edge], noted_before: int, now: int) -> None:
        """Let each edge that is old enough expire, unless it is noted again just now."""
        wanted = {*edges}
        expiry: Item = {"expires_at": (now + DAY_MS) // SECOND_MS}
        self._table.writer.write(
            [
                Update(edge_key(edge), {"noted_at": noted_at}, expiry)
                for parent in dict.fromkeys(edge.parent for edge in edges)
                for edge, noted_at in self._edges(parent)
                if edge in wanted and noted_at < noted_before
            ]
        )

    def _edges(self, parent: JobKey) -> Iterator[tuple[Edge, int]]:
        rows = self._table.reader.between(job_key(parent)["pk"], CHILD, CHILD + LAST)
        for row in rows:
            if "expires_at" not in row:
                yield Edge(parent, JobKey(parent.tenant, row["sk"].removeprefix(CHILD))), row["noted_at"]
