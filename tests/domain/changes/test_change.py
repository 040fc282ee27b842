"""The effects of a user's change on a job's row: its versions, its key in the due index, its count of runs."""

from dataclasses import dataclass, replace
from typing import Any

import pytest

from timeball.domain.changes.change import (
    LONGEST_REQUEST_SECONDS,
    Alignment,
    alignment_of,
    cancelled,
    fenced_through,
    paused,
    resumed,
    revised,
)
from timeball.domain.model.ids import JobKey, Origin, RunId, Shards
from timeball.domain.model.jobs.job import Intent, Job, JobSpec, JobStatus, Priority, Verb, with_spec
from timeball.domain.model.jobs.job_states import new_job, settled
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.terms.policies import CatchUp, CatchUpPolicy, OverlapPolicy, RetryPolicy, Work
from timeball.domain.model.terms.target import HttpTarget
from timeball.domain.time.instants import DAY_MS, MINUTE_MS, SECOND_MS, InvalidSchedule, parse_instant
from timeball.domain.time.schedule import At, Cron, Every, Schedule

NOW = parse_instant("2026-11-21T09:30:00Z")
MINUTELY = Schedule(Every(60, NOW - DAY_MS))
WORK = Work(HttpTarget("https://x.example"), "{}")
SPEC = JobSpec(JobKey("acme", "job"), MINUTELY, WORK, "print")
JOB = replace(
    new_job(SPEC, NOW - DAY_MS, Shards(1)), next_fire_at=NOW + MINUTE_MS, due_at=NOW + MINUTE_MS, runs_planned=1_440
)
LATER = NOW + 5 * MINUTE_MS


def _versions(job: Job) -> tuple[int, int]:
    return job.version, job.schedule_version


def test_a_cancelled_job_plans_nothing_more_and_stays_in_the_due_index_until_it_is_settled() -> None:
    row = cancelled(JOB, NOW)
    assert (row.status, row.next_fire_at, row.due_at) == (JobStatus.CANCELLED, None, NOW)
    assert row.intent == Intent(Verb.CANCEL, NOW, NOW + MINUTE_MS)
    assert _versions(row) == (2, 2)
    assert (settled(row).intent, settled(row).due_at) == (None, None)


def test_a_paused_job_keeps_its_plan_and_its_schedule_version() -> None:
    row = paused(JOB, NOW)
    assert (row.status, row.paused_at, row.due_at) == (JobStatus.PAUSED, NOW, NOW)
    assert (row.next_fire_at, row.runs_planned) == (JOB.next_fire_at, JOB.runs_planned)
    assert row.intent == Intent(Verb.PAUSE, NOW, NOW + MINUTE_MS)
    assert _versions(row) == (2, 1)
    assert (settled(row).intent, settled(row).due_at) == (None, None)


def test_a_resumed_job_continues_from_the_fire_at_which_it_was_paused_and_fences_a_slow_pause() -> None:
    row = resumed(settled(paused(JOB, NOW)), LATER)
    assert (row.status, row.paused_at, row.due_at) == (JobStatus.PENDING, NOW, LATER)
    assert settled(row).paused_at is None
    assert row.next_fire_at == JOB.next_fire_at
    assert row.intent == Intent(Verb.RESUME, LATER, NOW + MINUTE_MS)  # `paused_at` bounds the age of its runs
    assert _versions(row) == (3, 2)
    assert (settled(row).intent, settled(row).due_at) == (None, JOB.next_fire_at)


# Each case: a change of anything but the schedule. None supersedes planned runs.
REVISIONS: dict[str, dict[str, Any]] = {
    "tags": {"tags": {"a": "b"}},
    "a name": {"name": "other"},
    "the target": {"work": replace(WORK, target=HttpTarget("https://y.example"))},
    "the payload": {"work": replace(WORK, payload=None)},
    "the priority": {"priority": Priority.HIGH},
    "the retry policy": {"retry": RetryPolicy(max_retries=0)},
    "the timeout": {"timeout_seconds": 7},
    "the catch-up policy": {"catch_up": CatchUp(CatchUpPolicy.SKIP)},
    "the overlap policy": {"overlap": OverlapPolicy.SKIP},
    "the jitter": {"jitter_seconds": 9},
}


@pytest.mark.parametrize("case", REVISIONS)
def test_a_change_of_anything_but_the_schedule_raises_the_version_and_supersedes_nothing(case: str) -> None:
    row = revised(JOB, replace(SPEC, **REVISIONS[case]), NOW)
    assert row == with_spec(replace(JOB, version=2, updated_at=NOW), **REVISIONS[case])


def test_an_empty_change_returns_the_same_row() -> None:
    assert revised(JOB, SPEC, NOW) is JOB
    without_work = with_spec(JOB, work=None)
    assert revised(without_work, SPEC, NOW) is without_work


def test_a_new_schedule_counts_from_now_and_remembers_the_old_plan() -> None:
    hourly = Schedule(Cron("0 * * * *"))
    row = revised(replace(JOB, plan_failures=3), replace(SPEC, schedule=hourly), NOW)
    assert (row.spec.schedule, row.next_fire_at, row.due_at) == (hourly, NOW + 30 * MINUTE_MS, NOW)
    assert (row.plan_failures, row.final_fire_at) == (0, None)
    assert row.intent == Intent(Verb.RESCHEDULE, NOW, NOW + MINUTE_MS, MINUTELY)
    assert (row.status, _versions(row)) == (JobStatus.PENDING, (2, 2))


def test_a_new_schedule_leaves_a_paused_job_paused() -> None:
    row = revised(settled(paused(JOB, NOW)), replace(SPEC, schedule=Schedule(At(LATER))), NOW)
    assert (row.status, row.paused_at, row.next_fire_at, row.final_fire_at) == (JobStatus.PAUSED, NOW, LATER, LATER)
    assert settled(row).due_at is None


def test_a_one_off_that_is_rescheduled_into_the_past_runs_at_once() -> None:
    row = revised(JOB, replace(SPEC, schedule=Schedule(At(NOW - DAY_MS))), NOW)
    assert (row.next_fire_at, row.final_fire_at, row.due_at) == (NOW - DAY_MS, NOW - DAY_MS, NOW)


def test_a_new_schedule_without_a_fire_is_refused() -> None:
    over = replace(SPEC, schedule=replace(MINUTELY, end_at=NOW - 1))
    with pytest.raises(InvalidSchedule, match="no fire time left"):
        revised(JOB, over, NOW)


@dataclass(frozen=True)
class Counted:
    """A job's row: the next fire (seconds from NOW, None: planned to its end), the final fire, and the runs planned.

    `kept`: how many of these runs count after a reschedule.
    """

    next_fire: int | None
    final: int | None
    planned: int
    kept: int


EVERY_SECOND = Schedule(Every(1, NOW - DAY_MS), max_runs=10)
COUNTED = {
    "nothing is planned ahead": Counted(1, None, 7, 6),  # the fire of NOW itself is superseded, or planned anew
    "the next fire is late: nothing is planned ahead": Counted(-3, None, 7, 7),
    "four fires are planned ahead": Counted(4, None, 7, 3),
    "all were planned, the last three of them ahead": Counted(None, 2, 10, 7),
    "all were planned, and lie behind": Counted(None, -2, 9, 9),
    "more ahead than were counted: never below nothing": Counted(5, None, 2, 0),
}


@pytest.mark.parametrize("case", COUNTED)
def test_fires_that_were_planned_ahead_are_subtracted_from_the_count(case: str) -> None:
    one = COUNTED[case]
    row = with_spec(
        replace(
            JOB,
            next_fire_at=None if one.next_fire is None else NOW + one.next_fire * SECOND_MS,
            final_fire_at=None if one.final is None else NOW + one.final * SECOND_MS,
            runs_planned=one.planned,
        ),
        schedule=EVERY_SECOND,
    )
    after = revised(row, replace(SPEC, schedule=replace(MINUTELY, max_runs=10)), NOW)
    assert (after.runs_planned, after.final_fire_at) == (one.kept, None)


# Each case: the runs that were planned, none of them ahead, and whether a schedule of five runs in all may follow.
USED_UP = {4: True, 5: False, 6: False}


@pytest.mark.parametrize("planned", USED_UP)
def test_a_schedule_whose_runs_are_used_up_is_refused(planned: int) -> None:
    row = replace(JOB, next_fire_at=NOW - SECOND_MS, runs_planned=planned)
    spec = replace(SPEC, schedule=replace(MINUTELY, max_runs=5))
    if USED_UP[planned]:
        assert revised(row, spec, NOW).runs_planned == planned
        return
    with pytest.raises(InvalidSchedule, match=f"has had {planned} runs already"):
        revised(row, spec, NOW)


def test_a_change_closes_the_next_fire_of_any_plan_that_may_still_be_under_way() -> None:
    assert fenced_through(Intent(Verb.CANCEL, NOW, None), 5_000, 2_000) - NOW == (LONGEST_REQUEST_SECONDS + 7) * 1_000


AT = NOW + MINUTE_MS
PENDING = replace(JOB, schedule_version=3)
PAUSED = replace(PENDING, status=JobStatus.PAUSED)
CANCELLED = replace(PENDING, status=JobStatus.CANCELLED)


def _live(state: RunState = RunState.QUEUED, version: int = 3, at: int = AT, **fields: Any) -> Run:
    run_id = RunId(JOB.key, at, fields.pop("origin", Origin.SCHEDULE))
    return Run(run_id, state, version, Priority.NORMAL, 0, at, NOW, **fields)


# Each case: a live run, its job after the change, and the effect on the run.
ALIGNMENTS = {
    "its job is cancelled": (_live(), CANCELLED, Alignment.END),
    "its job is cancelled, and it waits for a retry": (
        _live(RunState.RETRYING, attempt=1),
        CANCELLED,
        Alignment.END,
    ),
    "its job is cancelled, and it is manual": (_live(origin=Origin.MANUAL), CANCELLED, Alignment.END),
    "its job is cancelled, and it is under way": (_live(RunState.RUNNING, attempt=1), CANCELLED, Alignment.STOP),
    "its job is cancelled, and it was asked to stop": (
        _live(RunState.RUNNING, attempt=1, cancel_requested=True),
        CANCELLED,
        Alignment.KEEP,
    ),
    "its job is paused": (_live(), PAUSED, Alignment.WITHDRAW),
    "its job is paused, and it is withdrawn": (_live(RunState.WITHDRAWN), PAUSED, Alignment.KEEP),
    "its job is paused, and it has started": (_live(RunState.RETRYING, attempt=1), PAUSED, Alignment.KEEP),
    "its job is paused, and it is manual": (_live(origin=Origin.MANUAL), PAUSED, Alignment.KEEP),
    "its job is resumed": (_live(RunState.WITHDRAWN, version=2), PENDING, Alignment.RELEASE),
    "it may not have been sent": (_live(version=2), PENDING, Alignment.RELEASE),
    "it was sent after the change": (_live(), PENDING, Alignment.KEEP),
    "a later change has released it": (_live(version=4), PAUSED, Alignment.KEEP),
    "the new schedule lacks its fire": (_live(version=2, at=AT + 1), PENDING, Alignment.SUPERSEDE),
    "the schedule of a paused job lacks its fire": (_live(version=2, at=AT + 1), PAUSED, Alignment.SUPERSEDE),
    "its job waits for new parents": (_live(version=2), replace(PENDING, waits=True), Alignment.SUPERSEDE),
    "its parents have let it run since": (_live(), replace(PENDING, waits=True), Alignment.KEEP),
}


@pytest.mark.parametrize("case", ALIGNMENTS)
def test_a_live_run_is_aligned_with_its_changed_job(case: str) -> None:
    run, job, alignment = ALIGNMENTS[case]
    assert alignment_of(run, job) is alignment
