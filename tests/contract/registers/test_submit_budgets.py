"""The submit budgets of tenants: exact under concurrent requests, and recounted only from the row that stands."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from tests.contract.conftest import Subject
from tests.contract.rows import NOW, job
from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.job import JobStatus, with_spec
from timeball.domain.model.terms.notify import News, Notice
from timeball.domain.sharing.submit_budget import Reservation, SubmitBudget, reckoned
from timeball.domain.time.instants import MINUTE_MS, SECOND_MS
from timeball.ports.store import Store

ONE = Reservation("acme", 1, NOW, per_second=3, active=5)
SECOND = ONE.second


def _reckon(store: Store, left: int = 5) -> None:
    assert store.submit_budgets.reckon(
        store.submit_budgets.read("acme"), SubmitBudget("acme", {}, most=5, left=left, counted_at=NOW)
    )


def test_a_tenant_that_was_never_counted_has_no_budget_and_a_counted_one_its_remaining_quota(store: Store) -> None:
    assert store.submit_budgets.reserve(ONE) == SubmitBudget("acme")
    _reckon(store)
    assert [store.submit_budgets.reserve(ONE) for _ in range(3)] == [None] * 3
    assert store.submit_budgets.read("acme") == SubmitBudget("acme", {SECOND: 3}, most=5, left=2, counted_at=NOW)


def test_a_second_takes_no_more_than_its_quota_and_the_next_one_starts_anew(store: Store) -> None:
    without = replace(ONE, active=0)
    assert store.submit_budgets.reserve(replace(without, amount=4)) is not None
    assert store.submit_budgets.reserve(replace(without, amount=3)) is None
    refusing = store.submit_budgets.reserve(without)
    assert refusing is not None
    assert refusing.taken == {SECOND: 3}
    assert store.submit_budgets.reserve(replace(without, at=NOW + SECOND_MS)) is None


def test_a_refused_request_takes_nothing(store: Store) -> None:
    _reckon(store, left=2)
    assert store.submit_budgets.reserve(replace(ONE, amount=3)) is not None
    assert store.submit_budgets.reserve(replace(ONE, active=6)) is not None
    assert store.submit_budgets.read("acme") == SubmitBudget("acme", {}, most=5, left=2, counted_at=NOW)
    assert store.submit_budgets.reserve(replace(ONE, amount=2)) is None


def test_a_released_budget_can_be_taken_again(store: Store) -> None:
    _reckon(store)
    assert store.submit_budgets.reserve(replace(ONE, amount=3)) is None
    store.submit_budgets.release(replace(ONE, amount=2))
    assert store.submit_budgets.read("acme") == SubmitBudget("acme", {SECOND: 1}, most=5, left=4, counted_at=NOW)


def test_a_recount_that_has_not_seen_the_last_request_is_refused(store: Store) -> None:
    _reckon(store)
    seen = store.submit_budgets.read("acme")
    assert store.submit_budgets.reserve(ONE) is None
    assert not store.submit_budgets.reckon(seen, reckoned(seen, 0, 5, NOW))
    assert store.submit_budgets.reckon(
        store.submit_budgets.read("acme"), SubmitBudget("acme", {}, most=5, left=5, counted_at=NOW + 1)
    )
    assert store.submit_budgets.read("acme") == SubmitBudget("acme", {SECOND: 1}, most=5, left=5, counted_at=NOW + 1)
    assert not store.submit_budgets.reckon(
        SubmitBudget("acme"), SubmitBudget("acme", {}, most=5, left=5, counted_at=NOW + 2)
    )


def test_each_tenant_has_its_own_budget(store: Store) -> None:
    without = replace(ONE, active=0, amount=3)
    assert [store.submit_budgets.reserve(replace(without, tenant=tenant)) for tenant in ("acme", "globex")] == [
        None,
        None,
    ]


@pytest.mark.parametrize("reservation", [replace(ONE, per_second=20, active=0), replace(ONE, per_second=0, active=20)])
def test_exactly_the_quota_of_fifty_concurrent_requests_is_taken(store: Store, reservation: Reservation) -> None:
    assert store.submit_budgets.reckon(SubmitBudget("acme"), SubmitBudget("acme", {}, most=20, left=20, counted_at=NOW))
    with ThreadPoolExecutor(8) as threads:
        taken = list(threads.map(lambda _: store.submit_budgets.reserve(reservation), range(50)))
    assert taken.count(None) == 20


def test_the_row_does_not_grow_with_the_seconds(subject: Subject) -> None:
    for second in range(100):
        reservation = replace(ONE, at=NOW + second * MINUTE_MS, active=0)
        assert subject.store.submit_budgets.reserve(reservation) is None
    if subject.requests():
        assert len(subject.store.submit_budgets.read("acme").taken) <= 32
        assert subject.requests() <= 106


def test_only_open_jobs_created_before_an_instant_are_counted(store: Store) -> None:
    made = [replace(job(f"job-{n}"), created_at=NOW + n) for n in range(6)]
    made[1] = replace(made[1], status=JobStatus.PAUSED, due_at=None)
    made[2] = replace(made[2], status=JobStatus.COMPLETED, due_at=None)
    other = with_spec(made[0], key=JobKey("other", "job-0"))
    about = with_spec(made[0], key=JobKey("acme", "notice-0"), notice=Notice(News.SUCCESS, "job-0", None))
    assert store.jobs.insert([*made, other, about], NOW) == [None] * 8
    assert [store.jobs.count_open("acme", NOW + n, 10) for n in (0, 1, 4, 9)] == [0, 1, 3, 5]


def test_a_count_stops_as_soon_as_it_exceeds_its_bound(subject: Subject) -> None:
    subject.store.jobs.insert([job(f"job-{n}") for n in range(40)], NOW)
    before = subject.requests()
    assert subject.store.jobs.count_open("acme", NOW + 1, 1) >= 1
    fewest = subject.requests() - before
    assert subject.store.jobs.count_open("acme", NOW + 1, 41) == 40
    assert subject.requests() - before > 2 * fewest or not subject.requests()


def test_a_request_that_creates_no_jobs_leaves_the_budget_of_jobs(store: Store) -> None:
    """Events are such requests: they count in their second, and against no other quota."""
    _reckon(store)
    assert store.submit_budgets.reserve(replace(ONE, active=0, amount=2)) is None
    assert store.submit_budgets.reserve(ONE) is None
    standing = store.submit_budgets.read("acme")
    assert standing == SubmitBudget("acme", {SECOND: 3}, {SECOND: 2}, most=5, left=4, counted_at=NOW)
    assert reckoned(standing, 0, 5, NOW).left == 4
