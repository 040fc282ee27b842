"""Rows of slots: of each tenant, made by their first swap, changed as they were read."""

from dataclasses import replace

from tests.contract.conftest import Subject
from tests.contract.rows import KEY
from timeball.domain.ids import BackfillKey, JobKey
from timeball.domain.slots import Slots
from timeball.ports import Store, Swap, Swapped

A, B, C = (BackfillKey(KEY, "a1"), BackfillKey(KEY, "b2"), BackfillKey(JobKey(KEY.tenant, "A_job-2"), "a1"))
NONE, ONE = Slots("acme"), Slots("acme", (A,), (), 1)
TWO = Slots("acme", (A, C), (B,), 2)


def test_a_tenant_has_no_row_of_slots_until_it_has_one_and_each_has_its_own(subject: Subject) -> None:
    store = subject.store
    assert store.read_slots(["acme", "other"]) == [NONE, Slots("other")]
    subject.lose_answer()
    assert store.swap_slots([Swap(NONE, ONE)]) == [Swapped(done=True, row=ONE)]
    assert subject.was_repeated()
    assert store.read_slots(["other", "acme"]) == [Slots("other"), ONE]
    assert store.swap_slots([Swap(NONE, replace(ONE, held=(B,)))]) == [Swapped(done=False, row=ONE)]


def test_slots_are_swapped_if_they_are_as_they_were_read(subject: Subject) -> None:
    store = subject.store
    store.swap_slots([Swap(NONE, ONE)])
    subject.lose_answer()
    assert store.swap_slots([Swap(ONE, TWO)]) == [Swapped(done=True, row=TWO)]
    assert subject.was_repeated()
    assert store.swap_slots([Swap(ONE, replace(TWO, held=(B,)))]) == [Swapped(done=False, row=TWO)]
    nobody = Slots("acme", (), (), 3)
    other = Slots("other", (), (), 1)
    answers = store.swap_slots([Swap(TWO, nobody), Swap(Slots("other"), other)])
    assert answers == [Swapped(done=True, row=nobody), Swapped(done=True, row=other)]
    assert store.read_slots(["acme"]) == [nobody]


def test_of_no_tenants_there_are_no_slots(store: Store) -> None:
    assert store.read_slots([]) == []
    assert store.swap_slots([]) == []
