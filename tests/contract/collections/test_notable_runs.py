"""Notable runs are listed by state and by their end or start, as whole rows; plain runs are not among them."""

from dataclasses import replace

import pytest

from tests.contract.rows import NOW, swapped
from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.notable import noted, ordered_at
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.runs.values import Attempt, Outcome
from timeball.ports.collections import LedgerQuery
from timeball.ports.rows import ListQuery
from timeball.ports.store import Store

JOBS = [JobKey("acme", f"job-{number}") for number in range(6)]


def _failed(job: JobKey, at: int, state: RunState = RunState.FAILED) -> Run:
    run = Run(RunId(job, at - 7, Origin.SCHEDULE), state, 1, "normal", 0, at - 7, NOW, attempt=1)
    last = Attempt(1, Outcome.FAILED, at - 6, at - 5, at, 503, "It answered with 503.")
    return replace(run, finished_at=at, reason=Reason.NOT_RETRIABLE, last=last)


@pytest.mark.parametrize("oldest_first", [False, True])
@pytest.mark.parametrize("limit", [1, 5, 18, 60])
def test_pages_list_each_notable_run_once(store: Store, limit: int, *, oldest_first: bool) -> None:
    failed = [_failed(job, NOW + step) for step in range(3) for job in JOBS]
    skipped = [_failed(job, NOW + 10, RunState.SKIPPED) for job in JOBS]
    others = [_failed(JobKey("globex", "job-0"), NOW), _failed(JOBS[0], NOW + 50, RunState.SUCCEEDED)]
    store.runs.insert([*failed, *skipped, *others], NOW)
    for states, expected in (
        ([RunState.FAILED], failed),
        ([RunState.FAILED, RunState.SKIPPED], [*failed, *skipped]),
        ([RunState.RUNNING, RunState.SUCCEEDED], []),
    ):
        query, found = ListQuery[RunId]("acme", limit, oldest_first=oldest_first), list[Run]()
        while page := store.runs.notable(states, query):
            found += page
            query = replace(query, after=(ordered_at(page[-1]), page[-1].id))
        order = sorted(expected, key=lambda run: (ordered_at(run), run.id), reverse=not oldest_first)
        assert found == order


def test_a_run_enters_and_leaves_the_index_with_its_row(store: Store) -> None:
    run = Run(RunId(JOBS[0], NOW, Origin.SCHEDULE), RunState.QUEUED, 1, "normal", 0, NOW, NOW)
    store.runs.insert([run], NOW)
    query = ListQuery[RunId]("acme", 5)
    assert store.runs.notable([*RunState], query) == []
    late = swapped(store.runs, run, noted(run))
    assert store.runs.notable([RunState.QUEUED], query) == [late]
    ended = swapped(store.runs, late, replace(late, state=RunState.SUCCEEDED, finished_at=NOW + 9_000))
    assert ended.noted
    assert store.runs.notable([*RunState], query) == []


def test_a_span_bounds_the_notable_runs(store: Store) -> None:
    runs = [_failed(JOBS[0], NOW + step) for step in range(5)]
    store.runs.insert(runs, NOW)
    assert store.runs.notable([RunState.FAILED], ListQuery("acme", 9, NOW + 1, NOW + 3)) == runs[3:0:-1]


def test_several_ledgers_are_read_in_either_direction(store: Store) -> None:
    runs = [_failed(job, NOW + step) for job in JOBS[:2] for step in range(4)]
    store.runs.insert(runs, NOW)
    for oldest_first in (False, True):
        queries = [LedgerQuery(job, 3, oldest_first=oldest_first, strong=False) for job in JOBS[:3]]
        pages = store.runs.ledgers(queries)
        order = 1 if oldest_first else -1
        assert [page.runs for page in pages] == [tuple(runs[:4][::order][:3]), tuple(runs[4:][::order][:3]), ()]
        assert pages[0].next_before is not None
        (rest,) = store.runs.ledgers([replace(queries[0], before=pages[0].next_before)])
        assert rest.runs == (runs[:4][::order][3],)
        assert rest.next_before is None
