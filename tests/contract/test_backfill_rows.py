"""Rows of backfills: made once, changed as they were read, listed beside their job."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.contract.conftest import Subject
from tests.contract.rows import KEY, NOW, backfill
from timeball.domain.backfill import Backfill, cancelled_backfill, plan_backfill, settled_backfill, waiting, woken
from timeball.domain.ids import BackfillKey, JobKey
from timeball.ports import Swap, Swapped


def _advanced(row: Backfill) -> Backfill:
    after = plan_backfill(row, None, NOW).after
    assert after is not None
    return after


BACKFILL_MOVES: dict[str, Callable[[Backfill], Backfill]] = {
    "advanced": _advanced,
    "looking again later": lambda row: waiting(row, NOW),
    "woken": lambda row: woken(row, NOW + 3),
    "advanced to its end": lambda row: _advanced(replace(row, next_fire_at=row.last_at)),
    "cancelled": lambda row: cancelled_backfill(row, NOW + 5),
    "cancelled and settled": lambda row: settled_backfill(cancelled_backfill(row, NOW + 5)),
}


@pytest.mark.parametrize("move", BACKFILL_MOVES)
def test_a_backfill_is_created_once_and_swapped_if_it_is_as_it_was_read(subject: Subject, move: str) -> None:
    store, before = subject.store, backfill()
    subject.lose_answer()
    assert store.create_backfills([before], NOW) == [None]
    assert subject.was_repeated()
    assert store.create_backfills([replace(before, pace_seconds=9), backfill("other")], NOW) == [before, None]
    after = BACKFILL_MOVES[move](before)
    subject.lose_answer()
    assert store.swap_backfills([Swap(before, after)], NOW) == [Swapped(done=True, row=after)]
    assert subject.was_repeated()
    late = replace(after, pace_seconds=8)
    assert store.swap_backfills([Swap(before, late)], NOW) == [Swapped(done=False, row=after)]
    absent = BackfillKey(KEY, "absent")
    assert store.read_backfills([absent, before.key]) == [None, after]
    assert store.backfills_of(KEY) == [after, backfill("other")]
    assert store.backfills_of(JobKey("acme", "another")) == []


def test_a_jobs_backfills_are_read_page_by_page_in_the_order_of_their_names(subject: Subject) -> None:
    names = ["a", "a-1", "a1", "b", "b.x", "c"]
    rows = {name: backfill(name) for name in names}
    store = subject.store
    store.create_backfills(list(rows.values()), NOW)
    met: list[str] = []
    while page := store.backfills_of(KEY, met[-1] if met else "", 2):
        assert page == [rows[one.key.name] for one in page]
        met += [one.key.name for one in page]
    assert met == sorted(names)
