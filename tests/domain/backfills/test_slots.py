"""The slots of a tenant's backfills: a table of named backfills before, open ones, requests, and named ones after."""

import pytest

from timeball.domain.backfill import Backfill, new_backfill, waiting
from timeball.domain.backfill_slots import MAX_LINE, BackfillSlots, allot, holders
from timeball.domain.model.ids import BackfillKey, JobKey, Shards
from timeball.domain.model.jobs.job import JobSpec
from timeball.domain.model.jobs.job_states import new_job
from timeball.domain.model.terms.policies import OverlapPolicy, Work
from timeball.domain.model.terms.target import HttpTarget
from timeball.domain.time.instants import SECOND_MS
from timeball.domain.time.schedule import Every, Schedule

KEY = JobKey("acme", "job")
NOW = 10**12
MOST = 2

# Each case: the named backfills, of which the first two hold the slots; the open ones; those that ask; the named ones
# afterwards.
SHARES = {
    "the first is named": ("", "A", "A", "A"),
    "in the order of asking": ("", "ABC", "CAB", "CAB"),
    "those that are named stay before those that ask": ("A", "AB", "B", "AB"),
    "named once, however often it asks": ("ABC", "ABC", "C", "ABC"),
    "one is over: the next in line moves up, not the one that asks": ("ABC", "BCD", "D", "BCD"),
    "one is over, and none asks": ("ABCD", "BCD", "", "BCD"),
    "the last of the line is over": ("ABCD", "ABD", "", "ABD"),
    "one that is over by now asks": ("A", "A", "B", "A"),
    "all are over": ("ABC", "", "", ""),
}


def _key(letter: str) -> BackfillKey:
    return BackfillKey(KEY, letter.lower())


def _keys(letters: str) -> tuple[BackfillKey, ...]:
    return tuple(map(_key, letters))


def _backfill(letter: str) -> Backfill:
    job = new_job(
        JobSpec(KEY, Schedule(Every(60, NOW)), Work(HttpTarget("https://a.example/")), "print"), NOW, Shards(1)
    )
    return new_backfill(_key(letter), job, [NOW], 1, OverlapPolicy.ALLOW, NOW)


@pytest.mark.parametrize("case", SHARES)
def test_slots_are_shared_out(case: str) -> None:
    before, is_open, asking, after = SHARES[case]
    slots = BackfillSlots("acme", _keys(before), 3)
    allotted = allot(slots, set(_keys(is_open)), _keys(asking), MOST)
    assert allotted == BackfillSlots("acme", _keys(after), 3)


def test_the_row_does_not_grow_with_the_number_of_waiting_backfills() -> None:
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    slots = allot(BackfillSlots("acme"), set(_keys(letters)), _keys(letters), MOST)
    assert slots.named == _keys(letters[: MOST + MAX_LINE])
    assert holders(slots, MOST) == _keys("AB")


def test_a_tenant_that_may_run_fewer_starts_none_and_forgets_none_until_enough_have_ended() -> None:
    letters = "ABCDEFGHIJKLMNOP"
    before = BackfillSlots("acme", _keys(letters))
    fewer = allot(before, set(_keys(letters[3:] + "Z")), _keys("Z"), MOST)
    assert fewer.named == _keys(letters[3:])
    assert holders(fewer, MOST) == _keys("DE")


def test_waiting_backfills_ask_again_within_40_seconds_each_at_its_own_time() -> None:
    looks = sorted((waiting(_backfill(letter), NOW).due_at or 0) - NOW for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
    assert 20 * SECOND_MS < looks[0] < 25 * SECOND_MS
    assert 35 * SECOND_MS < looks[-1] < 40 * SECOND_MS
    assert len(set(looks)) == 26
