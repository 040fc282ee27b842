"""What a plan writes: the policy of misfires, ranges and limits as a table."""

from dataclasses import dataclass, replace

import pytest

import timeball.domain.schedule as schedules
from timeball.domain.catch_up import CatchUp, CatchUpPolicy
from timeball.domain.ids import JobKey
from timeball.domain.instants import MINUTE_MS, SECOND_MS, parse_instant
from timeball.domain.job import HttpTarget, Job, Work
from timeball.domain.planner import MAX_STARTS, MAX_STEPS, Plan, SkippedRange, Start, may_start_at, plan
from timeball.domain.reason import Reason
from timeball.domain.schedule import At, Cron, Every, Schedule, fires

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
    assert tuple(start.fire_at for start in found.starts) == tuple(map(at, case.runs))
    assert found.skip is None
    assert found.next_fire_at == (None if case.following is None else at(case.following))
    assert found.final_fire_at == (None if case.final is None else at(case.final))
    assert not found.more


def fires_of(found: Plan) -> tuple[int, ...]:
    return tuple(start.fire_at for start in found.starts)


def test_runs_that_were_planned_before_count_against_the_most() -> None:
    row = replace(job(every(1, max_runs=5), NOW), runs_planned=4)
    assert planned(row) == Plan((Start(NOW, NOW),), None, None, NOW)


def test_of_what_was_missed_the_latest_runs_at_once_and_the_others_are_one_range() -> None:
    row = job(Schedule(Every(60, at(-86_400))), at(-600))
    found = planned(row)
    assert found.skip == SkippedRange(at(-600), at(-180), 8, Reason.MISFIRED)
    assert (found.starts, found.next_fire_at, found.more) == ((), at(-120), True)
    following = planned(replace(row, next_fire_at=found.next_fire_at))
    assert following.skip is None
    assert following.starts == (Start(at(-120), NOW), Start(at(-60), at(-60)), Start(NOW, NOW))


@dataclass(frozen=True)
class Outage:
    """A catch-up policy, a job that fires each minute and was last planned so many minutes ago; what runs, and when.

    `ran` are pairs of minutes before NOW and of seconds after NOW; the two fires that are not missed stand apart.
    """

    catch_up: CatchUp
    minutes: int
    ran: tuple[tuple[int, int], ...]


ALL = CatchUpPolicy.ALL
OUTAGES = {
    "none of them": Outage(CatchUp(CatchUpPolicy.SKIP), 30, ()),
    "the latest": Outage(CatchUp(), 30, ((2, 0),)),
    "the latest, if it is young enough": Outage(CatchUp(max_age_seconds=119), 30, ()),
    "all, one a second, the oldest first": Outage(CatchUp(ALL), 4, ((4, 0), (3, 1), (2, 2))),
    "all, but no more than so many": Outage(CatchUp(ALL, max_runs=2), 30, ((3, 0), (2, 1))),
    "all that are young enough": Outage(CatchUp(ALL, max_age_seconds=200), 30, ((3, 0), (2, 1))),
    "as old as is allowed": Outage(CatchUp(ALL, max_age_seconds=180), 30, ((3, 0), (2, 1))),
}


@pytest.mark.parametrize("name", OUTAGES)
def test_after_an_outage_runs_what_the_catch_up_policy_allows(name: str) -> None:
    case = OUTAGES[name]
    row = replace(job(Schedule(Every(60, at(-86_400))), at(-60 * case.minutes)), catch_up=case.catch_up)
    starts: list[Start] = []
    skipped = 0
    for _ in range(5):
        found = planned(row)
        starts += found.starts
        skipped += found.skip.count if found.skip else 0
        row = replace(row, next_fire_at=found.next_fire_at)
        if not found.more:
            break
    caught_up = [(start.fire_at, start.not_before) for start in starts if start.fire_at < at(-60)]
    assert caught_up == [(at(-60 * minutes), at(seconds)) for minutes, seconds in case.ran]
    assert fires_of(Plan(tuple(starts)))[-2:] == (at(-60), NOW)
    assert skipped == case.minutes - 1 - len(case.ran)


@pytest.mark.parametrize("policy", CatchUpPolicy)
@pytest.mark.parametrize("period", [1, 7, 60, 90])
def test_the_claim_decides_about_each_fire_as_a_plan_of_the_same_moment_would(
    period: int, policy: CatchUpPolicy
) -> None:
    row = replace(job(Schedule(Every(period, at(-86_400))), at(-400)), catch_up=CatchUp(policy, 3))
    starts: dict[int, int] = {}
    while (found := planned(row)).more or not starts:
        starts |= {start.fire_at: start.not_before for start in found.starts}
        row = replace(row, next_fire_at=found.next_fire_at)
    for fire_at in fires(row.schedule, at(-400), NOW):
        late = may_start_at(row, fire_at, fire_at, NOW, MISFIRE_MS)
        assert (None if late is None else max(late, fire_at)) == (
            None if fire_at not in starts else max(starts[fire_at], fire_at)
        )
        if late is None:
            assert may_start_at(row, fire_at, fire_at, NOW + 10**7, MISFIRE_MS) is None


def test_a_run_that_was_put_off_to_be_caught_up_is_late_only_from_then_on() -> None:
    row = replace(job(Schedule(Every(60, at(-86_400))), at(-600)), catch_up=CatchUp(ALL, 3))
    assert may_start_at(row, at(-180), at(-60), NOW, MISFIRE_MS) == at(-60)
    assert may_start_at(row, at(-180), at(-61), NOW, MISFIRE_MS) == at(1)
    assert may_start_at(row, at(-300), at(-61), NOW, MISFIRE_MS) is None


def test_jitter_moves_the_start_and_never_the_fire_and_is_no_lateness() -> None:
    row = replace(job(Schedule(Every(60, at(-86_400))), at(-120)), jitter_seconds=600)
    found = planned(row)
    assert fires_of(found) == (at(-120), at(-60), NOW)
    assert all(0 <= start.not_before - start.fire_at < 600_000 for start in found.starts)
    assert len({start.not_before - start.fire_at for start in found.starts}) == 3
    assert planned(row) == found


def test_a_plan_skips_so_many_instants_and_goes_on_at_the_next() -> None:
    row = job(Schedule(Every(1, at(-86_400))), at(-86_400))
    found = planned(row)
    assert found.skip is not None
    assert (found.skip.count, found.more) == (MAX_STEPS, True)
    assert found.next_fire_at == found.skip.last_at + SECOND_MS


@pytest.mark.parametrize("policy", CatchUpPolicy)
def test_a_plan_of_a_job_a_hundred_thousand_instants_behind_takes_no_more_steps_than_one_of_a_thousand(
    policy: CatchUpPolicy, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = 0

    def counting(schedule: Schedule, after_at: int) -> int | None:
        nonlocal steps
        steps += 1
        return one_step(schedule, after_at)

    one_step = schedules.next_fire
    monkeypatch.setattr(schedules, "next_fire", counting)
    counts = []
    for behind in (2_000, 100_000):
        steps = 0
        row = job(Schedule(Cron("* * * * *")), at(-60 * behind))
        planned(replace(row, catch_up=CatchUp(policy, 100, 366 * 86_400)))
        counts.append(steps)
    assert counts[1] < 1.2 * counts[0]
    assert max(counts) < 10 * MAX_STEPS


def test_a_plan_starts_so_many_runs_and_asks_to_be_made_again() -> None:
    row = job(every(1), NOW)
    found = plan(row, NOW, NOW + 500 * SECOND_MS, 10**9)
    assert (len(found.starts), found.next_fire_at, found.more) == (MAX_STARTS, at(MAX_STARTS), True)


def test_a_range_that_was_fixed_is_skipped_to_its_end_whatever_the_time_is() -> None:
    row = job(Schedule(Every(60, at(-86_400))), at(-600))
    first = planned(row)
    assert first.skip is not None
    repeated = planned(replace(row, skip_through=first.skip.last_at), NOW + 3_600 * SECOND_MS)
    assert repeated.skip == first.skip
    assert repeated.next_fire_at == first.next_fire_at


def test_a_job_without_a_next_fire_keeps_its_final_one() -> None:
    assert planned(replace(job(every(1), None), final_fire_at=7)) == Plan(final_fire_at=7)


def test_a_job_whose_next_fire_is_no_more_under_newer_time_zone_data_goes_on_at_the_one_after() -> None:
    row = job(Schedule(Every(60, NOW)), at(-30))
    assert fires_of(planned(row)) == (NOW,)


def test_a_one_off_never_misfires() -> None:
    assert may_start_at(job(Schedule(At(0)), 0), 0, 0, NOW, MISFIRE_MS) == 0


def test_a_window_whose_last_fires_were_all_missed_ends_with_the_last_of_them() -> None:
    window = Schedule(Every(60, at(-1200)), end_at=at(-600))
    found = planned(replace(job(window, at(-1200)), catch_up=CatchUp(CatchUpPolicy.SKIP)))
    assert found == Plan(
        skip=SkippedRange(at(-1200), at(-600), 11, Reason.MISFIRED), final_fire_at=at(-600), more=False
    )
