"""The due index over DynamoDB, and the rows that scans share.

Those rows say how many days back each shard must be queried, how many shards there are, and who drives each partition.
Such a row changes only one way, to a later value: a process that would change it back gets the row that stands.
"""

from collections.abc import Callable, Sequence
from itertools import chain, islice
from typing import Any

from timeball.aws.dynamodb.table.codec import Item
from timeball.aws.dynamodb.table.collection import TableAccess
from timeball.aws.dynamodb.table.keys import Key, due_bucket, key_of, owner_of_row
from timeball.aws.dynamodb.table.schema import DUE
from timeball.aws.dynamodb.table.writes import Insert, Update
from timeball.aws.request_retries import side_by_side
from timeball.domain.time.instants import DAY_MS
from timeball.ports.due_index import DueCursor, DuePage, DueQuery, Owner, Tick, next_tick

_Row = dict[str, Any]
MOST_SHARDS: Key = {"pk": "SHARDS", "sk": "MOST"}
"""The row of the greatest number of shards that was ever used."""


class DynamoDueIndex:
    """The due index of one table."""

    def __init__(self, table: TableAccess) -> None:
        self._table, self._reader = table, table.reader

    def query(self, queries: Sequence[DueQuery]) -> list[DuePage]:
        """Run all queries at the same time."""
        return side_by_side(self._table.threads, self._page, queries)

    def ahead(self, shard: int, first_at: int, last_at: int, most: int) -> list[int]:
        """Query the days of the range, one after the other, a megabyte with each request."""
        days = range(first_at - first_at % DAY_MS, last_at + 1, DAY_MS)
        buckets = (due_bucket(shard, day_at) for day_at in days)
        rows = (self._reader.listed(DUE, bucket, first_at, last_at, most, forward=True) for bucket in buckets)
        return [row[DUE.sort.name] for row in islice(chain.from_iterable(rows), most)]

    def read_oldest_days(self, shards: Sequence[int]) -> dict[int, int]:
        """Return the oldest days as the nearest copy of their rows has them."""
        rows = self._reader.get([_shard_key(shard) for shard in shards], strong=False)
        return {shard: row["oldest_day_at"] for shard, row in zip(shards, rows, strict=True) if row}

    def move_oldest_day(self, shard: int, oldest_day_at: int) -> None:
        """Write the oldest day, unless a later one stands."""
        raise_to(self._table, _shard_key(shard), "oldest_day_at", oldest_day_at)

    def most_shards(self, shards: int) -> int:
        """Store the greatest number of shards; one request if it is stored already."""
        return raise_to(self._table, MOST_SHARDS, "shards", shards)

    def _page(self, query: DueQuery) -> DuePage:
        bucket, after = due_bucket(query.shard, query.day_at), None
        if query.after is not None:
            after = {**key_of(query.after.owned), DUE.partition.name: bucket, DUE.sort.name: query.after.due_at}
        left_out = [f"{tenant}#" for tenant in sorted(query.left_out)]
        rows, last = self._reader.index_page(DUE, bucket, query.through_at, query.limit, after, left_out)
        stopped = None if last is None else DueCursor(last[DUE.sort.name], owner_of_row(last["pk"], last["sk"]))
        return DuePage(tuple(owner_of_row(row["pk"], row["sk"]) for row in rows), stopped)


def _shard_key(shard: int) -> Key:
    return {"pk": f"SHARD#{shard}", "sk": "OLDEST_DAY"}


class DynamoPartitions:
    """The partitions of one table."""

    def __init__(self, table: TableAccess) -> None:
        self._table = table

    def take(self, partition: int, owner: Owner, now: int) -> bool:
        """Give the partition to the newest owner that ticks: one request, or two if the tick is noted."""

        def ticked(row: _Row | None) -> Item | None:
            last = _to_tick(row) if row else None
            tick = next_tick(last, owner, now)
            return None if tick is None or tick == last else _to_item(tick)

        return _to_tick(settle(self._table, _partition_key(partition), ticked)).owner == owner

    def last_tick(self, partition: int) -> int | None:
        """Read the note as the nearest copy of its row has it."""
        row = self._table.reader.get([_partition_key(partition)], strong=False)[0]
        return _to_tick(row).at if row else None


def _partition_key(partition: int) -> Key:
    return {"pk": f"PARTITION#{partition}", "sk": "OWNER"}


def _to_item(tick: Tick) -> Item:
    return {"owner": f"{tick.owner.started_at}|{tick.owner.name}", "at": tick.at}


def _to_tick(row: Item) -> Tick:
    started_at, _, name = str(row["owner"]).partition("|")
    return Tick(Owner(started_at, name), int(row["at"]))


def settle(table: TableAccess, key: Key, after: Callable[[_Row | None], Item | None]) -> Any:  # noqa: ANN401 - a row
    """Write what a row must become, computed anew from each row that refuses it, until it may stand (None).

    Returns the row that stands: one request if it may stand already. The first reading may be old: a process that
    learns late does some work twice.
    """
    row = table.reader.get([key], strong=False)[0]
    while (changed := after(row)) is not None:
        was = {name: row[name] for name in changed} if row else {}
        (written,) = table.writer.write([Update(key, was, changed) if row else Insert({**key, **changed})])
        row = {**changed} if written.done else written.row
    return row


def raise_to(table: TableAccess, key: Key, name: str, value: int) -> int:
    """Raise a row's attribute to a value, unless a greater one stands; return the value that stands then."""

    def raised(row: _Row | None) -> Item | None:
        return {name: value} if row is None or row[name] < value else None

    return int(settle(table, key, raised)[name])
