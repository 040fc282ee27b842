"""The next step of a backfill, as a table; the instants of its range; and its rows."""

from dataclasses import dataclass, replace

import pytest

from timeball.domain.backfill import (
    MAX_STARTS,
    Backfill,
    BackfillPlan,
    BackfillStatus,
    BackfillStep,
    advanced,
    backfill_run,
    cancelled_backfill,
    instants,
    new_backfill,
    next_step,
    plan_backfill,
    skipped_backfill_run,
    unbounded,
)
from timeball.domain.model.ids import BackfillKey, JobKey, Origin, RunId
from timeball.domain.model.jobs.job import Job, JobSpec, JobStatus, Priority
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.terms.policies import OverlapPolicy, Work
from timeball.domain.model.terms.target import HttpTarget
from timeball.domain.time.instants import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS, parse_instant
from timeball.domain.time.schedule import At, Cron, Every, Schedule, Timing

NOW = parse_instant("2026-11-21T09:30:00Z")
FIRST = NOW - DAY_MS
KEY = BackfillKey(JobKey("acme", "job"), "bf1")
JOB = Job(
    JobSpec(
        KEY.job, Schedule(Every(60, NOW), start_at=NOW, end_at=NOW + DAY_MS), Work(HttpTarget("https://x.example"))
    ),
    shard=3,
    created_at=0,
    updated_at=0,
)


def _fire(number: int) -> int:
    return FIRST + number * MINUTE_MS


def _backfill(overlap: str, number: int = 0, pace: int = 0, count: int = 10, due_ms: int = 0) -> Backfill:
    """Return a backfill of `count` minutes that has reached the fire with this number and is due `due_ms` from NOW."""
    fresh = new_backfill(KEY, JOB, [_fire(n) for n in range(count)], pace, OverlapPolicy(overlap), NOW)
    if not number:
        return replace(fresh, due_at=NOW + due_ms)
    return replace(
        fresh, next_fire_at=_fire(number), last_run_at=_fire(number - 1), started=number, due_at=NOW + due_ms
    )


# Each case: the backfill's status, the state of its job, whether its tenant is disabled, and the step.
STEPS = {
    "it has a slot": (BackfillStatus.RUNNING, "pending", False, BackfillStep.START),
    "it has no slot": (BackfillStatus.WAITING, "pending", False, BackfillStep.WAIT),
    "a paused job does not stop it": (BackfillStatus.RUNNING, "paused", False, BackfillStep.START),
    "neither does a job that has ended": (BackfillStatus.WAITING, "failed", False, BackfillStep.WAIT),
    "its tenant is disabled": (BackfillStatus.RUNNING, "pending", True, BackfillStep.REST),
    "its tenant is disabled, and it asks for no slot": (BackfillStatus.WAITING, "pending", True, BackfillStep.REST),
    "its job is cancelled": (BackfillStatus.RUNNING, "cancelled", False, BackfillStep.CANCEL),
    "its job is gone": (BackfillStatus.WAITING, None, False, BackfillStep.CANCEL),
    "its job is gone, and its tenant disabled": (BackfillStatus.RUNNING, None, True, BackfillStep.CANCEL),
}


@pytest.mark.parametrize("case", STEPS)
def test_the_step_of_a_backfill_follows_from_its_job_its_tenant_and_its_slot(case: str) -> None:
    status, job_status, is_disabled, step = STEPS[case]
    job = None if job_status is None else replace(JOB, status=JobStatus(job_status))
    assert next_step(replace(_backfill("allow"), status=status), job, is_disabled=is_disabled) is step


LAST = {
    "none": None,
    "queued": RunState.QUEUED,
    "running": RunState.RUNNING,
    "stopping": RunState.RUNNING,
    "retrying": RunState.RETRYING,
    "succeeded": RunState.SUCCEEDED,
    "failed": RunState.FAILED,
    "cancelled": RunState.CANCELLED,
}


def _last(name: str, number: int) -> Run | None:
    state = LAST[name]
    if state is None:
        return None
    run = backfill_run(_backfill("allow"), _fire(number - 1), NOW)
    attempt = 0 if state is RunState.QUEUED else 1
    return replace(run, state=state, attempt=attempt, cancel_requested=name == "stopping")


@dataclass(frozen=True)
class Case:
    """A policy, its last run, its pace (s), when it is due (ms from NOW); then the plan.

    The plan: the number of fires that start, whether one is skipped, whether the last run is stopped, and when the
    backfill is due next (ms from NOW; None: it is completed).
    """

    overlap: str
    last: str
    starts: int
    due_ms: int | None
    skips: bool = False
    stops: bool = False
    pace: int = 0
    number: int = 1
    was_due_ms: int = 0


PLANS = {
    # Without a pace and a policy, all fires start as fast as possible.
    "allow: all that is left at once": Case("allow", "running", 9, None),
    "allow, from the first": Case("allow", "none", 10, None, number=0),
    "allow with a pace: one": Case("allow", "running", 1, 7_000, pace=7),
    "allow with a pace, planned ahead: the pace counts from its turn": Case(
        "allow", "running", 1, 11_000, pace=7, was_due_ms=4_000
    ),
    "allow with a pace, late: what was missed is not made up for": Case(
        "allow", "running", 1, 7_000, pace=7, was_due_ms=-60_000
    ),
    "the last fire completes it": Case("allow", "running", 1, None, pace=7, number=9),
    # queueOne: one after the other.
    "queueOne: the first": Case("queueOne", "none", 1, 0, number=0),
    "queueOne: the last is over": Case("queueOne", "succeeded", 1, 0),
    "queueOne: the last has failed": Case("queueOne", "failed", 1, 0),
    "queueOne: the last is not claimed yet": Case("queueOne", "queued", 0, 5_000),
    "queueOne: the last runs": Case("queueOne", "running", 0, 5_000),
    "queueOne: the last waits for a retry": Case("queueOne", "retrying", 0, 5_000),
    "queueOne: it looks again at its pace": Case("queueOne", "running", 0, 9_000, pace=9),
    "queueOne, at the last fire": Case("queueOne", "succeeded", 1, None, number=9),
    # skip: a fire that finds the last one running is left out.
    "skip: the first": Case("skip", "none", 1, 3_000, pace=3, number=0),
    "skip: the last is over": Case("skip", "succeeded", 1, 3_000, pace=3),
    "skip: the last runs": Case("skip", "running", 0, 3_000, skips=True, pace=3),
    "skip: the last waits for a retry": Case("skip", "retrying", 0, 3_000, skips=True, pace=3),
    "skip, at the last fire": Case("skip", "running", 0, None, skips=True, pace=3, number=9),
    # cancelOther: the last is stopped, and the fire waits until it is.
    "cancelOther: the first": Case("cancelOther", "none", 1, 3_000, pace=3, number=0),
    "cancelOther: the last runs": Case("cancelOther", "running", 0, 5_000, stops=True),
    "cancelOther: the last waits for a retry": Case("cancelOther", "retrying", 0, 5_000, stops=True),
    "cancelOther: the last is being stopped": Case("cancelOther", "stopping", 0, 5_000),
    "cancelOther: the last is stopped": Case("cancelOther", "cancelled", 1, 3_000, pace=3),
}


@pytest.mark.parametrize("name", PLANS)
def test_the_policy_and_the_last_run_decide_about_a_due_backfill(name: str) -> None:
    case = PLANS[name]
    backfill = _backfill(case.overlap, case.number, case.pace, due_ms=case.was_due_ms)
    last = _last(case.last, case.number)
    plan = plan_backfill(backfill, last, NOW)
    assert [row.id.fire_at for row in plan.rows] == [_fire(case.number + n) for n in range(case.starts + case.skips)]
    assert {row.state for row in plan.rows} <= {RunState.SKIPPED if case.skips else RunState.QUEUED}
    assert plan.stop == (last if case.stops else None)
    if not plan.rows:
        assert plan.recheck_at == NOW + (case.due_ms or 0)
        return
    after = advanced(backfill, plan.rows, NOW)
    assert (after.started, after.skipped) == (backfill.started + case.starts, int(case.skips))
    assert after.last_run_at == (plan.rows[-1].id.fire_at if case.starts else backfill.last_run_at)
    assert after.due_at == (None if case.due_ms is None else NOW + case.due_ms)
    is_over = case.due_ms is None
    assert after.status is (BackfillStatus.COMPLETED if is_over else BackfillStatus.RUNNING)
    assert after.next_fire_at == (None if is_over else _fire(case.number + len(plan.rows)))
    assert after.version == backfill.version


@pytest.mark.parametrize("overlap", ["queueOne", "skip", "cancelOther"])
@pytest.mark.parametrize("last", ["queued", "running", "retrying"])
def test_a_scan_before_the_fires_time_decides_nothing_about_a_last_run_that_may_be_over_by_then(
    overlap: str, last: str
) -> None:
    assert plan_backfill(_backfill(overlap, 1, due_ms=1), _last(last, 1), NOW) == BackfillPlan()


@pytest.mark.parametrize("overlap", ["queueOne", "skip", "cancelOther"])
def test_a_scan_before_the_fires_time_starts_it_for_that_time_if_the_last_run_is_over(overlap: str) -> None:
    backfill = _backfill(overlap, 1, pace=9, due_ms=4_000)
    plan = plan_backfill(backfill, _last("succeeded", 1), NOW)
    assert [(row.id.fire_at, row.not_before) for row in plan.rows] == [(_fire(1), NOW + 4_000)]
    assert advanced(backfill, plan.rows, NOW).due_at == NOW + 4_000 + 9_000


def test_a_plan_starts_at_most_a_hundred_fires_and_the_next_plan_follows_at_once() -> None:
    backfill = _backfill("allow", count=250)
    plan = plan_backfill(backfill, None, NOW)
    assert len(plan.rows) == MAX_STARTS
    after = advanced(backfill, plan.rows, NOW)
    assert (after.next_fire_at, after.due_at) == (_fire(MAX_STARTS), NOW)


def test_a_backfill_counts_the_rows_that_stand_and_not_the_planned_ones() -> None:
    backfill = _backfill("skip", 1, pace=3)
    (planned,) = plan_backfill(backfill, _last("running", 1), NOW).rows
    found = backfill_run(backfill, _fire(1), NOW)
    assert (planned.state, found.state) == (RunState.SKIPPED, RunState.QUEUED)
    after = advanced(backfill, [found], NOW)
    assert (after.started, after.skipped, after.last_run_at) == (2, 0, _fire(1))


def test_a_cancelled_backfill_is_due_until_its_runs_are_stopped() -> None:
    row = cancelled_backfill(_backfill("allow", 3, due_ms=60_000), NOW)
    assert (row.status, row.due_at, row.version) == (BackfillStatus.CANCELLED, NOW, 2)


def test_a_run_of_a_backfill_has_its_name_and_gives_way_to_live_runs() -> None:
    backfill = _backfill("allow", due_ms=2_000)
    run = backfill_run(backfill, _fire(0), NOW)
    assert run.id == RunId(KEY.job, _fire(0), Origin.BACKFILL, "bf1")
    assert (run.state, run.priority, run.shard) == (RunState.QUEUED, Priority.LOW, 3)
    assert run.not_before == NOW + 2_000
    skipped = skipped_backfill_run(backfill, _fire(0), NOW)
    assert (skipped.id, skipped.state, skipped.reason) == (run.id, RunState.SKIPPED, Reason.OVERLAP)


# Each case: a timing, the range (from, to) in seconds from NOW, and its fires. `from` is included, `to` is not.
RANGES: dict[str, tuple[Timing, tuple[int, int], list[int]]] = {
    "an interval": (Every(60, NOW), (0, 180), [0, 60, 120]),
    "the end is the beginning of the next range": (Every(60, NOW), (180, 240), [180]),
    "between fires": (Every(60, NOW), (1, 60), []),
    "an empty range": (Every(60, NOW), (60, 60), []),
    "before its anchor": (Every(60, NOW), (-120, 1), [-120, -60, 0]),
    "before its anchor, which is no multiple of its period": (Every(7, NOW), (-15, 0), [-14, -7]),
    "a cron": (Cron("*/10 * * * *"), (-1200, 600), [-1200, -600, 0]),
    "a one-off within": (At(NOW - 5_000), (-60, 0), [-5]),
    "a one-off at the range's end": (At(NOW), (-60, 0), []),
}


@pytest.mark.parametrize("case", RANGES)
def test_a_range_includes_its_first_instant_and_not_its_last(case: str) -> None:
    timing, (from_s, to_s), expected = RANGES[case]
    found = instants(Schedule(timing), NOW + from_s * SECOND_MS, NOW + to_s * SECOND_MS)
    assert [(at - NOW) / SECOND_MS for at in found] == expected


def test_a_range_may_lie_outside_the_jobs_own_window() -> None:
    windowed = Schedule(Cron("0 * * * *"), start_at=NOW, end_at=NOW + HOUR_MS, max_runs=2)
    assert unbounded(windowed) == Schedule(Cron("0 * * * *"))
    assert len(list(instants(windowed, NOW - DAY_MS, NOW + DAY_MS))) == 48
    assert new_backfill(KEY, JOB, [FIRST], 0, OverlapPolicy.ALLOW, NOW).schedule == unbounded(JOB.spec.schedule)
