"""Every collection of rows: which write succeeds, what a refusal returns, and what happens after a lost answer."""

from dataclasses import replace
from typing import Any

import pytest

from tests.contract.conftest import Subject
from tests.contract.moves import FREEZE, KINDS, MOVES, B, Move, bare, key_of
from tests.contract.rows import NOW, run
from timeball.domain.attempts.circuit_breaker import Circuit
from timeball.domain.backfill_slots import BackfillSlots
from timeball.domain.model.jobs.freeze import Freezes
from timeball.domain.model.runs.limiter import Limiter
from timeball.domain.model.runs.transitions import claimed
from timeball.domain.model.terms.event import Patterns, WaitingEvent
from timeball.domain.model.terms.flow import UniqueKeyRow
from timeball.ports.rows import Rows, Swap, Swapped
from timeball.ports.store import Store


def _rows(store: Store, move: Move) -> Rows[Any, Any]:
    rows: Rows[Any, Any] = getattr(store, move.rows)
    return rows


def _other(row: Any) -> Any:
    """Return another row under the same key."""
    if isinstance(row, BackfillSlots):
        return replace(row, named=(B,))
    if isinstance(row, Freezes):
        return replace(row, items=(*row.items, FREEZE))
    other = {Circuit: "failures", UniqueKeyRow: "since", Limiter: "joined_at", Patterns: "checked_at"}
    if isinstance(row, WaitingEvent):
        return replace(row, digest="other")
    return replace(row, **{other.get(type(row), "created_at"): 99})


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_a_row_is_inserted_once_and_later_inserts_return_the_standing_row(subject: Subject, kind: Move) -> None:
    rows = _rows(subject.store, kind)
    assert rows.read([kind.key]) == [None]
    subject.lose_answer()
    assert rows.insert([kind.before], NOW) == [None]
    assert subject.was_repeated()
    assert rows.insert([_other(kind.before), kind.another], NOW) == [bare(kind.before), None]
    absent = key_of(kind.another)
    assert rows.read([absent, kind.key]) == [bare(kind.another), bare(kind.before)]


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_only_one_of_two_inserts_of_the_same_content_is_done(store: Store, kind: Move) -> None:
    rows = _rows(store, kind)
    assert rows.insert([kind.before], NOW) == [None]
    assert rows.insert([kind.before], NOW) == [bare(kind.before)]


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_answers_come_in_the_order_of_the_keys_and_none_means_absent(store: Store, kind: Move) -> None:
    rows = _rows(store, kind)
    rows.insert([kind.another], NOW)
    keys = [kind.key, key_of(kind.another)]
    assert rows.read([*keys, *keys], strong=True) == [None, bare(kind.another)] * 2
    assert rows.read(keys, strong=False) == [None, bare(kind.another)]


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_an_empty_list_is_answered_without_a_request(subject: Subject, kind: Move) -> None:
    rows, before = _rows(subject.store, kind), subject.requests()
    assert (rows.insert([], NOW), rows.read([]), rows.swap([], NOW)) == ([], [], [])
    assert subject.requests() == before


@pytest.mark.parametrize("move", MOVES.values(), ids=MOVES)
def test_a_row_is_swapped_if_it_is_as_it_was_read_and_the_store_raises_its_revision(store: Store, move: Move) -> None:
    rows = _rows(store, move)
    rows.insert([move.before], NOW)
    (read,) = rows.read([move.key])
    assert read is not None
    after = replace(move.after, revision=read.revision + 1)
    assert rows.swap([Swap(read, replace(move.after, revision=77))], NOW) == [Swapped(done=True, row=after)]
    assert rows.read([move.key]) == [after]
    assert rows.swap([Swap(read, _other(after))], NOW) == [Swapped(done=False, row=after)]
    assert rows.swap([Swap(after, read)], NOW) == [Swapped(done=True, row=replace(read, revision=read.revision + 2))]


@pytest.mark.parametrize("move", MOVES.values(), ids=MOVES)
def test_a_repeated_swap_whose_first_answer_was_lost_is_done(subject: Subject, move: Move) -> None:
    rows = _rows(subject.store, move)
    rows.insert([move.before], NOW)
    swap = Swap(bare(move.before), move.after)
    subject.lose_answer()
    assert rows.swap([swap], NOW + 1) == [Swapped(done=True, row=swap.written)]
    assert subject.was_repeated()
    assert rows.read([move.key]) == [swap.written]


@pytest.mark.parametrize("move", MOVES.values(), ids=MOVES)
def test_only_one_of_two_swaps_of_the_same_content_is_done(store: Store, move: Move) -> None:
    """Two clients that add the same amount to the same reading write identical rows, so one of them must add again."""
    rows = _rows(store, move)
    rows.insert([move.before], NOW)
    swap = Swap(bare(move.before), move.after)
    assert rows.swap([swap], NOW) == [Swapped(done=True, row=swap.written)]
    assert rows.swap([swap], NOW) == [Swapped(done=False, row=swap.written)]


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_a_swap_of_an_absent_row_is_refused_without_a_row(store: Store, kind: Move) -> None:
    rows = _rows(store, kind)
    assert rows.swap([Swap(bare(kind.before), kind.after)], NOW) == [Swapped(done=False, row=None)]
    assert rows.read([kind.key]) == [None]


def test_more_rows_than_one_request_carries_are_written_and_read(store: Store) -> None:
    runs = [run(NOW + second * 1_000) for second in range(60)]
    assert store.runs.insert(runs, NOW) == [None] * 60
    assert store.runs.insert(runs[:30], NOW + 1) == runs[:30]
    changed = [replace(row, created_at=NOW + 7) for row in runs]
    assert store.runs.insert(changed, NOW) == runs
    ids = [row.id for row in runs] * 2
    assert store.runs.read(ids) == runs * 2


def test_each_of_many_swaps_is_decided_by_itself(store: Store) -> None:
    there = [run(NOW + step) for step in range(30)]
    store.runs.insert(there, NOW)
    first = [Swap(row, claimed(row, "first", NOW, 30_000)) for row in there]
    store.runs.swap(first[::2], NOW)
    second = [Swap(row, claimed(row, "second", NOW, 30_000)) for row in there]
    answers = store.runs.swap(second, NOW)
    assert [answer.done for answer in answers] == [False, True] * 15
    assert [answer.row for answer in answers] == [(second if step % 2 else first)[step].written for step in range(30)]
