"""The row of a plan: how it changes a row that stands there, and how the job moves past it."""

from dataclasses import dataclass, replace

import pytest

from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.model.jobs.job import Job, JobSpec, advanced, with_spec
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.runs.transitions import withdrawn
from timeball.domain.model.terms.policies import Work
from timeball.domain.model.terms.target import HttpTarget
from timeball.domain.planning.ledger import closing_row, met, planned_row, skipped_around
from timeball.domain.planning.planner import SkippedRange, Start
from timeball.domain.time.schedule import At, Every, Schedule

NOW = 1_000_000
SECONDLY = Schedule(Every(1, 0))
JOB = Job(
    JobSpec(JobKey("acme", "job"), SECONDLY, Work(HttpTarget("https://x.example"))),
    shard=0,
    created_at=0,
    updated_at=0,
    next_fire_at=NOW,
    schedule_version=3,
)
QUEUED = planned_row(JOB, Start(NOW, NOW + 5), NOW, NOW)
RANGE = planned_row(JOB, SkippedRange(NOW, NOW + 4_000, Reason.MISFIRED), NOW, NOW)
SUPERSEDED = closing_row(JOB, NOW, Reason.SUPERSEDED, NOW - 9)


@dataclass(frozen=True)
class Meeting:
    """The row that stands and the planned row; the resulting state, reason and schedule version, and if it is a run."""

    standing: Run
    planned: Run
    state: RunState
    reason: Reason | None
    decided_at_version: int
    is_run: bool = True


def of_version(row: Run, decided_at_version: int) -> Run:
    return replace(row, decided_at_version=decided_at_version)


LATE = Reason.SUPERSEDED
MEETINGS = {
    "a run that waits gets the plan's stamp": Meeting(of_version(QUEUED, 2), QUEUED, RunState.QUEUED, None, 3),
    "one of a newer version keeps its own": Meeting(of_version(QUEUED, 4), QUEUED, RunState.QUEUED, None, 4),
    "a superseded one lives again": Meeting(of_version(SUPERSEDED, 2), QUEUED, RunState.QUEUED, None, 3),
    "also one of the plan's own version": Meeting(SUPERSEDED, QUEUED, RunState.QUEUED, None, 3),
    "but none that a newer version superseded": Meeting(of_version(SUPERSEDED, 4), QUEUED, RunState.SKIPPED, LATE, 4),
    "a superseded one that is missed is a range": Meeting(
        SUPERSEDED, RANGE, RunState.SKIPPED, Reason.MISFIRED, 3, is_run=False
    ),
    "a withdrawn one is queued": Meeting(withdrawn(of_version(QUEUED, 2)), QUEUED, RunState.QUEUED, None, 3),
    "a withdrawn one that is missed is a range": Meeting(
        withdrawn(QUEUED), RANGE, RunState.SKIPPED, Reason.MISFIRED, 3, is_run=False
    ),
    "a withdrawn one of a newer version stays": Meeting(
        withdrawn(of_version(QUEUED, 4)), QUEUED, RunState.WITHDRAWN, None, 4
    ),
    "a run that waits is not skipped: its claim decides": Meeting(QUEUED, RANGE, RunState.QUEUED, None, 3),
    "a range stays": Meeting(of_version(RANGE, 1), QUEUED, RunState.SKIPPED, Reason.MISFIRED, 1, is_run=False),
    "what is cancelled stays": Meeting(
        closing_row(JOB, NOW, Reason.JOB_CANCELLED, NOW), QUEUED, RunState.SKIPPED, Reason.JOB_CANCELLED, 3
    ),
    "what is under way stays": Meeting(
        replace(QUEUED, decided_at_version=1, state=RunState.RUNNING, attempt=1), QUEUED, RunState.RUNNING, None, 1
    ),
    "what has started before stays": Meeting(
        replace(QUEUED, decided_at_version=1, attempt=1), QUEUED, RunState.QUEUED, None, 1
    ),
}


@pytest.mark.parametrize("name", MEETINGS)
def test_a_plan_changes_the_standing_row_only_if_no_newer_version_has_decided(name: str) -> None:
    case = MEETINGS[name]
    row = met(case.standing, case.planned, NOW)
    assert (row.state, row.reason, row.decided_at_version, row.last_fire_at is None) == (
        case.state,
        case.reason,
        case.decided_at_version,
        case.is_run,
    )


def test_a_revived_run_is_as_it_was_planned() -> None:
    row = met(replace(SUPERSEDED, due_at=7), QUEUED, NOW)
    assert (row.not_before, row.due_at, row.finished_at) == (QUEUED.not_before, QUEUED.due_at, None)


@dataclass(frozen=True)
class Step:
    """A row at the next fire of a job with this many runs of at most two; its runs, next fire and end after it."""

    row: Run
    planned: int
    runs: int
    next_at: int | None
    final_at: int | None = None


STEPS = {
    "a run counts": Step(QUEUED, 0, 1, NOW + 1_000),
    "the last that may be is the end": Step(QUEUED, 1, 2, None, NOW),
    "a range does not count, and its end is gone behind": Step(RANGE, 1, 1, NOW + 5_000),
    "a range of one instant does not count": Step(replace(RANGE, last_fire_at=NOW, count=1), 1, 1, NOW + 1_000),
    "a run that was skipped at its claim counts": Step(replace(QUEUED, state=RunState.SKIPPED), 1, 2, None, NOW),
}


@pytest.mark.parametrize("name", STEPS)
def test_a_job_moves_past_the_row_and_counts_it_if_it_is_a_run(name: str) -> None:
    case = STEPS[name]
    job = with_spec(replace(JOB, runs_planned=case.planned), schedule=replace(SECONDLY, max_runs=2))
    after = advanced(job, case.row, NOW)
    assert (after.runs_planned, after.next_fire_at, after.final_fire_at) == (case.runs, case.next_at, case.final_at)


def test_a_job_at_its_end_is_due_once_more_unless_its_only_run_knows_that_it_is_the_final_one() -> None:
    recurring = with_spec(JOB, schedule=replace(SECONDLY, max_runs=1))
    once = with_spec(replace(JOB, final_fire_at=NOW), schedule=Schedule(At(NOW)))
    assert advanced(recurring, QUEUED, NOW).due_at == NOW + 60_000
    assert advanced(once, QUEUED, NOW).due_at is None
    assert advanced(once, QUEUED, NOW, is_older=True).due_at == NOW + 60_000
    over = replace(QUEUED, state=RunState.SUCCEEDED, finished_at=NOW)
    assert advanced(once, over, NOW).due_at == NOW + 60_000


def test_ranges_leave_out_standing_rows() -> None:
    standing = [QUEUED, replace(RANGE, id=RunId(JOB.key, NOW + 3_000, Origin.SCHEDULE), last_fire_at=NOW + 4_000)]
    rows = skipped_around(JOB, range(NOW, NOW + 7_000, 1_000), Reason.SUPERSEDED, standing, NOW)
    assert [(row.id.fire_at - NOW, (row.last_fire_at or 0) - NOW, row.count) for row in rows] == [
        (1_000, 2_000, 2),
        (5_000, 6_000, 2),
    ]


def test_no_range_spans_a_row_of_another_schedule() -> None:
    between = replace(QUEUED, id=RunId(JOB.key, NOW + 1_500, Origin.SCHEDULE))
    rows = skipped_around(JOB, range(NOW, NOW + 4_000, 1_000), Reason.SUPERSEDED, [between], NOW)
    assert [(row.id.fire_at - NOW, (row.last_fire_at or 0) - NOW) for row in rows] == [(0, 1_000), (2_000, 3_000)]
