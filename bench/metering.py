"""The requests of a client of DynamoDB, and the price of each of its writes in write units.

The price of a write is computed from its row before and after, by DynamoDB's published rules: a unit for each KB of the
row; for each index one unit for a key that appears or disappears, two for a key that changes, and those of the row if
an index of whole rows keeps its key; for a refused write at least one KB. A batch costs the sum of its statements. The
endpoint's own figure is kept beside it: `ConsumedCapacity` has the price of a single write everywhere except on moto,
and that of a batch only on AWS.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from timeball.aws.dynamodb.table.schema import JOBS

if TYPE_CHECKING:
    from botocore.awsrequest import AWSResponse
    from botocore.model import OperationModel
    from types_boto3_dynamodb import DynamoDBClient

Row = dict[str, Any]
"""A row as typed values."""

_SINGLE = frozenset({"PutItem", "UpdateItem"})
WRITES = _SINGLE | {"BatchExecuteStatement"}
"""The operations by which a store writes."""

_READS = frozenset({"BatchGetItem", "GetItem", "Query", "Scan"})
HOUSEKEEPING = ("PARTITION#", "SHARD#")
"""Prefixes of rows that are written for each scan or day, not for each run."""


@dataclass(frozen=True)
class Charge:
    """A write: its operation, the key of its row, its price, and the endpoint's figure.

    `counted` is None if the endpoint has none: for a refused write, and for a write in a batch.
    """

    operation: str
    key: tuple[str, str]
    computed: int
    counted: float | None
    refused: bool


@dataclass
class Charges:
    """The requests of a client by name, and the prices of its writes, since the last `clear`."""

    requests: list[str] = field(default_factory=list)
    writes: list[Charge] = field(default_factory=list)

    def clear(self) -> None:
        """Start again at zero."""
        self.requests.clear()
        self.writes.clear()

    @property
    def of_runs(self) -> list[Charge]:
        """Return the writes for jobs and runs, without those of every scan."""
        return [charge for charge in self.writes if not charge.key[0].startswith(HOUSEKEEPING)]

    @property
    def units(self) -> int:
        """Return the price of the writes for jobs and runs."""
        return sum(charge.computed for charge in self.of_runs)


def meter(watched: "DynamoDBClient", looking: "DynamoDBClient") -> Charges:
    """Watch one client, and read the rows before and after each write with another. Concurrent writers share no row."""
    return _Meter(watched, looking).charges


class _Meter:
    def __init__(self, watched: "DynamoDBClient", looking: "DynamoDBClient") -> None:
        self._looking = looking
        self.charges = Charges()
        watched.meta.events.register("before-parameter-build.dynamodb", _ask)
        watched.meta.events.register("before-call.dynamodb", self._before)
        watched.meta.events.register("after-call.dynamodb", self._after)

    def _before(self, model: "OperationModel", params: dict[str, str], context: dict[str, Any], **_: object) -> None:
        self.charges.requests.append(model.name)
        if model.name in WRITES:
            body = json.loads(params["body"])
            # Calls run concurrently, so each carries its own state.
            context["metered"] = [(table, key, self._row(table, key)) for table, key in _written(model.name, body)]

    def _after(
        self,
        model: "OperationModel",
        http_response: "AWSResponse",
        parsed: Row,
        context: dict[str, Any],
        **_: object,
    ) -> None:
        if model.name not in WRITES:
            return
        single = model.name in _SINGLE
        answers = [parsed] if single else parsed["Responses"]
        for (table, key, before), answer in zip(context["metered"], answers, strict=True):
            refused = http_response.status_code != 200 or "Error" in answer
            counted = parsed["ConsumedCapacity"]["CapacityUnits"] if single and not refused else None
            where = (key["pk"]["S"], key["sk"]["S"])
            price = write_units(before, self._row(table, key))
            self.charges.writes.append(Charge(model.name, where, price, counted, refused))

    def _row(self, table: str, key: Row) -> Row | None:
        row: Row | None = self._looking.get_item(TableName=table, Key=key, ConsistentRead=True).get("Item")
        return row


def _ask(model: "OperationModel", params: dict[str, Any], **_: object) -> None:
    if model.name in WRITES | _READS:
        params["ReturnConsumedCapacity"] = "TOTAL"


def _written(operation: str, body: Mapping[str, Any]) -> Iterator[tuple[str, Row]]:
    """Yield the table and the key of each row that a request writes."""
    if operation in _SINGLE:
        row = body.get("Key") or body["Item"]
        yield body["TableName"], {name: row[name] for name in ("pk", "sk")}
        return
    for statement in body["Statements"]:
        text = statement["Statement"]
        table = re.search(r'(?:INTO|UPDATE) "([^"]+)"', text)
        if table is None:
            raise ValueError(f"no write: {text}")
        yield table[1], {name: statement["Parameters"][_place(text, name)] for name in ("pk", "sk")}


def _place(statement: str, name: str) -> int:
    """Return the index of a key attribute's value among a statement's parameters."""
    found = re.search(rf"""'{name}': \?|"{name}" = \?""", statement)
    if found is None:
        raise ValueError(f"no {name}: {statement}")
    return statement.count("?", 0, found.start())


def write_units(before: Row | None, after: Row | None) -> int:
    """Return the price of turning one row into another, including indexes; a refused write leaves its row as it is."""
    units = max(-(-_size(row) // 1024) for row in (before, after)) or 1
    for index in JOBS.indexes:
        names = (index.partition.name, index.sort.name)
        was, now = (_key(row, names) for row in (before, after))
        if was != now:
            units += (was is not None) + (now is not None)
        elif index.whole_rows and now is not None and before != after:
            units += -(-_size(after) // 1024)
    return units


def _size(row: Row | None) -> int:
    return sum(len(name) + len(str(*value.values()).encode()) for name, value in (row or {}).items())


def _key(row: Row | None, names: tuple[str, str]) -> tuple[str, ...] | None:
    if row is None or any(name not in row for name in names):
        return None
    return tuple(str(*row[name].values()) for name in names)
