"""A row of one value that only grows: a caller with a lesser value gets the greater one."""

from typing import Any, TypeVar

from timeball.aws.dynamodb.table.codec import Item
from timeball.aws.dynamodb.table.collection import TableAccess
from timeball.aws.dynamodb.table.keys import Key
from timeball.aws.dynamodb.table.writes import Insert, Update

_Value = TypeVar("_Value", int, str)


def raise_to(table: TableAccess, key: Key, name: str, value: _Value) -> _Value:
    """Raise a row's attribute to a value, unless a greater one stands; return the value that stands then.

    One request if it stands already. That reading may be old: a process that learns late does some work twice.
    """
    standing: Any = table.reader.get([key], strong=False)[0]
    raised: Item = {name: value}
    while standing is None or standing[name] < value:
        write = Update(key, {name: standing[name]}, raised) if standing else Insert({**key, **raised})
        written = table.writer.write([write])[0]
        standing = raised if written.done else written.row
    greatest: _Value = standing[name]
    return greatest
