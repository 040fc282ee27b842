"""The intakes of tenants: exact, whoever takes at the same time, and reckoned anew by who has seen them last."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from tests.contract.conftest import Subject
from tests.contract.rows import NOW, job
from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.job import JobStatus, with_spec
from timeball.domain.model.terms.notify import News, Notice
from timeball.domain.sharing.intake import Intake, Taking, reckoned
from timeball.domain.time.instants import MINUTE_MS, SECOND_MS
from timeball.ports.store import Store

ONE = Taking("acme", 1, NOW, per_second=3, active=5)
SECOND = ONE.second


def _reckon(store: Store, left: int = 5) -> None:
    assert store.intakes.reckon(store.intakes.read("acme"), Intake("acme", {}, most=5, left=left, counted_at=NOW))


def test_nothing_is_left_to_who_was_never_counted_and_as_much_as_was_reckoned_to_others(store: Store) -> None:
    assert store.intakes.take(ONE) == Intake("acme")
    _reckon(store)
    assert [store.intakes.take(ONE) for _ in range(3)] == [None] * 3
    assert store.intakes.read("acme") == Intake("acme", {SECOND: 3}, most=5, left=2, counted_at=NOW)


def test_a_second_takes_no_more_than_its_quota_and_the_next_begins_anew(store: Store) -> None:
    without = replace(ONE, active=0)
    assert store.intakes.take(replace(without, amount=4)) is not None
    assert store.intakes.take(replace(without, amount=3)) is None
    refusing = store.intakes.take(without)
    assert refusing is not None
    assert refusing.taken == {SECOND: 3}
    assert store.intakes.take(replace(without, at=NOW + SECOND_MS)) is None


def test_who_is_refused_takes_nothing(store: Store) -> None:
    _reckon(store, left=2)
    assert store.intakes.take(replace(ONE, amount=3)) is not None
    assert store.intakes.take(replace(ONE, active=6)) is not None
    assert store.intakes.read("acme") == Intake("acme", {}, most=5, left=2, counted_at=NOW)
    assert store.intakes.take(replace(ONE, amount=2)) is None


def test_what_is_given_back_is_there_again(store: Store) -> None:
    _reckon(store)
    assert store.intakes.take(replace(ONE, amount=3)) is None
    store.intakes.give_back(replace(ONE, amount=2))
    assert store.intakes.read("acme") == Intake("acme", {SECOND: 1}, most=5, left=4, counted_at=NOW)


def test_what_is_left_is_reckoned_only_by_who_saw_the_last_that_was_taken(store: Store) -> None:
    _reckon(store)
    seen = store.intakes.read("acme")
    assert store.intakes.take(ONE) is None
    assert not store.intakes.reckon(seen, reckoned(seen, 0, 5, NOW))
    assert store.intakes.reckon(store.intakes.read("acme"), Intake("acme", {}, most=5, left=5, counted_at=NOW + 1))
    assert store.intakes.read("acme") == Intake("acme", {SECOND: 1}, most=5, left=5, counted_at=NOW + 1)
    assert not store.intakes.reckon(Intake("acme"), Intake("acme", {}, most=5, left=5, counted_at=NOW + 2))


def test_tenants_have_intakes_of_their_own(store: Store) -> None:
    without = replace(ONE, active=0, amount=3)
    assert [store.intakes.take(replace(without, tenant=tenant)) for tenant in ("acme", "globex")] == [None, None]


@pytest.mark.parametrize("taking", [replace(ONE, per_second=20, active=0), replace(ONE, per_second=0, active=20)])
def test_of_fifty_who_take_at_once_as_many_do_as_may(store: Store, taking: Taking) -> None:
    assert store.intakes.reckon(Intake("acme"), Intake("acme", {}, most=20, left=20, counted_at=NOW))
    with ThreadPoolExecutor(8) as threads:
        taken = list(threads.map(lambda _: store.intakes.take(taking), range(50)))
    assert taken.count(None) == 20


def test_the_row_does_not_grow_with_the_seconds(subject: Subject) -> None:
    for second in range(100):
        taking = replace(ONE, at=NOW + second * MINUTE_MS, active=0)
        assert subject.store.intakes.take(taking) is None
    if subject.requests():
        assert len(subject.store.intakes.read("acme").taken) <= 32
        assert subject.requests() <= 106


def test_jobs_that_have_not_ended_are_counted_that_are_older(store: Store) -> None:
    made = [replace(job(f"job-{n}"), created_at=NOW + n) for n in range(6)]
    made[1] = replace(made[1], status=JobStatus.PAUSED, due_at=None)
    made[2] = replace(made[2], status=JobStatus.COMPLETED, due_at=None)
    other = with_spec(made[0], key=JobKey("other", "job-0"))
    about = with_spec(made[0], key=JobKey("acme", "notice-0"), notice=Notice(News.SUCCESS, "job-0", None))
    assert store.jobs.insert([*made, other, about], NOW) == [None] * 8
    assert [store.jobs.count_open("acme", NOW + n, 10) for n in (0, 1, 4, 9)] == [0, 1, 3, 5]


def test_of_jobs_that_are_too_many_no_more_are_counted_than_tell_that(subject: Subject) -> None:
    subject.store.jobs.insert([job(f"job-{n}") for n in range(40)], NOW)
    before = subject.requests()
    assert subject.store.jobs.count_open("acme", NOW + 1, 1) >= 1
    fewest = subject.requests() - before
    assert subject.store.jobs.count_open("acme", NOW + 1, 41) == 40
    assert subject.requests() - before > 2 * fewest or not subject.requests()


def test_what_is_taken_beside_leaves_as_many_jobs_as_before(store: Store) -> None:
    """As events do: they count in their second, and against nothing else."""
    _reckon(store)
    assert store.intakes.take(replace(ONE, active=0, amount=2)) is None
    assert store.intakes.take(ONE) is None
    standing = store.intakes.read("acme")
    assert standing == Intake("acme", {SECOND: 3}, {SECOND: 2}, most=5, left=4, counted_at=NOW)
    assert reckoned(standing, 0, 5, NOW).left == 4
