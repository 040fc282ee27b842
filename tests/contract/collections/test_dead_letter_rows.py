"""Dead letters of a tenant are listed by the time of their death, in pages that skip none and repeat none."""

from dataclasses import replace

import pytest

from tests.contract.rows import NOW, swapped
from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.runs.transitions import discarded, reopened
from timeball.ports.rows import ListQuery
from timeball.ports.store import Store

JOBS = [JobKey("acme", f"job-{number}") for number in range(6)]
"""Enough jobs for more than one shard of the listing."""


def _dead(job: JobKey, died_at: int, state: RunState = RunState.FAILED) -> Run:
    run = Run(RunId(job, died_at - 7, Origin.SCHEDULE), state, 1, "normal", 0, NOW, NOW)
    return replace(run, finished_at=died_at, reason=Reason.NOT_RETRIABLE, attempt=1)


def _three_each(store: Store) -> list[Run]:
    """Store three dead letters of each job, at the same instants for all jobs; and rows that are none."""
    dead = [_dead(job, NOW + step) for step in range(3) for job in JOBS]
    others = [
        _dead(JobKey("other", "job-0"), NOW),
        _dead(JOBS[0], NOW + 50, RunState.SUCCEEDED),
        replace(_dead(JOBS[0], NOW + 51), discarded_at=NOW + 60),
    ]
    assert store.runs.insert([*dead, *others], NOW) == [None] * (len(dead) + len(others))
    return dead


@pytest.mark.parametrize("oldest_first", [False, True])
@pytest.mark.parametrize("limit", [1, 4, 6, 18, 50])
def test_pages_list_each_dead_letter_once_by_its_time_of_death(store: Store, limit: int, *, oldest_first: bool) -> None:
    dead = _three_each(store)
    query = ListQuery[RunId]("acme", limit, oldest_first=oldest_first)
    found: list[tuple[int, RunId]] = []
    while page := store.runs.dead_letters(query):
        assert len(page) <= limit
        found += page
        query = replace(query, after=page[-1])
    expected = [(run.finished_at, run.id) for run in dead]
    assert sorted(found) == sorted(expected, key=lambda one: (one[0] or 0, one[1]))
    assert [at for at, _ in found] == sorted((at for at, _ in found), reverse=not oldest_first)


# Each case: bounds in ms from NOW, and the times of death of the letters that are found.
BOUNDS = {
    "from": ((1, 99), {1, 2}),
    "to": ((-99, 0), {0}),
    "both, included": ((1, 1), {1}),
    "nothing within": ((3, 9), set()),
    "the wrong way round": ((2, 1), set()),
}


@pytest.mark.parametrize("case", BOUNDS)
def test_dead_letters_are_found_by_their_time_of_death(store: Store, case: str) -> None:
    (first, last), expected = BOUNDS[case]
    _three_each(store)
    found = store.runs.dead_letters(ListQuery("acme", 50, NOW + first, NOW + last))
    assert {at - NOW for at, _ in found} == expected
    assert len(found) == 6 * len(expected)


def test_a_retried_or_discarded_letter_is_listed_no_more_and_a_run_that_fails_again_is(store: Store) -> None:
    first, second = _dead(JOBS[0], NOW), _dead(JOBS[0], NOW + 1)
    store.runs.insert([first, second], NOW)
    again = swapped(store.runs, first, reopened(first, NOW + 9))
    swapped(store.runs, second, discarded(second, NOW + 9))
    assert store.runs.dead_letters(ListQuery("acme", 50)) == []
    swapped(store.runs, again, replace(again, state=RunState.FAILED, finished_at=NOW + 20, due_at=None))
    assert store.runs.dead_letters(ListQuery("acme", 50)) == [(NOW + 20, first.id)]
