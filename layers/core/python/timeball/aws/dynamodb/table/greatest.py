"""A row of one value that only grows: whoever brings a lesser one is told the greater."""

from typing import Any, TypeVar

from timeball.aws.dynamodb.table.codec import Item
from timeball.aws.dynamodb.table.collection import Table
from timeball.aws.dynamodb.table.keys import Key
from timeball.aws.dynamodb.table.writes import Insert, Update

_Value = TypeVar("_Value", int, str)


def raise_to(table: Table, key: Key, name: str, value: _Value) -> _Value:
    """Let a row's attribute be a value, unless a greater one stands; return what stands then.

    One request where that is so already, of a reading that may be old: who is late to know does some work twice.
    """
    standing: Any = table.reader.get([key], strong=False)[0]
    raised: Item = {name: value}
    while standing is None or standing[name] < value:
        write = Update(key, {name: standing[name]}, raised) if standing else Insert({**key, **raised})
        written = table.writer.write([write])[0]
        standing = raised if written.done else written.row
    greatest: _Value = standing[name]
    return greatest
