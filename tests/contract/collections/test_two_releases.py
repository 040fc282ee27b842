"""Two releases over one table: each reads what the other wrote, and keeps what it does not know."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest

from tests.contract.backends import MotoPosts, MotoTable, moto, thin_client
from tests.contract.moves import KINDS, MOVES, Move, bare
from tests.contract.rows import NOW
from tests.rows.releases import FORMER, MARK, NEXT, OTHER, WIDER, mark_of
from timeball.aws.dynamodb.store import store_over
from timeball.aws.dynamodb.table.collection import TableAccess
from timeball.aws.dynamodb.table.mapper import Mapper
from timeball.aws.dynamodb.table.queries import TableReader
from timeball.aws.dynamodb.table.shapes import NewerRowError, Shape, Shapes
from timeball.aws.dynamodb.table.writes import Writer, to_values
from timeball.aws.request_retries import PATIENTLY
from timeball.domain.model.evolve import evolve
from timeball.ports.rows import Swap
from timeball.ports.store import Store


@dataclass(frozen=True)
class Shared:
    """One table, with a store for each release."""

    table: MotoTable
    former: Store
    next: Store

    def row(self) -> dict[str, Any]:
        """Return the only row with a revision, as it is stored."""
        (row,) = [one for one in self.table.rows() if "revision" in one]
        return row


@pytest.fixture(scope="module")
def table() -> Iterator[MotoTable]:
    with moto():
        yield MotoTable()


def over(table: MotoTable, shapes: Shapes, posts: MotoPosts | None = None) -> Store:
    client, pool = thin_client("dynamodb", posts or MotoPosts("dynamodb")), ThreadPoolExecutor(1)
    writer = Writer(client, table.name, pool, PATIENTLY, in_batches=False)
    return store_over(TableAccess(TableReader(client, table.name, PATIENTLY), writer, Mapper(), pool, shapes=shapes))


@pytest.fixture
def shared(table: MotoTable) -> Shared:
    table.replace({})
    return Shared(table, over(table, FORMER), over(table, NEXT))


def swapped(store: Store, move: Move, before: Any, after: Any) -> Any:
    """Change a row, and return it as it stands then."""
    (answer,) = getattr(store, move.rows).swap([Swap(before, after)], NOW)
    assert answer.done
    return answer.row


def read(store: Store, move: Move) -> Any:
    (row,) = getattr(store, move.rows).read([move.key])
    return row


@pytest.mark.parametrize("name", MOVES)
def test_each_release_continues_from_a_row_of_the_other(shared: Shared, name: str) -> None:
    move = MOVES[name]
    for writes, continues in ((shared.former, shared.next), (shared.next, shared.former)):
        shared.table.replace({})
        assert getattr(writes, move.rows).insert([move.before], NOW) == [None]
        standing = read(continues, move)
        assert standing == bare(move.before)
        moved = swapped(continues, move, standing, evolve(bare(move.after), revision=standing.revision))
        assert read(writes, move) == bare(moved) == read(continues, move)
        back = swapped(writes, move, bare(moved), evolve(bare(move.before), revision=moved.revision))
        assert read(continues, move) == bare(back) == read(writes, move)


@pytest.mark.parametrize("rows", KINDS)
def test_a_row_has_the_shape_of_one_release_and_no_trace_of_another(shared: Shared, rows: str) -> None:
    move = KINDS[rows]
    getattr(shared.former, rows).insert([move.before], NOW)
    assert shared.row()["v"] == 1
    moved = swapped(shared.next, move, read(shared.next, move), evolve(bare(move.after), revision=move.before.revision))
    if type(move.before) not in NEXT:
        return
    row = shared.row()
    assert row["v"] in (WIDER, OTHER)
    shared.table.replace({})
    getattr(shared.next, rows).insert([moved], NOW)
    fresh = shared.row()
    ours = {"w", "expires_at", "due_bucket", "work", "work_digest"}
    assert {n: x for n, x in row.items() if n not in ours} == {n: x for n, x in fresh.items() if n not in ours}


@pytest.mark.parametrize("rows", [name for name, move in KINDS.items() if type(move.before) not in FORMER])
def test_what_a_release_may_ignore_is_kept_when_it_changes_the_row(shared: Shared, rows: str) -> None:
    move = KINDS[rows]
    getattr(shared.next, rows).insert([move.before], NOW)
    standing = read(shared.former, move)
    for after in (move.after, move.before, move.after):
        standing = bare(swapped(shared.former, move, standing, evolve(bare(after), revision=standing.revision)))
    row = shared.row()
    assert (row["v"], row[MARK]) == (WIDER, mark_of(row))


def test_a_row_that_this_release_cannot_know_is_refused_and_stands_as_it_was(shared: Shared) -> None:
    move, unaware = KINDS["runs"], over(shared.table, {})
    shared.next.runs.insert([move.before, move.another], NOW)
    before = shared.table.items()
    with pytest.raises(NewerRowError, match="has version 100, this release knows 1"):
        unaware.runs.read([move.key])
    with pytest.raises(NewerRowError):
        unaware.runs.swap([Swap(move.before, move.after)], NOW)
    assert shared.table.items() == before


def test_a_race_of_two_releases_has_one_winner(shared: Shared) -> None:
    move = KINDS["runs"]
    for first, second in ((shared.former, shared.next), (shared.next, shared.former)):
        shared.table.replace({})
        first.runs.insert([move.before], NOW)
        (won,) = second.runs.swap([Swap(move.before, move.after)], NOW)
        (lost,) = first.runs.swap([Swap(move.before, move.after)], NOW)
        assert (won.done, lost.done) == (True, False)
        assert lost.row == won.row


def test_a_row_of_the_present_version_is_changed_by_one_request(shared: Shared) -> None:
    posts, move = Counted(), KINDS["runs"]
    store = over(shared.table, FORMER, posts)
    shared.next.runs.insert([move.before], NOW)
    asked = []
    standing: Any = move.before
    for _ in range(3):
        posts.sent = 0
        standing = swapped(store, move, standing, evolve(standing, delivery_failures=standing.revision))
        asked.append(posts.sent)
    assert asked == [2, 1, 1]


class Counted(MotoPosts):
    """Counts requests."""

    def __init__(self) -> None:
        super().__init__("dynamodb")
        self.sent = 0

    def post(self, *args: Any, **kwargs: Any) -> Any:
        self.sent += 1
        return super().post(*args, **kwargs)


def test_a_release_that_still_writes_the_former_version_ignores_nothing() -> None:
    first = Shape(100, {1: dict}, still=(1, dict))
    with pytest.raises(NewerRowError):
        first.read({"v": 101})
    assert Shape(100, {1: dict}).read({"v": 101}) == {"v": 101}


def test_a_row_without_a_version_is_changed_as_one_of_the_first(shared: Shared) -> None:
    move = KINDS["runs"]
    shared.former.runs.insert([move.before], NOW)
    bare_row = {name: value for name, value in shared.row().items() if name != "v"}
    shared.table.client.put_item(TableName=shared.table.name, Item=to_values(bare_row))
    swapped(shared.former, move, read(shared.former, move), move.after)
    assert shared.row()["v"] == 1


def test_a_row_without_a_version_is_of_the_first() -> None:
    assert Shape().read({"a": 1}) == {"a": 1}
    assert Shape(2, {1: lambda row: {**row, "b": 2}}).read({"a": 1}) == {"a": 1, "b": 2, "v": 2}
