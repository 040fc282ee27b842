"""A collection of rows over DynamoDB. Each write is one conditional write; each refusal is read, not assumed.

A refused write whose row already holds what was to be written is done: its first answer was lost, and it was repeated.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from timeball.aws.dynamodb.table.codec import Item
from timeball.aws.dynamodb.table.keys import Key
from timeball.aws.dynamodb.table.mapper import Mapper
from timeball.aws.dynamodb.table.queries import Reader
from timeball.aws.dynamodb.table.writes import Insert, Update, Writer
from timeball.ports.collections.rows import Row, Swap, Swapped

RowKey = TypeVar("RowKey")

_OF_THEIR_TIME = frozenset({"due_bucket", "expires_at"})
"""Attributes that depend on when a row was written."""


@dataclass(frozen=True)
class Table:
    """The table of all collections: what reads it, what writes to it, what maps its rows; and threads to ask with."""

    reader: Reader
    writer: Writer
    mapper: Mapper
    threads: Executor


@dataclass(frozen=True)
class Kind(Generic[RowKey, Row]):
    """What tells one collection from another: where its rows stand, and how they turn into items and back.

    An item that has none of the `beside` attributes leaves them as they stand.
    """

    place: Callable[[RowKey], Key]
    to_item: Callable[[Row, int], Item]
    to_row: Callable[[dict[str, Any]], Row]
    beside: frozenset[str] = frozenset()


class DynamoRows(Generic[RowKey, Row]):
    """The rows of one kind. What has questions of its own extends it, as its port extends `Rows`."""

    def __init__(self, table: Table, kind: Kind[RowKey, Row]) -> None:
        self._table = table
        self._kind: Kind[RowKey, Row] = kind

    def insert(self, rows: Sequence[Row], now: int) -> list[Row | None]:
        """Insert each row that is not there."""
        items = [self._kind.to_item(row, now) for row in rows]
        return [
            None
            if written.done or not written.row or self._holds(written.row, item)
            else self._kind.to_row(written.row)
            for item, written in zip(items, self._table.writer.write([Insert(item) for item in items]), strict=True)
        ]

    def read(self, keys: Sequence[RowKey], *, strong: bool = True) -> list[Row | None]:
        """Return each row."""
        found = self._table.reader.get([self._kind.place(key) for key in keys], strong=strong)
        return [self._kind.to_row(row) if row else None for row in found]

    def swap(self, swaps: Sequence[Swap[Row]], now: int) -> list[Swapped[Row]]:
        """Change each row if it has the revision that was read."""
        items = [(self._kind.to_item(swap.before, now), self._kind.to_item(swap.written, now)) for swap in swaps]
        written = self._table.writer.write([_update(before, after) for before, after in items])
        return [
            Swapped(done=True, row=swap.written, found=not one.done)
            if one.done or (one.row and self._holds(one.row, after))
            else Swapped(done=False, row=self._kind.to_row(one.row) if one.row else None)
            for swap, (_, after), one in zip(swaps, items, written, strict=True)
        ]

    def _holds(self, row: Mapping[str, Any], item: Item) -> bool:
        """Say whether a stored row is what was to be written, whenever that was."""
        beside = self._kind.beside
        ignored = _OF_THEIR_TIME if beside & item.keys() else _OF_THEIR_TIME | beside
        return all(row.get(name) == item.get(name) for name in (row.keys() | item.keys()) - ignored)


def _update(before: Item, after: Item) -> Update:
    """Return the write that turns one item into another.

    The stored bucket and expiry are of the time of their writing, which nobody remembers: a due key that moves brings
    its bucket, and each write its expiry.
    """
    moved = before.get("due_at") != after.get("due_at")
    return Update(
        {"pk": str(after["pk"]), "sk": str(after["sk"])},
        where={"revision": before["revision"]},
        set={
            name: value
            for name, value in after.items()
            if before.get(name) != value or name == "expires_at" or (moved and name == "due_bucket")
        },
        remove=tuple(name for name in before if name not in after),
    )
