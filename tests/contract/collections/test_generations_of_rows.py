"""Runs of several generations at one fire time: each has its row, its attempts, and its position in the ledger."""

from dataclasses import replace

from tests.contract.rows import NOW, run
from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.model.runs.values import Attempt, Outcome
from timeball.ports.collections import LedgerQuery
from timeball.ports.store import Store

KEY = JobKey("acme", "again")
IDS = [
    RunId(KEY, NOW, origin, series, generation)
    for origin, series in ((Origin.BACKFILL, "ab"), (Origin.BACKFILL, "ab2"), (Origin.SCHEDULE, ""))
    for generation in (1, 2, 10)
]


def test_each_generation_has_its_row_and_the_ledger_goes_on_in_order(store: Store) -> None:
    rows = [replace(run(), id=name, due_at=NOW) for name in IDS]
    assert store.runs.insert(rows, NOW) == [None] * len(rows)
    assert [one and one.id for one in store.runs.read(IDS)] == IDS
    found = [one.id for one in store.runs.ledger(LedgerQuery(KEY, 100)).runs]
    assert found == sorted(IDS, reverse=True)
    page = store.runs.ledger(LedgerQuery(KEY, 4))
    rest = store.runs.ledger(LedgerQuery(KEY, 100, before=page.next_before))
    assert [one.id for one in (*page.runs, *rest.runs)] == found
    assert {one.id for one in store.runs.between(KEY, NOW, NOW)} == set(IDS[-3:])


def test_attempts_belong_to_one_generation(store: Store) -> None:
    attempts = {name: Attempt(1, Outcome.FAILED, NOW, NOW, NOW, error=str(name)) for name in IDS}
    store.attempts.insert(list(attempts.items()), NOW)
    for name, attempt in attempts.items():
        assert store.attempts.of_run(name) == [attempt]
