"""What a plan writes: the policy of misfires, ranges and limits as a table."""

from dataclasses import dataclass, replace

import pytest

from timeball.domain.ids import JobKey
from timeball.domain.instants import MINUTE_MS, SECOND_MS, parse_instant
from timeball.domain.job import HttpTarget, Job, Work
from timeball.domain.planner import MAX_RUNS, MAX_STEPS, Plan, SkippedRange, is_misfired, plan
from timeball.domain.run import Reason
from timeball.domain.schedule import At, Every, Schedule, fires

NOW = parse_instant("2026-11-21T09:30:00Z")
LOOKAHEAD_MS = 5 * SECOND_MS
MISFIRE_MS = MINUTE_MS


def job(schedule: Schedule, next_fire_at: int | None) -> Job:
    return Job(
        JobKey("acme", "job"), schedule, Work(HttpTarget("https://x.example")), 0, 0, 0, next_fire_at=next_fire_at
    )


def planned(row: Job, now: int = NOW) -> Plan:
    return plan(row, now, now + LOOKAHEAD_MS, MISFIRE_MS)


def every(seconds: int, **window: int) -> Schedule:
    return Schedule(Every(seconds, NOW), **window)


def at(seconds: float) -> int:
    return NOW + int(seconds * SECOND_MS)


@dataclass(frozen=True)
class Case:
    """A schedule, its next fire, the runs, the fire after them, the final one if reached: in seconds from NOW."""

    schedule: Schedule
    next_fire: float
    runs: tuple[float, ...]
    following: float | None
    final: float | None = None


RUNS = {
    "due now": Case(every(60), 0, (0,), 60),
    "due at the end of the look-ahead": Case(every(60), 0, (0,), 60),
    "due a millisecond after the look-ahead: nothing yet": Case(Schedule(Every(60, at(5.001))), 5.001, (), 5.001),
    "several within the look-ahead, its end included": Case(every(1), 0, (0, 1, 2, 3, 4, 5), 6),
    "late, but not missed: one minute is allowed": Case(every(60), -60, (-60, 0), 60),
    "one that was missed is the latest missed: it runs": Case(every(60), -120, (-120, -60, 0), 60),
    "a one-off": Case(Schedule(At(at(3))), 3, (3,), None, 3),
    "a one-off is never missed": Case(Schedule(At(at(-86_400))), -86_400, (-86_400,), None, -86_400),
    "the window ends: its last fire is the final one": Case(every(2, end_at=at(3)), 0, (0, 2), None, 2),
    "the window's end is a fire": Case(every(2, end_at=at(4)), 0, (0, 2, 4), None, 4),
    "so many runs and no more": Case(every(1, max_runs=2), 0, (0, 1), None, 1),
    "not before the window begins": Case(every(1, start_at=at(2.5)), 3, (3, 4, 5), 6),
}


@pytest.mark.parametrize("name", RUNS)
def test_a_plan_runs_what_is_due_within_the_look_ahead(name: str) -> None:
    case = RUNS[name]
    if isinstance(case.schedule.timing, Every) and case.next_fire < 0:
        case = replace(case, schedule=Schedule(Every(case.schedule.timing.seconds, at(-86_400))))
    found = planned(job(case.schedule, at(case.next_fire)))
    assert found.runs == tuple(map(at, case.runs))
    assert found.skip is None
    assert found.next_fire_at == (None if case.following is None else at(case.following))
    assert found.final_fire_at == (None if case.final is None else at(case.final))
    assert not found.more


def test_runs_that_were_planned_before_count_against_the_most() -> None:
    row = replace(job(every(1, max_runs=5), NOW), runs_planned=4)
    assert planned(row) == Plan((NOW,), None, None, NOW)


def test_of_what_was_missed_the_latest_runs_and_the_others_are_one_range() -> None:
    row = job(Schedule(Every(60, at(-86_400))), at(-600))
    found = planned(row)
    assert found.skip == SkippedRange(at(-600), at(-180), 8, Reason.MISFIRED)
    assert (found.runs, found.next_fire_at, found.more) == ((), at(-120), True)
    following = planned(replace(row, next_fire_at=found.next_fire_at))
    assert (following.skip, following.runs) == (None, (at(-120), at(-60), NOW))


def test_a_plan_looks_at_so_many_instants_and_goes_on_at_the_next() -> None:
    row = job(Schedule(Every(1, at(-86_400))), at(-86_400))
    found = planned(row)
    assert found.skip is not None
    assert (found.skip.count, found.more) == (MAX_STEPS - 1, True)
    assert found.next_fire_at == found.skip.last_at + SECOND_MS


def test_a_plan_starts_so_many_runs_and_asks_to_be_made_again() -> None:
    row = job(every(1), NOW)
    found = plan(row, NOW, NOW + 500 * SECOND_MS, 10**9)
    assert (len(found.runs), found.next_fire_at, found.more) == (MAX_RUNS, at(MAX_RUNS), True)


def test_a_range_that_was_fixed_is_skipped_to_its_end_whatever_the_time_is() -> None:
    row = job(Schedule(Every(60, at(-86_400))), at(-600))
    first = planned(row)
    assert first.skip is not None
    repeated = planned(replace(row, skip_through=first.skip.last_at), NOW + 3_600 * SECOND_MS)
    assert repeated.skip == first.skip
    assert repeated.next_fire_at == first.next_fire_at


def test_a_job_without_a_next_fire_keeps_its_final_one() -> None:
    assert planned(replace(job(every(1), None), final_fire_at=7)) == Plan(final_fire_at=7)


@pytest.mark.parametrize("period", [1, 7, 60, 90])
def test_the_claim_skips_only_what_a_plan_would_skip_and_never_what_one_would_run(period: int) -> None:
    schedule = Schedule(Every(period, at(-86_400)))
    first_at = next(fires(schedule, at(-400), NOW))
    found = planned(job(schedule, first_at))
    assert found.skip is not None
    for fire_at in fires(schedule, first_at, at(5)):
        skipped = fire_at <= found.skip.last_at
        assert is_misfired(schedule, fire_at, NOW, MISFIRE_MS) == skipped
        assert not skipped or is_misfired(schedule, fire_at, NOW + 10**7, MISFIRE_MS)


def test_a_one_off_never_misfires() -> None:
    assert not is_misfired(Schedule(At(0)), 0, NOW, MISFIRE_MS)
