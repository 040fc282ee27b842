"""Fire times of one-offs, intervals and windows; cron has tests of its own."""

from dataclasses import replace

import pytest

from timeball.domain.model.ids import JobKey, Shards, shard_of
from timeball.domain.model.jobs.job import JobSpec
from timeball.domain.model.jobs.job_states import new_job
from timeball.domain.model.terms.policies import Work
from timeball.domain.model.terms.target import HttpTarget
from timeball.domain.time.instants import LATEST, InvalidSchedule
from timeball.domain.time.schedule import At, Cron, Every, Schedule, fires, first_fire, is_occurrence, next_fire

# Each case: a schedule, an instant, and the first fire after it.
NEXT = {
    "a one-off ahead": (Schedule(At(100)), 99, 100),
    "a one-off that was": (Schedule(At(100)), 100, None),
    "an interval before its anchor": (Schedule(Every(2, 5_000)), 0, 5_000),
    "an interval at its anchor": (Schedule(Every(2, 5_000)), 5_000, 7_000),
    "an interval keeps its phase": (Schedule(Every(7, 500)), 1_000_000, 1_001_500 - 1_001_500 % 7_000 + 500),
    "a window that begins later": (Schedule(Every(2, 0), start_at=9_001), 0, 10_000),
    "a window that begins at a fire": (Schedule(Every(2, 0), start_at=10_000), 0, 10_000),
    "a window that ends at a fire": (Schedule(Every(2, 0), end_at=4_000), 2_000, 4_000),
    "a window that has ended": (Schedule(Every(2, 0), end_at=4_000), 4_000, None),
    "a one-off outside its window": (Schedule(At(100), end_at=99), 0, None),
    "a cron in its window": (Schedule(Cron("* * * * *"), start_at=60_001), 0, 120_000),
    "no fire at the end of time": (Schedule(Every(1, 0)), LATEST - 1_000, None),
}


@pytest.mark.parametrize("case", NEXT)
def test_the_next_fire_is_the_first_one_strictly_after_an_instant(case: str) -> None:
    schedule, after_at, expected = NEXT[case]
    assert next_fire(schedule, after_at) == expected
    if expected is not None:
        assert is_occurrence(schedule, expected)
        assert not is_occurrence(schedule, expected - 1)


def test_fires_include_both_ends_and_do_not_drift() -> None:
    schedule = Schedule(Every(3, 1))
    assert list(fires(schedule, 1, 9_001)) == [1, 3_001, 6_001, 9_001]
    assert list(fires(schedule, 2, 9_000)) == [3_001, 6_001]
    assert next_fire(schedule, 10**12) == 10**12 - (10**12 - 1) % 3_000 + 3_000


def test_a_one_off_in_the_past_is_due_at_its_own_instant_and_an_interval_from_now_on() -> None:
    assert first_fire(Schedule(At(5)), 1_000) == 5
    assert first_fire(Schedule(Every(1, 0)), 1_000) == 1_000
    assert first_fire(Schedule(Every(1, 0)), 1_001) == 2_000


SPEC = JobSpec(JobKey("acme", "job"), Schedule(Every(1, 0)), Work(HttpTarget("https://x.example")), "print")


def test_a_new_job_waits_in_the_due_index_for_its_first_fire() -> None:
    row = new_job(SPEC, 1_001, Shards(8))
    assert (row.next_fire_at, row.due_at, row.final_fire_at) == (2_000, 2_000, None)
    assert row.shard == shard_of(SPEC.key, 8) < 8
    assert (row.version, row.schedule_version, row.revision, row.created_at) == (1, 1, 1, 1_001)
    once = new_job(replace(SPEC, schedule=Schedule(At(9))), 1_001, Shards(8))
    assert (once.due_at, once.final_fire_at) == (9, 9)


def test_a_schedule_that_never_fires_makes_no_job() -> None:
    with pytest.raises(InvalidSchedule):
        new_job(replace(SPEC, schedule=Schedule(Every(1, 0), end_at=500)), 1_001, Shards(8))
