"""The rows that a plan writes: misfires, ranges and limits as a table."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest

import timeball.domain.time.schedule as schedules
from timeball.domain.model.ids import JobKey, Origin
from timeball.domain.model.jobs.job import Job, JobSpec, advanced, with_spec
from timeball.domain.model.jobs.job_states import replanned
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Run
from timeball.domain.model.terms.policies import CatchUp, CatchUpPolicy, Work
from timeball.domain.model.terms.target import HttpTarget
from timeball.domain.planning.ledger import planned_row, queued_run
from timeball.domain.planning.planner import MAX_STEPS, Plan, SkippedRange, Start, Wait, may_start_at, plan
from timeball.domain.time.instants import MINUTE_MS, SECOND_MS, parse_instant
from timeball.domain.time.schedule import At, Cron, Every, Schedule, fires

NOW = parse_instant("2026-11-21T09:30:00Z")
LOOKAHEAD_MS = 5 * SECOND_MS
MISFIRE_MS = MINUTE_MS


def job(schedule: Schedule, next_fire_at: int | None) -> Job:
    return Job(
        JobSpec(JobKey("acme", "job"), schedule, Work(HttpTarget("https://x.example"))),
        shard=0,
        created_at=0,
        updated_at=0,
        next_fire_at=next_fire_at,
    )


def planned(row: Job, now: int = NOW) -> Plan:
    return plan(row, now, now + LOOKAHEAD_MS, MISFIRE_MS)


def waiting(row: Job, fire_at: int, not_before: int) -> Run:
    return replace(queued_run(row, Origin.SCHEDULE, fire_at, NOW), not_before=not_before)


def every(seconds: int, **window: int) -> Schedule:
    return Schedule(Every(seconds, NOW), **window)


def at(seconds: float) -> int:
    return NOW + int(seconds * SECOND_MS)


@dataclass(frozen=True)
class Case:
    """A schedule, its next fire, and whether it runs; or else when the job is planned next: in seconds from NOW."""

    schedule: Schedule
    next_fire: float
    runs: bool = True
    waits_until: float | None = None


MINUTELY = Schedule(Every(60, at(-86_400)))
RUNS = {
    "due now": Case(every(60), 0),
    "due at the end of the look-ahead": Case(Schedule(Every(60, at(5))), 5),
    "due a millisecond after the look-ahead: nothing yet": Case(
        Schedule(Every(60, at(5.001))), 5.001, runs=False, waits_until=5.001
    ),
    "late, but not missed: one minute is allowed": Case(MINUTELY, -60),
    "the latest of those that were missed": Case(MINUTELY, -120),
    "a one-off": Case(Schedule(At(at(3))), 3),
    "a one-off is never missed": Case(Schedule(At(at(-86_400))), -86_400),
    "the window's end is a fire": Case(every(2, end_at=at(4)), 4),
    "not before the window begins": Case(every(10, start_at=at(8)), 0, runs=False, waits_until=10),
    "after the window's end there is no fire": Case(every(2, end_at=at(3)), 4, runs=False),
}


@pytest.mark.parametrize("name", RUNS)
def test_a_plan_runs_the_next_fire_if_it_is_due_within_the_look_ahead(name: str) -> None:
    case = RUNS[name]
    fire_at = at(case.next_fire)
    until = None if case.waits_until is None else at(case.waits_until)
    found = planned(job(case.schedule, fire_at))
    assert found == (
        Start(fire_at, max(fire_at, NOW) if case.next_fire == -120 else fire_at) if case.runs else Wait(until)
    )


def plans(row: Job) -> Iterator[Start | SkippedRange]:
    """Yield what is planned, one plan after the other, until nothing is due."""
    while isinstance(found := planned(row), Start | SkippedRange):
        yield found
        written = planned_row(row, found, NOW, NOW + LOOKAHEAD_MS)
        row = advanced(row, written, NOW)


def test_the_latest_missed_fire_runs_at_once_and_the_other_missed_fires_are_one_range() -> None:
    assert list(plans(job(MINUTELY, at(-600)))) == [
        SkippedRange(at(-600), at(-180), Reason.MISFIRED),
        Start(at(-120), NOW),
        Start(at(-60), at(-60)),
        Start(NOW, NOW),
    ]


@dataclass(frozen=True)
class Outage:
    """A catch-up policy, and how many minutes ago a job that fires each minute was last planned; the fires that run.

    `ran` are pairs of minutes before NOW and of seconds after NOW; the two fires that are not missed are left out.
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
def test_after_an_outage_exactly_the_fires_run_that_the_catch_up_policy_allows(name: str) -> None:
    case = OUTAGES[name]
    row = with_spec(job(MINUTELY, at(-60 * case.minutes)), catch_up=case.catch_up)
    *missed, late, current = plans(row)
    caught_up = [(one.fire_at, one.not_before) for one in missed if isinstance(one, Start)]
    skipped = [planned_row(row, one, NOW, NOW).count for one in missed if isinstance(one, SkippedRange)]
    assert caught_up == [(at(-60 * minutes), at(seconds)) for minutes, seconds in case.ran]
    assert (late, current) == (Start(at(-60), at(-60)), Start(NOW, NOW))
    assert sum(skipped) == case.minutes - 1 - len(case.ran)


@pytest.mark.parametrize("policy", CatchUpPolicy)
@pytest.mark.parametrize("period", [1, 7, 60, 90])
def test_the_claim_decides_about_each_fire_as_a_plan_of_the_same_moment_would(
    period: int, policy: CatchUpPolicy
) -> None:
    row = with_spec(job(Schedule(Every(period, at(-86_400))), at(-400)), catch_up=CatchUp(policy, 3))
    starts = {one.fire_at: one.not_before for one in plans(row) if isinstance(one, Start)}
    for fire_at in fires(row.spec.schedule, at(-400), NOW):
        late = may_start_at(row, waiting(row, fire_at, fire_at), NOW, MISFIRE_MS)
        assert (None if late is None else max(late, fire_at)) == (
            None if fire_at not in starts else max(starts[fire_at], fire_at)
        )
        if late is None:
            assert may_start_at(row, waiting(row, fire_at, fire_at), NOW + 10**7, MISFIRE_MS) is None


def test_a_run_that_was_put_off_to_be_caught_up_counts_as_late_only_from_its_new_start() -> None:
    row = with_spec(job(Schedule(Every(60, at(-86_400))), at(-600)), catch_up=CatchUp(ALL, 3))
    assert may_start_at(row, waiting(row, at(-180), at(-60)), NOW, MISFIRE_MS) == at(-60)
    assert may_start_at(row, waiting(row, at(-180), at(-61)), NOW, MISFIRE_MS) == at(1)
    assert may_start_at(row, waiting(row, at(-300), at(-61)), NOW, MISFIRE_MS) is None


def test_jitter_moves_the_start_and_never_the_fire_and_is_no_lateness() -> None:
    row = with_spec(job(MINUTELY, at(-120)), jitter_seconds=600)
    starts = {one.fire_at: one.not_before for one in plans(row) if isinstance(one, Start)}
    assert list(starts) == [at(-120), at(-60), NOW]
    assert all(0 <= not_before - fire_at < 600_000 for fire_at, not_before in starts.items())
    assert len({not_before - fire_at for fire_at, not_before in starts.items()}) == 3
    assert starts == {one.fire_at: one.not_before for one in plans(row) if isinstance(one, Start)}


def test_a_range_skips_a_bounded_number_of_instants_and_the_next_range_follows_it() -> None:
    row = job(Schedule(Every(1, at(-86_400))), at(-86_400))
    first, second, *_ = plans(row)
    assert first == SkippedRange(at(-86_400), at(-86_400 + MAX_STEPS - 1), Reason.MISFIRED)
    assert second.fire_at == at(-86_400 + MAX_STEPS)


@pytest.mark.parametrize("policy", CatchUpPolicy)
def test_a_plan_a_hundred_thousand_instants_behind_takes_no_more_steps_than_one_two_thousand_behind(
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
        planned(with_spec(row, catch_up=CatchUp(policy, 100, 366 * 86_400)))
        counts.append(steps)
    assert counts[1] < 1.2 * counts[0]
    assert max(counts) < 10 * MAX_STEPS


def test_a_job_whose_next_fire_vanishes_under_newer_time_zone_data_continues_at_the_one_after() -> None:
    assert planned(job(Schedule(Every(60, NOW)), at(-30))) == Start(NOW, NOW)
    late = job(Schedule(Every(60, at(40))), NOW)
    assert planned(late) == Wait(at(40))
    row = replanned(late, at(40))
    assert (row.next_fire_at, row.due_at) == (at(40), at(40))


def test_a_job_without_a_fire_left_under_newer_time_zone_data_ends() -> None:
    row = job(every(60, end_at=at(-1)), NOW)
    assert planned(row) == Wait(None)
    after = replanned(replace(row, due_at=NOW), None)
    assert (after.next_fire_at, after.final_fire_at, after.due_at) == (None, NOW - 1, NOW)


def test_a_one_off_never_misfires() -> None:
    row = job(Schedule(At(0)), 0)
    assert may_start_at(row, waiting(row, 0, 0), NOW, MISFIRE_MS) == 0


def test_a_window_whose_last_fires_were_all_missed_ends_with_the_last_of_them() -> None:
    window = Schedule(Every(60, at(-1200)), end_at=at(-600))
    row = with_spec(job(window, at(-1200)), catch_up=CatchUp(CatchUpPolicy.SKIP))
    assert planned(row) == SkippedRange(at(-1200), at(-600), Reason.MISFIRED)


def test_a_run_that_its_calendar_moves_does_not_pace_the_runs_that_are_caught_up() -> None:
    row = job(Schedule(Every(7 * 86_400, NOW)), NOW)
    start = Start(NOW, NOW + 86_400_000, moved_to=NOW + 86_400_000)
    moved = planned_row(row, start, NOW, NOW + LOOKAHEAD_MS)
    assert (moved.due_at, moved.moved_to, moved.regular_at) == (start.not_before, start.moved_to, start.moved_to)
    assert advanced(row, moved, NOW).paced_until == 0
    late = replace(moved, not_before=moved.not_before + 120_000)
    assert advanced(row, late, NOW).paced_until == late.not_before + SECOND_MS
