"""The due index over DynamoDB, and the rows that say how far back it has to be asked."""

from collections.abc import Sequence

from timeball.aws.dynamodb.table.collection import Table
from timeball.aws.dynamodb.table.greatest import raise_to
from timeball.aws.dynamodb.table.keys import Key, due_bucket, key_of, owner_of_row
from timeball.aws.dynamodb.table.schema import DUE
from timeball.aws.side_by_side import side_by_side
from timeball.ports.registers.due_index import DuePage, DueQuery, Place


class DynamoDueIndex:
    """The due index of one table."""

    def __init__(self, table: Table) -> None:
        self._table, self._reader = table, table.reader

    def query(self, queries: Sequence[DueQuery]) -> list[DuePage]:
        """Ask for each at the same time."""
        return side_by_side(self._table.threads, self._page, queries)

    def read_oldest_days(self, shards: Sequence[int]) -> dict[int, int]:
        """Return the oldest days as the nearest copy of their rows has them."""
        rows = self._reader.get([_shard_key(shard) for shard in shards], strong=False)
        return {shard: row["oldest_day_at"] for shard, row in zip(shards, rows, strict=True) if row}

    def move_oldest_day(self, shard: int, oldest_day_at: int) -> None:
        """Write the oldest day, unless a later one stands."""
        raise_to(self._table, _shard_key(shard), "oldest_day_at", oldest_day_at)

    def _page(self, query: DueQuery) -> DuePage:
        bucket, after = due_bucket(query.shard, query.day_at), None
        if query.after is not None:
            after = {**key_of(query.after.owned), DUE.partition.name: bucket, DUE.sort.name: query.after.due_at}
        left_out = [f"{tenant}#" for tenant in sorted(query.left_out)]
        rows, last = self._reader.index_page(DUE, bucket, query.through_at, query.limit, after, left_out)
        stopped = None if last is None else Place(last[DUE.sort.name], owner_of_row(last["pk"], last["sk"]))
        return DuePage(tuple(owner_of_row(row["pk"], row["sk"]) for row in rows), stopped)


def _shard_key(shard: int) -> Key:
    return {"pk": f"SHARD#{shard}", "sk": "OLDEST_DAY"}
