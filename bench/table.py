"""A table of DynamoDB in memory: the operations that Timeball uses, as documented, and the price of each.

It supports the expressions that our own adapter writes (`timeball/aws/dynamodb`); any other expression is an error,
never a guess. Indexes are sorted lists, so that the time of a query does not depend on the size of the table.
"""

import re
from bisect import bisect_left, insort
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bench.metering import HOUSEKEEPING, write_units
from timeball.aws.dynamodb.table.schema import JOBS

Row = dict[str, Any]
"""A row as typed values."""

_Place = tuple[Any, str, str]
"""The position of a row in a partition: its sort value, and its key."""

_INDEXES = {index.name: (index.partition.name, index.sort.name) for index in JOBS.indexes}
_BLOCK_BYTES = 4096


class RefusedError(Exception):
    """A condition does not hold; `row` is the existing row, if any."""

    def __init__(self, row: Row | None) -> None:
        super().__init__("The conditional request failed")
        self.row = row


@dataclass
class Units:
    """Consumed units: all read units, and the write units for jobs and runs."""

    read: float = 0.0
    written: int = 0


@dataclass
class MemoryTable:
    """Rows by their key, and the partitions of each index."""

    rows: dict[tuple[str, str], Row] = field(default_factory=dict)
    units: Units = field(default_factory=Units)
    _sorted: dict[tuple[str, str], list[_Place]] = field(default_factory=dict)

    def put(self, row: Row) -> None:
        """Put a row in place of the row with its key, free of charge."""
        key = _key(row)
        for one, is_new in ((self.rows.get(key, {}), False), (row, True)):
            for name, (partition, sort) in {"": ("pk", "sk"), **_INDEXES}.items():
                if partition in one and sort in one:
                    slots = self._sorted.setdefault((name, _plain(one[partition])), [])
                    place = (_plain(one[sort]), *key)
                    if is_new:
                        insort(slots, place)
                    else:
                        del slots[bisect_left(slots, place)]
        self.rows[key] = row

    def ask(self, operation: str, request: Mapping[str, Any]) -> Row:
        """Carry out an operation. Raises RefusedError."""
        operations: dict[str, Callable[[Mapping[str, Any]], Row]] = {
            "PutItem": self._put_item,
            "UpdateItem": self._update_item,
            "BatchExecuteStatement": self._batch,
            "BatchGetItem": self._get,
            "Query": self._query,
        }
        return operations[operation](request)

    def _write(self, key: tuple[str, str], after: Row | None) -> None:
        """Write a row, or refuse the write (None), at its price."""
        before = self.rows.get(key)
        if not key[0].startswith(HOUSEKEEPING):
            self.units.written += write_units(before, before if after is None else after)
        if after is None:
            raise RefusedError(before)
        self.put(after)

    def _put_item(self, request: Mapping[str, Any]) -> Row:
        key = _key(request["Item"])
        self._write(key, None if key in self.rows else request["Item"])
        return {}

    def _update_item(self, request: Mapping[str, Any]) -> Row:
        names, values = request["ExpressionAttributeNames"], request["ExpressionAttributeValues"]
        key, expression = _key(request["Key"]), request["UpdateExpression"]
        before = self.rows.get(key)
        clauses = [clause for clause in request.get("ConditionExpression", "").split(" AND ") if clause]
        if not all(_holds(clause, before, names, values) for clause in clauses):
            self._write(key, None)
        after = {**(before or request["Key"])}
        for verb, changes in re.findall(r"(SET|REMOVE|ADD) (.*?)(?= (?:SET|REMOVE|ADD) |$)", expression):
            for change in changes.split(", "):
                name, _, value = change.replace(" = ", " ").partition(" ")
                if verb == "SET":
                    after[names[name]] = values[value]
                elif verb == "REMOVE":
                    after.pop(names[name], None)
                else:
                    sum_ = int(after.get(names[name], {"N": "0"})["N"]) + int(values[value]["N"])
                    after[names[name]] = {"N": str(sum_)}
        self._write(key, after)
        return {"Attributes": after} if request.get("ReturnValues") == "ALL_NEW" else {}

    def _batch(self, request: Mapping[str, Any]) -> Row:
        return {"Responses": [self._statement(one) for one in request["Statements"]]}

    def _statement(self, statement: Mapping[str, Any]) -> Row:
        text, values = statement["Statement"], iter(statement["Parameters"])
        try:
            if text.startswith("INSERT"):
                row = dict(zip(re.findall(r"'(\w+)': \?", text), values, strict=True))
                key = _key(row)
                if key in self.rows:
                    self._write(key, None)
                self._write(key, row)
            else:
                changes, _, conditions = text.partition(" WHERE ")
                to = {name: next(values) for name in re.findall(r'SET "(\w+)" = \?', changes)}
                where = dict(zip(re.findall(r'"(\w+)" = \?', conditions), values, strict=True))
                key = _key(where)
                before = self.rows.get(key)
                if before is None or any(before.get(name) != value for name, value in where.items()):
                    self._write(key, None)
                removed = set(re.findall(r'REMOVE "(\w+)"', changes))
                self._write(key, {name: value for name, value in (before or {}).items() if name not in removed} | to)
        except RefusedError as refused:
            if text.startswith("INSERT"):
                return {"Error": {"Code": "DuplicateItem", "Message": str(refused)}}
            return {"Error": {"Code": "ConditionalCheckFailed", "Message": str(refused), "Item": refused.row or {}}}
        return {}

    def _get(self, request: Mapping[str, Any]) -> Row:
        ((table, asked),) = request["RequestItems"].items()
        found = [self.rows.get(_key(key)) for key in asked["Keys"]]
        for row in found:
            self._read([row] if row else [], strong=asked.get("ConsistentRead", False))
        return {"Responses": {table: [row for row in found if row]}, "UnprocessedKeys": {}}

    def _query(self, request: Mapping[str, Any]) -> Row:
        """Return a page of a partition. The only supported filter excludes keys with some prefixes."""
        index, values = request.get("IndexName", ""), request["ExpressionAttributeValues"]
        bounds = {name: _plain(value) for name, value in values.items()}
        left_out = tuple(
            bounds[name] for name in re.findall(r"begins_with\(pk, (\S+)\)", request.get("FilterExpression", ""))
        )
        partition = bounds.pop(next(name for name in (":pk", ":partition") if name in bounds))
        last = next(bounds[name] for name in (":last", ":through") if name in bounds)
        first = bounds.get(":first", type(last)())
        slots = self._sorted.get((index, partition), [])
        if start := request.get("ExclusiveStartKey"):
            sort = _INDEXES[index][1] if index else "sk"
            slots = slots[bisect_left(slots, (_plain(start[sort]), *_key(start), "")) :]
        limit = request.get("Limit", len(slots))
        begin = bisect_left(slots, (first, "", ""))
        found = slots[begin : begin + limit]
        page = [place for place in found if place[0] <= last]
        rows = [self.rows[place[1:]] for place in page]
        if index:
            names = ("pk", "sk", *_INDEXES[index])
            rows = [{name: row[name] for name in names} for row in rows]
        self._read(rows, strong=request.get("ConsistentRead", False))
        items = [row for row in rows if not row["pk"]["S"].startswith(left_out)] if left_out else rows
        answer: Row = {"Count": len(items), "ScannedCount": len(rows)}
        if request.get("Select") != "COUNT":
            answer["Items"] = items
        if len(page) == limit and rows:
            answer["LastEvaluatedKey"] = {
                name: rows[-1][name] for name in ("pk", "sk", *(_INDEXES[index] if index else ()))
            }
        return answer

    def _read(self, rows: Sequence[Row], *, strong: bool) -> None:
        size = sum(len(name) + len(str(_plain(value))) for row in rows for name, value in row.items())
        self.units.read += max(-(-size // _BLOCK_BYTES), 1) * (1.0 if strong else 0.5)


def _holds(clause: str, row: Row | None, names: Mapping[str, str], values: Mapping[str, Any]) -> bool:
    """Say whether a clause of a condition holds for a row."""
    if clause in ("attribute_exists(pk)", "attribute_not_exists(pk)"):
        return (row is None) == ("not" in clause)
    if absent := re.fullmatch(r"\(?attribute_not_exists\((\S+)\)(?: OR (.+)\))?", clause):
        is_absent = names[absent[1]] not in (row or {})
        return is_absent or (absent[2] is not None and _holds(absent[2], row, names, values))
    name, compared, value = clause.split(" ")
    if row is None or names[name] not in row:
        return False
    found, wanted = _plain(row[names[name]]), _plain(values[value])
    return bool({"=": found == wanted, "<=": found <= wanted, ">=": found >= wanted}[compared])


def _key(row: Mapping[str, Any]) -> tuple[str, str]:
    return row["pk"]["S"], row["sk"]["S"]


def _plain(value: Mapping[str, Any]) -> Any:  # noqa: ANN401 - a text, a number or a flag
    ((kind, plain),) = value.items()
    return int(plain) if kind == "N" else plain
