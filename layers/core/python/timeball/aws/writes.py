"""Conditional writes, as values, in the two forms that DynamoDB offers: single items in parallel, or PartiQL batches.

Both answer each write with whether it was done and the row that stands in its way. A batch asks for up to 25 writes in
one request, at the same price; whatever it does not answer with a plain yes or no is asked again singly.
"""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from timeball.aws.keys import Key
from timeball.aws.rows import Item
from timeball.ports import UnavailableError

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient

BATCH = 25


@dataclass(frozen=True)
class Insert:
    """Put a row if there is none with its key."""

    item: Item


@dataclass(frozen=True)
class Update:
    """Change a row if it exists, each attribute of `where` has one of the given values, and it has none of `absent`."""

    key: Key
    where: Mapping[str, Sequence[str | int]]
    set: Item = field(default_factory=dict)
    remove: tuple[str, ...] = ()
    increment: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()


@dataclass(frozen=True)
class Written:
    """Whether the write was done; if not, the row that stood in its way (None: there is no such row)."""

    done: bool
    row: dict[str, Any] | None = None


Write = Insert | Update


def to_values(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row as DynamoDB's typed values."""
    return {name: _typed(value) for name, value in item.items()}


def from_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return DynamoDB's typed values as a row."""
    return {name: _plain(value) for name, value in values.items()}


@contextmanager
def unknown_is_unavailable() -> Iterator[None]:
    """Raise UnavailableError where AWS did not say what became of a request; a wrong request stays an error."""
    from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415 - only in functions that call AWS

    try:
        yield
    except ClientError as error:
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 500)
        code = error.response.get("Error", {}).get("Code", "")
        if status >= 500 or "Throttl" in code or "Exceeded" in code or "Conflict" in code:
            raise UnavailableError(str(error)) from error
        raise
    except BotoCoreError as error:
        raise UnavailableError(str(error)) from error


class Writer:
    """Writes to one table."""

    def __init__(self, client: "DynamoDBClient", table: str, threads: Executor, *, in_batches: bool) -> None:
        self._client, self._table, self._threads, self._in_batches = client, table, threads, in_batches

    def write(self, writes: Sequence[Write]) -> list[Written]:
        """Do each write; the answers are in order. Raises UnavailableError if the outcome of any is unknown."""
        if not self._in_batches or len(writes) == 1:
            return list(self._threads.map(self._single, writes))
        chunks = [writes[start : start + BATCH] for start in range(0, len(writes), BATCH)]
        return [written for chunk in self._threads.map(self._batch, chunks) for written in chunk]

    def _single(self, write: Write) -> Written:
        with unknown_is_unavailable():
            try:
                if isinstance(write, Insert):
                    self._client.put_item(
                        TableName=self._table,
                        Item=to_values(write.item),
                        ConditionExpression="attribute_not_exists(pk)",
                        ReturnValuesOnConditionCheckFailure="ALL_OLD",
                    )
                else:
                    self._client.update_item(**_update_request(self._table, write))
            except self._client.exceptions.ConditionalCheckFailedException as refusal:
                standing: Any = refusal.response.get("Item")
                return Written(done=False, row=from_values(standing) if standing else None)
        return Written(done=True)

    def _batch(self, writes: Sequence[Write]) -> list[Written]:
        statements = [_statement(self._table, write) for write in writes]
        with unknown_is_unavailable():
            answers = self._client.batch_execute_statement(Statements=statements)["Responses"]  # type: ignore[arg-type]
        return [self._judged(write, answer) for write, answer in zip(writes, answers, strict=True)]

    def _judged(self, write: Write, answer: Mapping[str, Any]) -> Written:
        """A refusal that brings no row, or an answer that is neither yes nor no, is asked again singly."""
        error = answer.get("Error")
        if error is None:
            return Written(done=True)
        if error.get("Code") == "ConditionalCheckFailed" and error.get("Item"):
            return Written(done=False, row=from_values(error["Item"]))
        return self._single(write)


def _update_request(table: str, write: Update) -> dict[str, Any]:
    attributes = [*write.set, *write.remove, *write.increment, *write.where, *write.absent]
    names = {f"#{position}": name for position, name in enumerate(dict.fromkeys(attributes))}
    alias = {name: placeholder for placeholder, name in names.items()}
    values: dict[str, Any] = {}

    def value(of: str | int | bool) -> str:  # noqa: FBT001 - a row's value may be a flag
        values[f":{len(values)}"] = _typed(of)
        return f":{len(values) - 1}"

    setting = [f"{alias[name]} = {value(to)}" for name, to in write.set.items()]
    setting += [f"{alias[name]} = {alias[name]} + {value(1)}" for name in write.increment]
    expression = f"SET {', '.join(setting)}"
    if write.remove:
        expression += f" REMOVE {', '.join(alias[name] for name in write.remove)}"
    conditions = ["attribute_exists(pk)", *(f"attribute_not_exists({alias[name]})" for name in write.absent)] + [
        f"{alias[name]} IN ({', '.join(value(one) for one in among)})" for name, among in write.where.items()
    ]
    return {
        "TableName": table,
        "Key": to_values(write.key),
        "UpdateExpression": expression,
        "ConditionExpression": " AND ".join(conditions),
        "ExpressionAttributeNames": names,
        "ExpressionAttributeValues": values,
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }


def _statement(table: str, write: Write) -> dict[str, Any]:
    """Return a write as a PartiQL statement: names come from the mapper, values are parameters."""
    parameters: list[Any] = []

    def value(of: str | int | bool) -> str:  # noqa: FBT001 - a row's value may be a flag
        parameters.append(_typed(of))
        return "?"

    if isinstance(write, Insert):
        fields = ", ".join(f"'{name}': {value(to)}" for name, to in write.item.items())
        text = f'INSERT INTO "{table}" VALUE {{{fields}}}'
    else:
        changes = [f'SET "{name}" = {value(to)}' for name, to in write.set.items()]
        changes += [f'SET "{name}" = "{name}" + {value(1)}' for name in write.increment]
        changes += [f'REMOVE "{name}"' for name in write.remove]
        where = [f'"{name}" = {value(of)}' for name, of in write.key.items()]
        where += [f'"{name}" IS MISSING' for name in write.absent]
        where += [
            f'"{name}" = {value(among[0])}'
            if len(among) == 1
            else f'"{name}" IN [{", ".join(value(one) for one in among)}]'
            for name, among in write.where.items()
        ]
        text = f'UPDATE "{table}" {" ".join(changes)} WHERE {" AND ".join(where)}'
    return {
        "Statement": text,
        "Parameters": parameters,
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
