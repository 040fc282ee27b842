"""Conditional writes, as values, in the two forms that DynamoDB offers: single items in parallel, or PartiQL batches.

Both return for each write whether it was done, and the row that refused it. A batch sends up to 25 writes in one
request, at the same price, and each gets its own answer. The result of throttled writes is unknown: they are repeated
together, as a smaller batch (`patience` says for how long).
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from timeball.aws.dynamodb.table.codec import Item
from timeball.aws.dynamodb.table.keys import Key
from timeball.aws.request_retries import Asker, is_unknown, side_by_side
from timeball.ports.errors import UnavailableError

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient

BATCH = 25


@dataclass(frozen=True)
class Insert:
    """Put a row if there is none with its key."""

    item: Item


@dataclass(frozen=True)
class Update:
    """Change a row if it exists and each attribute of `where` has the given value."""

    key: Key
    where: Item
    set: Item
    remove: tuple[str, ...] = ()


@dataclass(frozen=True)
class Add:
    """Add amounts to a row's attributes, whether it exists or not, and set others."""

    key: Key
    amounts: Mapping[str, int]
    set: Item


@dataclass(frozen=True)
class Take:
    """Add amounts, which may be negative, if that leaves each attribute within its `most` and its `least`.

    The attributes of `where` must also have the given values; None: absent.
    """

    add: Add
    most: Mapping[str, int] = field(default_factory=dict)
    least: Mapping[str, int] = field(default_factory=dict)
    where: Mapping[str, int | None] = field(default_factory=dict)
    remove: tuple[str, ...] = ()


@dataclass(frozen=True)
class Written:
    """Whether the write was done; if not, the row that refused it (None: there is no such row).

    After a `Take` that was done, it is the changed row.
    """

    done: bool
    row: dict[str, Any] | None = None


Write = Insert | Update


def to_values(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row as DynamoDB's typed values."""
    return {name: _typed(value) for name, value in item.items()}


def from_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return DynamoDB's typed values as a row."""
    return {name: _plain(value) for name, value in values.items()}


class Writer:
    """Writes to one table."""

    def __init__(
        self, client: "DynamoDBClient", table: str, threads: Executor, asker: Asker, *, in_batches: bool
    ) -> None:
        self._client, self._table, self._threads = client, table, threads
        self._asker, self._in_batches = asker, in_batches

    def write(self, writes: Sequence[Write]) -> list[Written]:
        """Do each write; the answers are in order. Raises UnavailableError if the outcome of any is unknown."""
        until = self._asker.deadline()
        if not self._in_batches or len(writes) == 1:
            return side_by_side(self._threads, lambda write: self._single(write, until), writes)
        batches = [writes[start : start + BATCH] for start in range(0, len(writes), BATCH)]
        answers = side_by_side(self._threads, lambda batch: self._batch(batch, until), batches)
        return [written for answer in answers for written in answer]

    def add(self, adds: Sequence[Add]) -> list[bool]:
        """Do each add once, and never repeat it: nothing shows whether it was done. False: that is unknown."""
        return side_by_side(self._threads, self._is_added, adds)

    def _is_added(self, add: Add) -> bool:
        try:
            self._asker.ask_once(lambda: self._client.update_item(**_add_request(self._table, add)))
        except UnavailableError:
            return False
        return True

    def take(self, take: Take) -> Written:
        """Do the take if the row, which may be new, meets its conditions; otherwise return the row that stands."""
        return self._asker.ask(lambda: self._written(take))

    def _single(self, write: Write, until: float) -> Written:
        return self._asker.ask(lambda: self._written(write), until)

    def _written(self, write: Write | Take) -> Written:
        try:
            if isinstance(write, Insert):
                self._client.put_item(
                    TableName=self._table,
                    Item=to_values(write.item),
                    ConditionExpression="attribute_not_exists(pk)",
                    ReturnValuesOnConditionCheckFailure="ALL_OLD",
                )
            elif isinstance(write, Update):
                self._client.update_item(**_update_request(self._table, write))
            else:
                answer: Any = self._client.update_item(**_take_request(self._table, write))
                return Written(done=True, row=from_values(answer["Attributes"]))
        except self._client.exceptions.ConditionalCheckFailedException as refusal:
            standing: Any = refusal.response.get("Item")
            return Written(done=False, row=from_values(standing) if standing else None)
        return Written(done=True)

    def _batch(self, writes: Sequence[Write], until: float) -> list[Written]:
        """Send all writes, and repeat together those whose result is unknown, in a batch that gets smaller."""
        statements = [_statement(self._table, write) for write in writes]
        answers: dict[int, Mapping[str, Any]] = {}

        def ask_for_the_rest() -> None:
            rest = [position for position in range(len(writes)) if position not in answers]
            request: Any = [statements[position] for position in rest]
            responses = self._client.batch_execute_statement(Statements=request)["Responses"]
            codes = [response.get("Error", {}).get("Code", "") for response in responses]
            answered = zip(rest, responses, codes, strict=True)
            answers.update({position: response for position, response, code in answered if not is_unknown(code)})
            if unknown := sorted({*filter(is_unknown, codes)}):
                raise UnavailableError(f"of {len(rest)} writes at once: {', '.join(unknown)}")

        self._asker.ask(ask_for_the_rest, until)
        return [self._judged(write, answers[position], until) for position, write in enumerate(writes)]

    def _judged(self, write: Write, answer: Mapping[str, Any], until: float) -> Written:
        """Judge an answer. A refusal without a row, or another error, is repeated singly, which returns either.

        The row is not read instead: by then the row may be one that refuses nothing.
        """
        error = answer.get("Error")
        if error is None:
            return Written(done=True)
        if error.get("Code") == "ConditionalCheckFailed" and error.get("Item"):
            return Written(done=False, row=from_values(error["Item"]))
        return self._single(write, until)


def _update_request(table: str, write: Update) -> dict[str, Any]:
    changes = f"SET {', '.join(f'#{name} = :{name}' for name in write.set)}"
    if write.remove:
        changes += f" REMOVE {', '.join(f'#{name}' for name in write.remove)}"
    conditions = ["attribute_exists(pk)", *(f"#{name} = :was_{name}" for name in write.where)]
    values = {f":{name}": to for name, to in write.set.items()} | {
        f":was_{name}": of for name, of in write.where.items()
    }
    return {
        "TableName": table,
        "Key": to_values(write.key),
        "UpdateExpression": changes,
        "ConditionExpression": " AND ".join(conditions),
        "ExpressionAttributeNames": {f"#{name}": name for name in (*write.set, *write.remove, *write.where)},
        "ExpressionAttributeValues": to_values(values),
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }


def _add_request(table: str, add: Add) -> dict[str, Any]:
    amounts = [*add.amounts.items()]
    adding = ", ".join(f"#{position} :{position}" for position in range(len(amounts)))
    setting = ", ".join(f"#{name} = :{name}" for name in add.set)
    names = {f"#{position}": name for position, (name, _) in enumerate(amounts)}
    values = {f":{position}": amount for position, (_, amount) in enumerate(amounts)}
    return {
        "TableName": table,
        "Key": to_values(add.key),
        "UpdateExpression": f"SET {setting}" + (f" ADD {adding}" if amounts else ""),
        "ExpressionAttributeNames": {**names, **{f"#{name}": name for name in add.set}},
        "ExpressionAttributeValues": to_values({**values, **{f":{name}": value for name, value in add.set.items()}}),
    }


def _take_request(table: str, take: Take) -> dict[str, Any]:
    request, conditions = _add_request(table, take.add), _conditions(take)
    names = (*take.most, *take.least, *take.where, *take.remove)
    request["ExpressionAttributeNames"] |= {f"#{name}": name for name in names}
    for _, values in conditions:
        request["ExpressionAttributeValues"] |= to_values(values)
    if take.remove:
        request["UpdateExpression"] += f" REMOVE {', '.join(f'#{name}' for name in take.remove)}"
    if conditions:
        request["ConditionExpression"] = " AND ".join(text for text, _ in conditions)
    return {**request, "ReturnValues": "ALL_NEW", "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}


def _conditions(take: Take) -> list[tuple[str, Mapping[str, int]]]:
    """Return the conditions of a take, each with the values that it names."""
    conditions: list[tuple[str, Mapping[str, int]]] = []
    for name, most in take.most.items():
        room = {f":room_{name}": most - take.add.amounts[name]}
        conditions.append((f"(attribute_not_exists(#{name}) OR #{name} <= :room_{name})", room))
    for name, least in take.least.items():
        conditions.append((f"#{name} >= :needs_{name}", {f":needs_{name}": least - take.add.amounts[name]}))
    for name, was in take.where.items():
        if was is None:
            conditions.append((f"attribute_not_exists(#{name})", {}))
        else:
            conditions.append((f"#{name} = :was_{name}", {f":was_{name}": was}))
    return conditions


def _statement(table: str, write: Write) -> dict[str, Any]:
    """Return a write as a PartiQL statement: names come from the mapper, values are parameters."""
    if isinstance(write, Insert):
        fields = ", ".join(f"'{name}': ?" for name in write.item)
        text, values = f'INSERT INTO "{table}" VALUE {{{fields}}}', [*write.item.values()]
    else:
        changes = [*(f'SET "{name}" = ?' for name in write.set), *(f'REMOVE "{name}"' for name in write.remove)]
        conditions = {**write.key, **write.where}
        where = " AND ".join(f'"{name}" = ?' for name in conditions)
        text = f'UPDATE "{table}" {" ".join(changes)} WHERE {where}'
        values = [*write.set.values(), *conditions.values()]
    return {
        "Statement": text,
        "Parameters": [_typed(value) for value in values],
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }


def _typed(value: object) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"BOOL": value}
    return {"N": str(value)} if isinstance(value, int) else {"S": value}


def _plain(value: Mapping[str, Any]) -> str | int | bool:
    if "N" in value:
        return int(value["N"])
    return str(value["S"]) if "S" in value else bool(value["BOOL"])
