"""How old a missed fire may be that still runs, by default: a table of outages, by schedule and length."""

import pytest

from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.job import Job, JobSpec
from timeball.domain.model.terms.policies import CatchUp, CatchUpPolicy, Work
from timeball.domain.model.terms.target import HttpTarget
from timeball.domain.planning.planner import Start, caught_up, oldest_caught_up, plan
from timeball.domain.time.instants import HOUR_MS, MINUTE_MS, SECOND_MS, parse_instant
from timeball.domain.time.schedule import Cron, Every, Schedule, next_fire

MISFIRE_MS = 60 * SECOND_MS
NIGHTLY = Schedule(Cron("0 2 * * *"))
WEEKDAYS = Schedule(Cron("0 2 * * mon-fri"))
PAIRS = Schedule(Cron("0,5 2 * * *"))
LEAP = Schedule(Cron("0 2 29 2 *"))
ENDING = Schedule(Cron("0 2 * * *"), end_at=parse_instant("2026-11-23T03:00:00Z"))
ALL, LATEST, SKIP = CatchUpPolicy.ALL, CatchUpPolicy.LATEST, CatchUpPolicy.SKIP


def at(text: str) -> int:
    return parse_instant(f"{text}:00Z")


# The schedule, the policy, the end of the outage, and the fires that run after it. 2026-11-23 is a Monday.
CASES = [
    (NIGHTLY, CatchUp(), "2026-11-23T03:01", ["2026-11-23T02:00"]),  # an outage of 61 minutes
    (NIGHTLY, CatchUp(), "2026-11-23T14:00", ["2026-11-23T02:00"]),  # half the distance, to the millisecond
    (NIGHTLY, CatchUp(), "2026-11-23T14:01", []),
    (NIGHTLY, CatchUp(ALL), "2026-11-23T13:00", ["2026-11-23T02:00"]),  # the night before is older than its distance
    (NIGHTLY, CatchUp(SKIP), "2026-11-23T03:01", []),
    (NIGHTLY, CatchUp(LATEST, max_age_seconds=3600), "2026-11-23T03:01", []),  # what the job says counts
    (NIGHTLY, CatchUp(LATEST, max_age_seconds=86_400), "2026-11-24T01:00", ["2026-11-23T02:00"]),
    (WEEKDAYS, CatchUp(), "2026-11-28T13:00", ["2026-11-27T02:00"]),  # from Friday to Monday are three days
    (WEEKDAYS, CatchUp(), "2026-11-28T14:01", []),
    (PAIRS, CatchUp(ALL), "2026-11-23T12:00", ["2026-11-23T02:05"]),  # five minutes to the next: an hour is the larger
    (PAIRS, CatchUp(ALL), "2026-11-23T03:00", ["2026-11-23T02:00", "2026-11-23T02:05"]),
    (PAIRS, CatchUp(ALL), "2026-11-23T03:03", ["2026-11-23T02:05"]),
    (LEAP, CatchUp(), "2028-12-31T00:00", ["2028-02-29T02:00"]),  # four years to the next
    (ENDING, CatchUp(), "2026-11-23T09:00", ["2026-11-23T02:00"]),  # the last one, as if another followed
    (Schedule(Every(3600, at("2026-11-23T00:00"))), CatchUp(ALL), "2026-11-23T06:10", ["2026-11-23T06:00"]),
    (
        Schedule(Every(1800, at("2026-11-23T00:00"))),
        CatchUp(ALL),
        "2026-11-23T06:00",
        ["2026-11-23T05:00", "2026-11-23T05:30"],  # a fire is missed a minute after its time
    ),
]


def job(schedule: Schedule, catch_up: CatchUp, created_at: int) -> Job:
    spec = JobSpec(JobKey("acme", "job"), schedule, Work(HttpTarget("https://x.example")), catch_up=catch_up)
    return Job(
        spec, shard=0, created_at=created_at, updated_at=created_at, next_fire_at=next_fire(schedule, created_at)
    )


@pytest.mark.parametrize(("schedule", "policy", "now", "runs"), CASES)
def test_the_missed_fires_that_run_are_those_that_are_young_enough(
    schedule: Schedule, policy: CatchUp, now: str, runs: list[str]
) -> None:
    late = job(schedule, policy, at(now) - 48 * HOUR_MS)
    assert caught_up(late, at(now), MISFIRE_MS) == [at(one) for one in runs]


def test_a_nightly_job_that_an_outage_of_61_minutes_hits_runs() -> None:
    late, now = job(NIGHTLY, CatchUp(), at("2026-11-22T12:00")), at("2026-11-23T03:01")
    assert plan(late, now, now, MISFIRE_MS) == Start(at("2026-11-23T02:00"), now)


def test_the_age_never_shrinks_below_an_hour_and_moves_on_with_the_clock() -> None:
    for minutes in range(0, 3 * 24 * 60, 7):
        now = at("2026-11-23T00:00") + minutes * MINUTE_MS
        for schedule in (NIGHTLY, PAIRS, WEEKDAYS):
            oldest = oldest_caught_up(schedule, CatchUp(), now)
            assert oldest <= now - HOUR_MS
            assert oldest_caught_up(schedule, CatchUp(), now + MINUTE_MS) >= oldest
