"""Bulk operations: listed by their creation, due while they run, and their batch is read as it was written."""

from dataclasses import replace

from tests.contract.moves import LOOKED, TREATED
from tests.contract.rows import NOW, operation, swapped
from timeball.domain.model.ids import OperationKey
from timeball.domain.operation import cancelled_operation
from timeball.domain.time.instants import DAY_MS
from timeball.ports.due_index import DueQuery
from timeball.ports.rows import ListQuery
from timeball.ports.store import Store


def test_operations_are_listed_by_their_time_of_creation_even_after_their_end(store: Store) -> None:
    rows = [replace(operation(f"op{n}"), created_at=NOW + n // 2) for n in range(6)]
    foreign = replace(operation(), key=OperationKey("other", "op1"))
    store.operations.insert([*rows, foreign], NOW)
    swapped(store.operations, rows[3], cancelled_operation(rows[3], NOW + 9))
    found: list[tuple[int, OperationKey]] = []
    query = ListQuery[OperationKey]("acme", 2)
    while page := store.operations.listed(query):
        found += page
        query = replace(query, after=page[-1])
    assert found == sorted(((one.created_at, one.key) for one in rows), reverse=True)


def test_an_operation_is_due_until_it_is_over(store: Store) -> None:
    def due() -> tuple[object, ...]:
        (page,) = store.due.query([DueQuery(0, NOW - NOW % DAY_MS, NOW, 10)])
        return page.candidates

    store.operations.insert([operation()], NOW)
    assert due() == (operation().key,)
    swapped(store.operations, operation(), cancelled_operation(operation(), NOW + 1))
    assert due() == ()


def test_the_batch_and_the_failures_are_read_as_they_were_written(store: Store) -> None:
    store.operations.insert([operation()], NOW)
    row = swapped(store.operations, operation(), LOOKED)
    row = swapped(store.operations, row, replace(TREATED, revision=row.revision))
    assert store.operations.read([row.key]) == [row]
    assert (row.batch, row.position, row.through) == (LOOKED.batch, 2, LOOKED.through)
    assert row.failures == TREATED.failures != ()
