"""Work that stands beside its job, work of a run's own, and what a client's request is remembered by."""

from dataclasses import replace

import pytest

from tests.contract.conftest import Subject
from tests.contract.rows import KEY, NOW, job, work
from timeball.domain.ids import JobKey
from timeball.ports import Store, Swap


@pytest.mark.parametrize("characters", [20, 5_000])
@pytest.mark.parametrize("characters_before", [20, 5_001])
def test_a_swap_with_work_replaces_the_work_and_one_without_leaves_it(
    subject: Subject, characters_before: int, characters: int
) -> None:
    store, before = subject.store, job(characters=characters_before)
    store.create_jobs([before], NOW)
    after = replace(before, work=work(characters), name="other", revision=2)
    if characters == 20:
        subject.lose_answer()
    assert store.swap_jobs([Swap(before, after, with_work=True)], NOW)[0].done
    assert store.read_jobs([KEY], with_work=True) == [after]
    later = replace(after, work=None, name="third", revision=3)
    assert store.swap_jobs([Swap(replace(after, work=None), later)], NOW)[0].done
    assert store.read_jobs([KEY], with_work=True) == [replace(later, work=work(characters))]
    stale = replace(before, work=work(7), revision=2)
    assert not store.swap_jobs([Swap(before, stale, with_work=True)], NOW)[0].done
    assert store.read_jobs([KEY], with_work=True) == [replace(later, work=work(characters))]


def test_work_of_a_runs_own_is_read_by_its_name(store: Store) -> None:
    names = store.save_works([(KEY, work(10)), (KEY, work(9_000))], NOW)
    assert store.save_works([(KEY, work(10))], NOW) == names[:1]
    assert store.read_works([(KEY, names[1]), (KEY, "none"), (KEY, names[0])]) == [work(9_000), None, work(10)]
    assert store.read_works([(JobKey("other", "job"), names[0])]) == [None]


def test_of_a_repeated_request_the_first_instant_is_remembered(subject: Subject) -> None:
    subject.lose_answer()
    assert subject.store.remember(KEY, "request", NOW, NOW) == NOW
    assert subject.store.remember(KEY, "request", NOW + 9, NOW + 9) == NOW
    assert subject.store.remember(KEY, "another", NOW + 9, NOW + 9) == NOW + 9
    assert subject.store.remember(JobKey("other", "job"), "request", NOW + 1, NOW + 1) == NOW + 1
