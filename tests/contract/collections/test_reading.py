"""Reads of a job's item collection: the ledger and its pages, ranges, live runs, attempts, and work of any size."""

from dataclasses import replace

import pytest

from tests.contract.rows import KEY, NOW, job, run, run_id
from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.model.jobs.job import advanced, with_spec
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import LIVE, Run, RunState
from timeball.domain.model.runs.transitions import claimed
from timeball.domain.model.runs.values import Attempt, Outcome
from timeball.ports.collections import LedgerQuery
from timeball.ports.rows import Swap
from timeball.ports.store import Store

OTHERS = JobKey("acme", "job-2")


def _ten_runs(store: Store) -> list[Run]:
    states = [RunState.SUCCEEDED, RunState.QUEUED]
    runs = [run(NOW + step * 1_000, states[step % 2]) for step in range(10)]
    neighbour = replace(run(NOW), id=RunId(OTHERS, NOW, Origin.SCHEDULE))
    store.jobs.insert([job(characters=5_000)], NOW)
    store.runs.insert([*runs, neighbour], NOW)
    store.attempts.insert([(runs[0].id, Attempt(1, Outcome.FAILED, NOW))], NOW)
    return runs


@pytest.mark.parametrize("size", [1, 3, 5, 10, 11])
def test_the_ledger_is_paged_newest_first_and_shows_its_end(store: Store, size: int) -> None:
    runs = _ten_runs(store)
    seen: list[Run] = []
    before: RunId | None = None
    for _ in range(11):
        page = store.runs.ledger(LedgerQuery(KEY, size, before=before))
        assert len(page.runs) <= size
        seen += page.runs
        before = page.next_before
        if before is None:
            break
        assert before == page.runs[-1].id
    assert seen == list(reversed(runs))


def test_a_full_last_page_has_no_next_page(store: Store) -> None:
    _ten_runs(store)
    assert store.runs.ledger(LedgerQuery(KEY, 10)).next_before is None
    assert store.runs.ledger(LedgerQuery(JobKey("acme", "none"), 10)).runs == ()


# Each case: from, to (seconds from NOW, both included), states, and the seconds of the rows that are found.
RANGES = {
    "from": (7, None, (), [9, 8, 7]),
    "to": (None, 2, (), [2, 1, 0]),
    "both": (3, 5, (), [5, 4, 3]),
    "nothing in between": (20, 30, (), []),
    "one state": (None, None, (RunState.QUEUED,), [9, 7, 5, 3, 1]),
    "two states": (8, None, (RunState.QUEUED, RunState.SUCCEEDED), [9, 8]),
    "a state that no run has": (None, None, (RunState.FAILED,), []),
}


@pytest.mark.parametrize("case", RANGES)
def test_the_ledger_is_filtered_by_time_and_state(store: Store, case: str) -> None:
    first, last, states, found = RANGES[case]
    _ten_runs(store)
    query = LedgerQuery(
        KEY,
        10,
        None if first is None else NOW + first * 1_000,
        None if last is None else NOW + last * 1_000,
        frozenset(states),
    )
    assert [(row.id.fire_at - NOW) // 1_000 for row in store.runs.ledger(query).runs] == found


def test_the_newest_rows_of_several_ledgers_are_read_up_to_an_instant(store: Store) -> None:
    runs = _ten_runs(store)
    (neighbour,) = store.runs.ledger(LedgerQuery(OTHERS, 1)).runs
    store.runs.insert([run(NOW + 2_000, origin=Origin.MANUAL)], NOW)
    found = store.runs.newest([OTHERS, JobKey("acme", "none"), KEY], 3, NOW + 4_000)
    assert found == [[neighbour], [], [runs[4], runs[3], runs[2]]]
    assert [len(rows) for rows in store.runs.newest([KEY], 100, NOW + 60_000)] == [11]
    assert store.runs.newest([], 3, NOW) == []


def test_pages_of_one_state_follow_each_other_without_gap_or_repeat(store: Store) -> None:
    _ten_runs(store)
    seen: list[int] = []
    before: RunId | None = None
    for _ in range(9):
        page = store.runs.ledger(LedgerQuery(KEY, 2, states=frozenset({RunState.QUEUED}), before=before))
        seen += [(row.id.fire_at - NOW) // 1_000 for row in page.runs]
        before = page.next_before
        if before is None:
            break
    assert seen == [9, 7, 5, 3, 1]


def test_runs_of_one_instant_and_different_origins_are_different_runs(store: Store) -> None:
    rows = [run(NOW, origin=origin) for origin in Origin]
    assert store.runs.insert(rows, NOW) == [None] * len(rows)
    page = store.runs.ledger(LedgerQuery(KEY, 2))
    rest = store.runs.ledger(LedgerQuery(KEY, 10, before=page.next_before))
    assert set(page.runs) | set(rest.runs) == set(rows)
    assert len(page.runs) + len(rest.runs) == len(rows)


def test_runs_between_are_scheduled_runs_earliest_first_with_both_ends(store: Store) -> None:
    runs = _ten_runs(store)
    store.runs.insert([run(NOW + 3_000, origin=Origin.MANUAL)], NOW)
    assert store.runs.between(KEY, NOW + 2_000, NOW + 4_000) == runs[2:5]
    assert store.runs.between(KEY, NOW + 2_001, NOW + 2_999) == []
    assert store.runs.between(KEY, NOW + 3_000, NOW + 2_000) == []
    skipped = replace(run(NOW + 20_000, RunState.SKIPPED, last_fire_at=NOW + 90_000), count=8)
    skipped = replace(skipped, reason=Reason.MISFIRED)
    store.runs.insert([skipped], NOW)
    assert store.runs.between(KEY, NOW + 20_000, NOW + 30_000) == [skipped]


def test_a_ledger_page_has_only_the_given_states_and_nothing_older(store: Store) -> None:
    runs = _ten_runs(store)
    store.runs.swap([Swap(runs[1], claimed(runs[1], "owner", NOW, 30_000))], NOW)
    store.runs.insert([run(NOW + 3_000, RunState.WITHDRAWN, Origin.MANUAL)], NOW)
    live = store.runs.ledger(LedgerQuery(KEY, 100, NOW + 2_000, states=LIVE)).runs
    assert [(row.id.fire_at - NOW) // 1_000 for row in live] == [9, 7, 5, 3, 3]
    assert len(store.runs.ledger(LedgerQuery(KEY, 100, 0, states=LIVE)).runs) == 6


@pytest.mark.parametrize("characters", [0, 150, 100_000])
def test_work_of_any_size_is_read_as_it_was_written(store: Store, characters: int) -> None:
    row = job(characters=characters)
    store.jobs.insert([row, job("other")], NOW)
    assert store.jobs.read([KEY], with_work=True) == [row]
    bare = store.jobs.read([KEY])[0]
    assert bare is not None
    assert with_spec(bare, work=row.spec.work) == row
    moved = advanced(bare, run(), NOW)
    store.jobs.swap([Swap(bare, moved)], NOW)
    assert store.jobs.read([KEY, JobKey("acme", "other")], with_work=True) == [
        with_spec(replace(moved, revision=2), work=row.spec.work),
        job("other"),
    ]


def test_an_attempt_may_be_rewritten(store: Store) -> None:
    run = run_id()
    seen, lost = Attempt(1, Outcome.SUCCEEDED, NOW, NOW, NOW, 200, body="ä" * 4_000), Attempt(1, Outcome.LOST, NOW)
    store.attempts.insert([(run, seen), (run, replace(seen, number=2))], NOW)
    store.attempts.replace([(run, lost)], NOW)
    assert store.attempts.of_run(run) == [lost, replace(seen, number=2)]


def test_the_first_write_of_an_attempt_stands_and_attempts_are_ordered_by_number(store: Store) -> None:
    attempts = [
        Attempt(number, Outcome.FAILED, NOW, NOW + number, NOW + 9, 500, "Ein Fehler: ☹", "ä" * 4_000)
        for number in (1, 2, 11)
    ]
    first = run_id()
    neighbour = run_id(origin=Origin.MANUAL)
    assert store.attempts.insert([(first, attempts[2]), (first, attempts[0])], NOW) == [None, None]
    other = replace(attempts[0], status=200)
    assert store.attempts.insert([(first, other), (first, attempts[1])], NOW) == [attempts[0], None]
    assert store.attempts.insert([(first, attempts[0])], NOW) == [None]
    store.attempts.insert([(neighbour, Attempt(1, Outcome.LOST, NOW))], NOW)
    assert store.attempts.of_run(first) == attempts
    assert store.attempts.of_run(neighbour) == [Attempt(1, Outcome.LOST, NOW)]
    assert store.attempts.of_run(run_id(NOW + 1)) == []
