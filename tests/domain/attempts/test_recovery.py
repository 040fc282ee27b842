"""What a recovery does with live runs, and with the fires of a job: the whole tables."""

from dataclasses import replace

import pytest

from tests.domain.attempts.test_due import FAN, MARGIN_MS, NOW, RUN_ID
from tests.engine.play import WORK
from timeball.domain.attempts.recovery import (
    Repair,
    as_new_as,
    lost_fires,
    made_due,
    repair_of,
    restart_behind,
    restart_of,
    rewound,
)
from timeball.domain.model.ids import Shards
from timeball.domain.model.jobs.job import Change, Guarantee, Job, JobSpec, JobStatus
from timeball.domain.model.jobs.job_states import new_job
from timeball.domain.model.runs.run import Callback, Permit, Run, RunState, Waiting
from timeball.domain.planning.blackouts import NOTHING, Blackouts
from timeball.domain.time.schedule import At, Every, Schedule
from timeball.domain.time.spans import spans_of

ASKED_AT = NOW + 60_000
OFTEN, ONCE = Guarantee.AT_LEAST_ONCE, Guarantee.AT_MOST_ONCE
QUEUED = Run(RUN_ID, RunState.QUEUED, 1, "normal", 0, NOW, NOW)
RUNNING = replace(QUEUED, state=RunState.RUNNING, attempt=1, claimed_at=NOW, lease_until=NOW + 30_000)
IN_LINE = replace(QUEUED, waiting=Waiting("db", Permit.SLOT))


def _job(delivery: Guarantee = OFTEN, schedule: Schedule | None = None, at: int = NOW) -> Job:
    spec = JobSpec(RUN_ID.job, schedule or Schedule(Every(10, NOW)), WORK, delivery=delivery)
    return new_job(spec, at, Shards(1))


@pytest.mark.parametrize(
    ("run", "delivery", "repair"),
    [
        (QUEUED, OFTEN, Repair.MAKE_DUE),  # its message may be lost
        (replace(QUEUED, due_at=NOW), OFTEN, Repair.KEEP),
        (replace(QUEUED, state=RunState.RETRYING, due_at=NOW), OFTEN, Repair.KEEP),
        (replace(QUEUED, state=RunState.WITHDRAWN), OFTEN, Repair.RELEASE),  # its job is not paused: the pause is lost
        (replace(QUEUED, state=RunState.WITHDRAWN), ONCE, Repair.DOUBT),
        (IN_LINE, OFTEN, Repair.EXPECT),
        (RUNNING, OFTEN, Repair.MAKE_DUE),
        (replace(RUNNING, fan=FAN), ONCE, Repair.MAKE_DUE),  # it calls nothing itself
        (QUEUED, ONCE, Repair.DOUBT),
        (replace(QUEUED, due_at=NOW), ONCE, Repair.DOUBT),  # an older row than its claim, perhaps
        (IN_LINE, ONCE, Repair.DOUBT),
        (replace(QUEUED, not_before=ASKED_AT + MARGIN_MS), ONCE, Repair.MAKE_DUE),  # it has not begun by any clock
        (replace(QUEUED, created_at=ASKED_AT), ONCE, Repair.MAKE_DUE),  # it was made after the loss
        (RUNNING, ONCE, Repair.DOUBT),
        (replace(QUEUED, budget_at=ASKED_AT), ONCE, Repair.MAKE_DUE),  # a person has retried it since
        (replace(RUNNING, lease_until=ASKED_AT), ONCE, Repair.MAKE_DUE),  # its executor may live
        (replace(RUNNING, callback=Callback(NOW, ASKED_AT), due_at=ASKED_AT), ONCE, Repair.KEEP),  # its target has it
        (replace(RUNNING, claimed_at=ASKED_AT), ONCE, Repair.MAKE_DUE),
    ],
)
def test_a_live_run_is_repaired_as_its_row_says(run: Run, delivery: Guarantee, repair: Repair) -> None:
    assert repair_of(run, _job(delivery), ASKED_AT, MARGIN_MS) is repair


def test_a_paused_job_keeps_its_withdrawn_runs() -> None:
    job = replace(_job(), status=JobStatus.PAUSED)
    assert repair_of(replace(QUEUED, state=RunState.WITHDRAWN), job, ASKED_AT, MARGIN_MS) is Repair.KEEP


@pytest.mark.parametrize("status", [JobStatus.COMPLETED, JobStatus.FAILED])
def test_a_live_row_of_a_one_off_that_has_ended_is_in_doubt(status: JobStatus) -> None:
    job = replace(_job(schedule=Schedule(At(NOW))), status=status, next_fire_at=None, final_fire_at=NOW)
    assert repair_of(QUEUED, job, ASKED_AT, MARGIN_MS) is Repair.DOUBT
    assert repair_of(replace(QUEUED, budget_at=NOW), job, ASKED_AT, MARGIN_MS) is Repair.MAKE_DUE
    assert repair_of(replace(RUNNING, lease_until=ASKED_AT), job, ASKED_AT, MARGIN_MS) is Repair.MAKE_DUE


@pytest.mark.parametrize(
    ("status", "final_seconds", "restart"),
    [
        (JobStatus.COMPLETED, 60, NOW + 20_000),  # its schedule has ended
        (JobStatus.COMPLETED, 10, None),  # before since
        (JobStatus.CANCELLED, 60, None),
    ],
)
def test_of_the_jobs_that_have_ended_those_that_ran_out_are_planned_again(
    status: JobStatus, final_seconds: int, restart: int | None
) -> None:
    job = replace(_job(), status=status, next_fire_at=None, final_fire_at=NOW + final_seconds * 1_000)
    assert restart_of(job, NOW + 15_000) == restart


def test_a_job_whose_row_is_old_gets_the_version_of_the_newest_row_ahead() -> None:
    rows = [replace(QUEUED, decided_at_version=version) for version in (1, 3, 2)]
    assert as_new_as(_job(), rows).schedule_version == 3
    assert as_new_as(replace(_job(), schedule_version=5), rows).schedule_version == 5


def test_a_run_under_way_is_due_when_its_lease_has_expired_by_any_clock() -> None:
    assert made_due(replace(RUNNING, lease_until=ASKED_AT), ASKED_AT, MARGIN_MS).due_at == ASKED_AT + MARGIN_MS
    assert made_due(QUEUED, ASKED_AT, MARGIN_MS).due_at == ASKED_AT
    assert made_due(replace(QUEUED, not_before=ASKED_AT + 9), ASKED_AT, MARGIN_MS).due_at == ASKED_AT + 9


@pytest.mark.parametrize(
    ("since", "next_at", "restart"),
    [
        (NOW + 15_000, NOW + 60_000, NOW + 20_000),  # its first fire since then
        (NOW - 90_000, NOW + 60_000, NOW),  # not before its newest change
        (NOW + 55_000, NOW + 60_000, None),  # that is its next fire already
        (NOW + 15_000, None, NOW + 20_000),  # its ledger is complete
    ],
)
def test_a_job_is_planned_again_from_its_first_fire_since(since: int, next_at: int | None, restart: int | None) -> None:
    job = replace(_job(), next_fire_at=next_at)
    assert restart_of(job, since) == restart


def test_a_range_that_covers_the_restart_is_its_row() -> None:
    job = replace(_job(), next_fire_at=NOW + 60_000)
    standing = replace(QUEUED, state=RunState.SKIPPED, last_fire_at=NOW + 30_000, count=4)
    assert restart_behind(job, NOW + 20_000, standing) == NOW + 40_000
    assert restart_behind(job, NOW + 40_000, standing) == NOW + 40_000
    assert restart_behind(job, NOW + 20_000, None) == NOW + 20_000
    assert restart_behind(job, NOW + 20_000, replace(standing, last_fire_at=NOW + 50_000)) is None


def test_a_rewound_job_is_due_unless_it_is_paused_and_no_longer_knows_its_final_fire() -> None:
    job = replace(_job(), next_fire_at=None, final_fire_at=NOW + 60_000, runs_planned=7, due_at=None)
    after = rewound(job, NOW + 20_000, 2, ASKED_AT)
    assert (after.next_fire_at, after.final_fire_at, after.runs_planned, after.due_at) == (
        NOW + 20_000,
        None,
        2,
        ASKED_AT,
    )
    assert rewound(replace(job, status=JobStatus.PAUSED), NOW, 2, ASKED_AT).due_at is None
    one_off = replace(_job(schedule=Schedule(At(NOW + 5))), next_fire_at=None)
    assert rewound(one_off, NOW + 5, 0, ASKED_AT).final_fire_at == NOW + 5


CLOSED = Blackouts(dates=spans_of([(NOW, NOW + 15_000)]))
FROZEN = Blackouts(frozen=spans_of([(NOW + 15_000, NOW + 40_000)]))
THAWED = Blackouts(frozen=spans_of([(NOW + 5_000, NOW + 25_000)]))


@pytest.mark.parametrize(
    ("job", "excluded", "seconds"),
    [
        (_job(), NOTHING, []),  # it may be called again
        (_job(ONCE), NOTHING, [0, 10, 20, 30]),
        (_job(ONCE), CLOSED, [20, 30]),
        (_job(ONCE), FROZEN, [0, 10]),
        (_job(ONCE), THAWED, [0, 10, 20, 30]),  # the freeze is over: its fires may have been caught up
        (replace(_job(ONCE), paused_at=NOW + 12_000), NOTHING, [0, 10]),
        (replace(_job(ONCE), final_fire_at=NOW + 10_000), NOTHING, [0, 10]),
        (replace(_job(ONCE), change=Change(NOW + 30_000)), NOTHING, []),  # all of its fires were planned later
        (replace(_job(ONCE), waits=True), NOTHING, []),
    ],
)
def test_the_fires_in_doubt_are_those_that_may_have_begun(job: Job, excluded: Blackouts, seconds: list[int]) -> None:
    found = lost_fires(job, NOW, NOW + 30_000, MARGIN_MS, excluded)
    assert [(at - NOW) // 1_000 for at in found] == seconds


def test_a_newer_change_bounds_the_restart() -> None:
    job = replace(_job(), next_fire_at=NOW + 60_000, change=Change(NOW + 31_000, next_fire_at=NOW + 40_000))
    assert restart_of(job, NOW) == NOW + 40_000
    assert restart_of(replace(job, change=replace(job.change, next_fire_at=None)), NOW) is None
