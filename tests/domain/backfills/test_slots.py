"""The slots of a tenant's backfills: a table of rows before, open backfills, requests, and rows after."""

import pytest

from timeball.domain.backfill import Backfill, BackfillStatus, new_backfill, waiting
from timeball.domain.backfill_slots import MAX_LINE, BackfillSlots, allot
from timeball.domain.model.evolve import evolve
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

# Each case: the holders and the line; the running backfills (small letters) and the waiting ones (capital letters);
# those that ask; the holders and the line afterwards. No other backfill is open.
SHARES = {
    "the first gets a slot": ("/", "A", "A", "A/"),
    "free slots go in the order of asking": ("/", "ABC", "CAB", "CA/B"),
    "who holds one keeps it": ("A/", "aB", "B", "AB/"),
    "none is free: in line": ("AB/", "abC", "C", "AB/C"),
    "in line once, however often it asks": ("AB/C", "abC", "C", "AB/C"),
    "one is over: the next in line, not who asks": ("AB/C", "bCD", "D", "BC/D"),
    "one is over, and nobody asks": ("AB/CD", "bCD", "", "BC/D"),
    "it died before it ran: the slot stays its own": ("A/", "AB", "B", "AB/"),
    "who was given one and asks has it": ("AB/", "Ab", "A", "AB/"),
    "who is over leaves the line too": ("AB/CD", "abD", "", "AB/D"),
    "all are over": ("AB/C", "", "", "/"),
    "fewer may run than do: none is stopped": ("ABC/D", "abcD", "D", "ABC/D"),
}


def _key(letter: str) -> BackfillKey:
    return BackfillKey(KEY, letter.lower())


def _keys(letters: str) -> tuple[BackfillKey, ...]:
    return tuple(map(_key, letters))


def _backfill(letter: str) -> Backfill:
    job = new_job(
        JobSpec(KEY, Schedule(Every(60, NOW)), Work(HttpTarget("https://a.example/")), "print"), NOW, Shards(1)
    )
    one = new_backfill(_key(letter), job, [NOW], 1, OverlapPolicy.ALLOW, NOW)
    return one if letter.isupper() else evolve(one, status=BackfillStatus.RUNNING)


@pytest.mark.parametrize("case", SHARES)
def test_slots_are_shared_out(case: str) -> None:
    before, is_open, asking, after = SHARES[case]
    (held, line), shares = map(_keys, before.split("/")), tuple(map(_keys, after.split("/")))
    slots = BackfillSlots("acme", held, line, 3)
    allotted = allot(slots, {_key(letter): _backfill(letter) for letter in is_open}, _keys(asking), MOST)
    assert (allotted.held, allotted.line) == shares
    assert (allotted == slots) == (before == after)


def test_the_row_does_not_grow_with_the_number_of_waiting_backfills() -> None:
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    slots = allot(BackfillSlots("acme"), {_key(letter): _backfill(letter) for letter in letters}, _keys(letters), MOST)
    assert (slots.held, slots.line) == (_keys("AB"), _keys(letters[MOST : MOST + MAX_LINE]))


def test_waiting_backfills_ask_again_within_40_seconds_each_at_its_own_time() -> None:
    looks = sorted((waiting(_backfill(letter), NOW).due_at or 0) - NOW for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
    assert 20 * SECOND_MS < looks[0] < 25 * SECOND_MS
    assert 35 * SECOND_MS < looks[-1] < 40 * SECOND_MS
    assert len(set(looks)) == 26
