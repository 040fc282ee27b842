"""Runs that wait in a limiter's line: found by priority, then fire time; and limiters that are due."""

from dataclasses import replace

from tests.contract.rows import NOW, job, run, swapped
from timeball.domain.model.ids import JobKey, LimiterKey, RunId
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.limiter import Limiter
from timeball.domain.model.runs.run import Permit, Run, Waiting
from timeball.domain.model.runs.transitions import admitted, lined_up, withdrawn
from timeball.domain.time.instants import DAY_MS
from timeball.ports.due_index import DueQuery
from timeball.ports.rows import ListQuery
from timeball.ports.store import Store

DB = LimiterKey("acme", "db")


def _waits(
    fire_at: int, priority: str = "normal", name: str = "db", permit: Permit = Permit.SLOT, job_id: str = "job"
) -> Run:
    like = run(fire_at)
    like = replace(like, id=replace(like.id, job=JobKey("acme", job_id)), priority=priority)
    return lined_up(like, Waiting(name, permit), Reason.LIMIT_WAIT, None)


def _line(store: Store, key: LimiterKey = DB, permit: Permit = Permit.SLOT, limit: int = 50) -> list[RunId]:
    return store.runs.in_line(key, permit, limit)


def test_a_line_is_ordered_by_priority_and_then_by_fire_time(store: Store) -> None:
    low, first, second = _waits(NOW - 9, "low"), _waits(NOW + 1), _waits(NOW + 2)
    urgent, twin = _waits(NOW + 99, "high"), _waits(NOW + 2, job_id="k")
    store.runs.insert([low, second, urgent, twin, first], NOW)
    assert _line(store) == [urgent.id, first.id, second.id, twin.id, low.id]
    assert _line(store, limit=2) == [urgent.id, first.id]


def test_each_line_and_each_tenant_has_its_own_runs(store: Store) -> None:
    place, turn, other, own = (
        _waits(NOW),
        _waits(NOW + 1, permit=Permit.TOKEN),
        _waits(NOW + 2, name="crm"),
        _waits(NOW + 3, name=""),
    )
    foreign = replace(place, id=replace(place.id, job=JobKey("other", "job")))
    store.runs.insert([place, turn, other, own, foreign], NOW)
    assert (_line(store), _line(store, permit=Permit.TOKEN)) == ([place.id], [turn.id])
    assert (_line(store, LimiterKey("acme", "crm")), _line(store, LimiterKey("acme"))) == ([other.id], [own.id])
    assert _line(store, LimiterKey("other", "db")) == [foreign.id]
    assert _line(store, LimiterKey("nobody", "db")) == []
    assert store.runs.dead_letters(ListQuery("acme", 50)) == []


def test_a_run_that_is_admitted_or_waits_for_something_else_leaves_the_line(store: Store) -> None:
    one, another = _waits(NOW), _waits(NOW + 1)
    store.runs.insert([one, another], NOW)
    again = swapped(store.runs, one, admitted(one))
    swapped(store.runs, another, withdrawn(another))
    assert _line(store) == []
    swapped(store.runs, again, lined_up(again, Waiting("db", Permit.SLOT), Reason.LIMIT_WAIT, None))
    assert _line(store) == [one.id]


def test_a_due_limiter_is_found_beside_other_due_rows(store: Store) -> None:
    limiter = Limiter(LimiterKey("acme", "größe#1 /x"), 0, due_at=NOW - 5)
    store.limiters.insert([limiter, Limiter(LimiterKey("acme"), 0, due_at=NOW), Limiter(DB, 0)], NOW)
    store.jobs.insert([job("early", due_at=NOW - 9)], NOW)
    query = DueQuery(0, NOW - NOW % DAY_MS, NOW, 9)
    (page,) = store.due.query([query])
    assert page.candidates == (JobKey("acme", "early"), limiter.key, LimiterKey("acme"))
    swapped(store.limiters, limiter, replace(limiter, due_at=None))
    (page,) = store.due.query([query])
    assert page.candidates == (JobKey("acme", "early"), LimiterKey("acme"))
