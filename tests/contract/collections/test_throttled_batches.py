"""A batch is answered statement by statement: those of unknown outcome are repeated together, for a bounded time."""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import count
from typing import Any

import pytest
from botocore.exceptions import ClientError, ReadTimeoutError

from tests.contract.backends import client
from tests.contract.rows import NOW, run
from tests.contract.waits import Waits
from timeball.aws.dynamodb.store import dynamo_store
from timeball.aws.dynamodb.table.mapper import Mapper
from timeball.aws.dynamodb.table.writes import Insert, Writer, Written, to_values
from timeball.aws.request_retries import PATIENT
from timeball.domain.model.runs.transitions import claimed
from timeball.domain.time.instants import SECOND_MS
from timeball.ports.errors import UnavailableError
from timeball.ports.rows import Swap, Swapped
from timeball.ports.store import Store

THROTTLED = {"Code": "ThrottlingError", "Message": "Throughput exceeds the current throughput limit"}
UNKNOWN = [
    "InternalServerError",
    "ProvisionedThroughputExceeded",
    "RequestLimitExceeded",
    "ThrottlingError",
    "TransactionConflict",
]
"""The error codes of a statement that say neither that it was done nor that it was refused.

DynamoDB documents all codes under BatchStatementError in its API reference. The others mean a refusal
(ConditionalCheckFailed, DuplicateItem) or a statement that fails however often it is sent.
"""
DUPLICATE = {"Code": "DuplicateItem", "Message": "Duplicate primary key exists in table"}

Error = Mapping[str, Any] | None


def refused(row: Mapping[str, Any]) -> Error:
    return {"Code": "ConditionalCheckFailed", "Message": "The conditional request failed", "Item": to_values(row)}


class Table:
    """A table that answers writes as DynamoDB documents it; `tell` decides by a statement's index and its tries."""

    exceptions = client("dynamodb").exceptions

    def __init__(self, waits: Waits, tell: Callable[[int, int], Error], takes_ms: int = 10) -> None:
        self._waits, self._tell, self._takes_ms = waits, tell, takes_ms
        self._places: dict[str, int] = {}
        self._asked: Counter[int] = Counter()
        self.sizes: list[int] = []
        self.lost = 0

    def batch_execute_statement(self, Statements: Sequence[Mapping[str, Any]]) -> dict[str, Any]:  # noqa: N803 - AWS's name
        self.sizes.append(len(Statements))
        self._waits.clock.advance(self._takes_ms)
        errors = [self._error(str(one)) for one in Statements]
        if self.lost:
            self.lost -= 1
            raise ReadTimeoutError(endpoint_url="https://dynamodb.example")
        return {"Responses": [{"TableName": "jobs", **({"Error": error} if error else {})} for error in errors]}

    def put_item(self, Item: Mapping[str, Any], **_: Any) -> None:  # noqa: N803 - AWS's name
        self.sizes.append(1)
        self._waits.clock.advance(self._takes_ms)
        error = self._error(str(Item))
        if error:
            answer: Any = {"Error": error, "Item": error.get("Item"), "ResponseMetadata": {"HTTPStatusCode": 400}}
            if error["Code"] == "ConditionalCheckFailed":
                raise self.exceptions.ConditionalCheckFailedException(answer, "PutItem")
            raise ClientError(answer, "PutItem")

    def _error(self, write: str) -> Error:
        key = re.findall(r"RUN#[^']+", write)[0]
        place = self._places.setdefault(key, len(self._places))
        self._asked[place] += 1
        return self._tell(place, self._asked[place])


def _insert(place: int) -> Insert:
    return Insert({"pk": "acme#job", "sk": f"RUN#{place}"})


def _write(waits: Waits, table: Table, count: int = 25) -> list[Written]:
    with ThreadPoolExecutor(1) as threads:
        writer = Writer(table, "jobs", threads, waits.asker(), in_batches=True)  # type: ignore[arg-type]
        return writer.write([_insert(place) for place in range(count)])


@pytest.mark.parametrize("code", UNKNOWN)
def test_throttled_statements_are_repeated_together(code: str) -> None:
    waits = Waits()
    table = Table(waits, lambda place, asked: {"Code": code} if place >= 15 and asked <= 2 else None)
    assert _write(waits, table) == [Written(done=True)] * 25
    assert table.sizes == [25, 10, 10]
    assert waits.seconds == [0.05, 0.1]


def test_a_batch_gets_smaller_with_each_answer() -> None:
    waits = Waits()
    table = Table(waits, lambda place, asked: THROTTLED if asked * 6 <= place else None)
    assert _write(waits, table) == [Written(done=True)] * 25
    assert table.sizes == [25, 19, 13, 7, 1]


def test_a_write_throttled_for_ever_is_unknown_after_six_requests_and_less_than_two_seconds() -> None:
    waits = Waits()
    table = Table(waits, lambda place, _: THROTTLED if place % 5 < 2 else None)
    with pytest.raises(UnavailableError, match="of 10 writes at once: ThrottlingError"):
        _write(waits, table)
    assert table.sizes == [25, 10, 10, 10, 10, 10]
    assert waits.passed_ms < 2 * SECOND_MS


def test_each_write_is_answered_at_its_index() -> None:
    standing = {"pk": "acme#job", "sk": "RUN", "revision": 7}

    def tell(place: int, asked: int) -> Error:
        answers: list[list[Error]] = [
            [None],
            [THROTTLED, THROTTLED, refused(standing)],
            [refused(standing)],
            [DUPLICATE, refused(standing)],  # it brings no row; a single write does
            [THROTTLED, None],
            [{"Code": "InternalServerError"}, DUPLICATE, refused(standing)],
        ]
        return answers[place % 6][asked - 1]

    waits = Waits()
    table = Table(waits, tell)
    no = Written(done=False, row=standing)
    assert _write(waits, table, 24) == [Written(done=True), no, no, no, Written(done=True), no] * 4
    assert table.sizes == [24, 12, 4, *[1] * 8]


def test_a_wrong_statement_is_an_error_and_is_not_repeated_for_ever() -> None:
    waits = Waits()
    table = Table(waits, lambda place, _: {"Code": "ValidationError"} if place == 3 else None)
    with pytest.raises(ClientError, match="ValidationError"):
        _write(waits, table)
    assert table.sizes == [25, 1]


def test_all_requests_of_a_write_share_the_time_of_one_request() -> None:
    waits = Waits()
    table = Table(waits, lambda _, asked: DUPLICATE if asked == 1 else None, takes_ms=4 * SECOND_MS)
    with pytest.raises(UnavailableError, match="no time left"):
        _write(waits, table)
    assert table.sizes == [25, 1, 1]
    assert waits.passed_ms <= PATIENT.longest_seconds * SECOND_MS


def _store(waits: Waits, table: Table) -> Store:
    """Return a store whose writes have the ids w1, w2 and so on."""
    ids = (f"w{number}" for number in count(1))
    asker = waits.asker()
    return dynamo_store(table, "jobs", writes="batch", threads=1, asker=asker, write_id=lambda: next(ids))  # type: ignore[arg-type]


def test_writes_that_were_done_though_their_answers_were_lost_count_as_done() -> None:
    """The first request is done and its answer lost; each repeated statement finds its first id on the row."""
    runs = [run(NOW + second * SECOND_MS) for second in range(25)]
    swaps = [Swap(row, claimed(row, "mine", NOW, 30_000)) for row in runs]
    rows = Mapper(4, 90)
    waits = Waits()

    def tell(place: int, asked: int) -> Error:
        return None if asked == 1 else refused(rows.of_run(swaps[place].written, NOW) | {"w": f"w{place + 1}"})

    table = Table(waits, tell)
    table.lost = 1
    swapped = _store(waits, table).runs.swap(swaps, NOW)
    assert swapped == [Swapped(done=True, row=swap.written) for swap in swaps]
    assert table.sizes == [25, 25]


@pytest.mark.parametrize(
    ("stands", "is_done"),
    [
        ({"w": "w1"}, True),
        ({"w": "anothers"}, False),  # of another write with the same content
        ({}, False),  # from before writes had ids
        ({"w": "w1", "revision": 2}, False),  # a process of that time has written it since, and left the id
    ],
)
def test_after_a_server_error_a_write_is_done_if_the_standing_row_has_its_id(
    stands: dict[str, str | int],
    is_done: bool,  # noqa: FBT001 - a case
) -> None:
    row, rows, waits = run(), Mapper(4, 90), Waits()
    row = replace(row, revision=1)

    def tell(_: int, asked: int) -> Error:
        return {"Code": "InternalServerError"} if asked == 1 else refused(rows.of_run(row, NOW) | stands)

    standing = replace(row, revision=int(stands.get("revision", 1)))
    runs = [row, run(NOW + SECOND_MS)]
    assert _store(waits, Table(waits, tell)).runs.insert(runs, NOW)[0] == (None if is_done else standing)
