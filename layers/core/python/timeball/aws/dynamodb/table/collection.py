"""A collection of rows over DynamoDB. Each write is one conditional write; each refusal is read, not assumed.

Each write leaves an id of its own on the row. If a refused write finds its id there, at the revision that it wrote, it
is done: its first answer was lost, and it was repeated. The content of the row proves nothing, because another process
may have written the same.
"""

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Generic, TypeVar

from timeball.aws.dynamodb.table.codec import Item, from_item, to_item
from timeball.aws.dynamodb.table.keys import LAST, Key
from timeball.aws.dynamodb.table.mapper import Mapper
from timeball.aws.dynamodb.table.queries import TableReader
from timeball.aws.dynamodb.table.shapes import FIRST, SHAPES, Shape, Shapes
from timeball.aws.dynamodb.table.writes import Insert, Update, Writer, Written
from timeball.ports.rows import Row, Swap, Swapped

RowKey = TypeVar("RowKey")
Owner = TypeVar("Owner")

_WRITE = "w"
"""The attribute with the id of the row's last write; it is no field of a value. Each byte of a row is paid for."""


def fresh_write_id() -> str:
    """Return an id that no other write of a row at the same revision has: 48 random bits in eight characters."""
    return secrets.token_urlsafe(6)


@dataclass(frozen=True)
class TableAccess:
    """The table of all collections: its reader, writer and mapper, threads, the ids of writes, the shapes of rows."""

    reader: TableReader
    writer: Writer
    mapper: Mapper
    threads: Executor
    write_id: Callable[[], str] = fresh_write_id
    shapes: Shapes = field(default_factory=lambda: SHAPES)

    def shape_of(self, kind: type) -> Shape:
        """Return the shape of the rows of a kind."""
        return self.shapes.get(kind, FIRST)


@dataclass(frozen=True)
class RowKind(Generic[RowKey, Row]):
    """The properties of one collection: its values, the keys of its rows, and how rows turn into items and back."""

    of: type[Row]
    key_of: Callable[[RowKey], Key]
    to_item: Callable[[Row, int], Item]
    to_row: Callable[[dict[str, Any]], Row]


def row_kind(
    of: type[Row],
    field: str,
    key_of: Callable[[RowKey], Key],
    name_in: Callable[[str, str], RowKey],
    added: Callable[[Row, int], Item] = lambda *_: {},
) -> RowKind[RowKey, Row]:
    """Return the kind of rows whose key is in one field.

    `name_in` returns the content of the field, from a partition key and a sort key. `added` returns the attributes
    that are no fields of the row.
    """

    def item_of(row: Row, now: int) -> Item:
        return {**key_of(getattr(row, field)), **to_item(row, field), **added(row, now)}

    def row_of(item: dict[str, Any]) -> Row:
        return from_item(of, item, **{field: name_in(item["pk"], item["sk"])})

    return RowKind(of, key_of, item_of, row_of)


class DynamoRows(Generic[RowKey, Row]):
    """The rows of one kind. A collection with further queries extends it, as its port extends `Rows`."""

    def __init__(self, table: TableAccess, kind: RowKind[RowKey, Row]) -> None:
        self._table = table
        self._kind: RowKind[RowKey, Row] = kind
        self._shape = table.shape_of(kind.of)

    def insert(self, rows: Sequence[Row], now: int) -> list[Row | None]:
        """Insert each row that does not exist."""
        items = [self._item(row, now) | {_WRITE: self._table.write_id()} for row in rows]
        return [
            None if written.done or not written.row or _is_of(item, written.row) else self.row_in(written.row)
            for item, written in zip(items, self._table.writer.write([Insert(item) for item in items]), strict=True)
        ]

    def read(self, keys: Sequence[RowKey], *, strong: bool = True) -> list[Row | None]:
        """Return each row."""
        found = self._table.reader.get([self._kind.key_of(key) for key in keys], strong=strong)
        return [self.row_in(row) if row else None for row in found]

    def swap(self, swaps: Sequence[Swap[Row]], now: int) -> list[Swapped[Row]]:
        """Change each row if it has the revision that was read."""
        items = [
            (
                self._item(swap.before, now),
                self._item(swap.written, now) | {_WRITE: self._table.write_id()},
            )
            for swap in swaps
        ]
        written = self._written(items)
        return [
            Swapped(done=True, row=swap.written)
            if one.done or (one.row and _is_of(after, one.row))
            else Swapped(done=False, row=self.row_in(one.row) if one.row else None)
            for swap, (_, after), one in zip(swaps, items, written, strict=True)
        ]

    def row_in(self, item: dict[str, Any]) -> Row:
        """Return the row in a stored item. Raises NewerRowError."""
        return self._kind.to_row(self._shape.read(item))

    def _item(self, row: Row, now: int) -> Item:
        return self._shape.written(self._kind.to_item(row, now))

    def _written(self, items: Sequence[tuple[Item, Item]]) -> list[Written]:
        """Write each change of an item; first as if the stored one had the version that is written.

        An item of another version refuses that, and is then written whole.
        """
        written = self._table.writer.write([_update(before, after) for before, after in items])
        others = [
            position
            for position, ((before, _), one) in enumerate(zip(items, written, strict=True))
            if one.row and one.row["revision"] == before["revision"] and one.row.get("v") != before["v"]
        ]
        whole = [_rewrite(written[position].row or {}, self._shape, *items[position]) for position in others]
        for position, one in zip(others, self._table.writer.write(whole) if whole else [], strict=True):
            written[position] = one
        return written


class DynamoNamedRows(DynamoRows[RowKey, Row], Generic[Owner, RowKey, Row]):
    """Rows of owners. An owner's rows are in one partition, under sort keys of a prefix and their names."""

    def __init__(
        self,
        table: TableAccess,
        kind: RowKind[RowKey, Row],
        range_of: Callable[[Owner], Key],
        is_shown: Callable[[Row], bool] = lambda _: True,
    ) -> None:
        super().__init__(table, kind)
        self._range_of: Callable[[Owner], Key] = range_of
        self._is_shown: Callable[[Row], bool] = is_shown

    def of_owner(self, owner: Owner, after: str = "", limit: int | None = None) -> list[Row]:
        """Return an owner's rows after a name."""
        rows = map(self.row_in, rows_after(self._table.reader, self._range_of(owner), after, limit))
        return [*islice(filter(self._is_shown, rows), limit)]


def rows_after(reader: TableReader, prefix: Key, name: str, page: int | None = None) -> Iterator[dict[str, Any]]:
    """Return the rows whose sort keys have a prefix, after a name, `page` in each request."""
    # A space sorts before any character of a name, or with which one continues.
    return reader.between(prefix["pk"], f"{prefix['sk']}{name} ", prefix["sk"] + LAST, page)


def _is_of(item: Item, row: Mapping[str, Any]) -> bool:
    """Return whether a stored row is from the write of this item, and was not written since.

    A process of an older version raises the revision and leaves the id.
    """
    return all(row.get(name) == item[name] for name in (_WRITE, "revision"))


def _update(before: Item, after: Item) -> Update:
    """Return the write that turns one item into another.

    The stored bucket and expiry date from the time of their write, which is not known here: a changed due key brings
    its bucket, and each write its expiry.
    """
    moved = before.get("due_at") != after.get("due_at")
    return Update(
        {"pk": str(after["pk"]), "sk": str(after["sk"])},
        where={"revision": before["revision"], "v": before["v"]},
        set={
            name: value
            for name, value in after.items()
            if before.get(name) != value or name == "expires_at" or (moved and name == "due_bucket")
        },
        remove=tuple(name for name in before if name not in after),
    )


def _rewrite(row: dict[str, Any], shape: Shape, before: Item, after: Item) -> Update:
    """Return the write that makes the same change to a stored row of another version, as a row of the one written."""
    change, wanted = _update(before, after), shape.rewritten(row)
    to = {name: value for name, value in {**wanted, **change.set}.items() if name not in change.remove}
    return Update(
        change.key,
        where={"revision": before["revision"]},
        set={name: value for name, value in to.items() if row.get(name) != value},
        remove=tuple(name for name in row if name not in to),
    )
