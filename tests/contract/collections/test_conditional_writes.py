"""Inserts and swaps of rows that could be mistaken for one another, and races for a row."""

import threading
from dataclasses import replace

import pytest

from tests.contract.conftest import Subject
from tests.contract.rows import KEY, NOW, job, run
from timeball.domain.model.ids import Origin
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.runs.transitions import claimed
from timeball.ports.due_index import Owner
from timeball.ports.rows import Swap
from timeball.ports.store import Store


def test_empty_lists_beside_the_rows_cost_no_request(subject: Subject) -> None:
    store, before = subject.store, subject.requests()
    assert store.jobs.read([], with_work=True) == []
    assert store.due.query([]) == []
    assert store.works.save([], NOW) == []
    assert store.works.read([]) == []
    assert store.attempts.insert([], NOW) == []
    store.attempts.replace([], NOW)
    assert store.due.read_oldest_days([]) == {}
    assert subject.requests() == before


def test_two_requests_of_one_instant_are_distinguished_by_their_runs(store: Store) -> None:
    mine = replace(run(origin=Origin.MANUAL), work_digest="work", request="request", fingerprint="print")
    other = replace(mine, request="another")
    assert store.runs.insert([mine], NOW) == [None]
    assert store.runs.insert([other], NOW) == [mine]
    moved = Swap(mine, replace(mine, state=RunState.RUNNING))
    assert store.runs.swap([moved], NOW)[0].row == moved.written
    assert store.runs.read([mine.id]) == [moved.written]


@pytest.mark.parametrize("characters", [20, 5_000])
def test_a_repeated_creation_whose_first_answer_was_lost_is_a_creation(subject: Subject, characters: int) -> None:
    row = job(characters=characters)
    subject.lose_answer()
    assert subject.store.jobs.insert([row], NOW) == [None]
    assert subject.was_repeated()
    assert subject.store.jobs.read([KEY], with_work=True) == [row]


def test_a_repeated_insert_whose_first_answer_was_lost_is_an_insert(subject: Subject) -> None:
    for row in (run(), run(NOW + 1, due_at=NOW), run(NOW + 2, RunState.SKIPPED, last_fire_at=NOW + 9)):
        subject.lose_answer()
        assert subject.store.runs.insert([row], NOW) == [None]
        assert subject.was_repeated()
        assert subject.store.runs.read([row.id]) == [row]


def test_a_partition_taken_with_a_lost_answer_is_taken(subject: Subject) -> None:
    for owner in (Owner("2026-11-21T09:30", "a"), Owner("2026-11-21T09:31", "a")):
        subject.lose_answer()
        assert subject.store.partitions.take(0, owner, NOW)
        assert subject.store.partitions.take(0, owner, NOW)


def test_exactly_one_of_several_threads_that_write_the_same_content_wins(store: Store) -> None:
    (row, together, won) = run(), threading.Barrier(6), list[bool]()

    def race() -> None:
        together.wait()
        won.append(store.runs.insert([row], NOW)[0] is None)
        together.wait()
        won.append(store.runs.swap([Swap(row, claimed(row, "one", NOW, 30_000))], NOW)[0].done)

    threads = [threading.Thread(target=race) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(won) == 2


def test_exactly_one_of_several_threads_that_race_for_a_row_wins(store: Store) -> None:
    for step in range(3):
        row = run(NOW + step)
        results: list[tuple[str, bool]] = []
        together = threading.Barrier(6)

        def race(
            name: str, row: Run = row, results: list[tuple[str, bool]] = results, together: threading.Barrier = together
        ) -> None:
            together.wait()
            mine = replace(row, owner=name)
            inserted = store.runs.insert([mine], NOW)[0] is None
            results.append((f"inserted by {name}", inserted))
            standing = store.runs.read([row.id])[0]
            assert standing is not None
            together.wait()
            after = claimed(row, name, NOW, 30_000)
            results.append((f"claimed by {name}", store.runs.swap([Swap(row, after)], NOW)[0].done))

        threads = [threading.Thread(target=race, args=(f"thread-{number}",)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sum(won for what, won in results if what.startswith("inserted")) == 1
        (winner,) = [what.rpartition(" ")[2] for what, won in results if won and what.startswith("claimed")]
        (standing,) = store.runs.read([row.id])
        assert standing is not None
        assert standing.owner == winner
