"""The idea of Timeball: from a job's row and an instant, what is to be written to the ledger now.

A plan either runs instants or skips a range of them, never both: a range must be fixed on the job before any of it is
written, so that a plan repeated after a crash, at whatever later time, skips the same range.
"""

from dataclasses import dataclass

from timeball.domain.job import Job
from timeball.domain.run import Reason
from timeball.domain.schedule import Schedule, next_fire

MAX_STEPS = 1_000
"""Instants that one plan looks at: a job that is far behind resumes at the next plan."""

MAX_RUNS = 100
"""Runs that one plan starts."""


@dataclass(frozen=True)
class SkippedRange:
    """Instants that will not run: the first, the last (both included), how many, and why."""

    first_at: int
    last_at: int
    count: int
    reason: Reason


@dataclass(frozen=True)
class Plan:
    """What to write. `final_fire_at`: the last fire of all, if this plan reaches it. `more`: plan again at once."""

    runs: tuple[int, ...] = ()
    skip: SkippedRange | None = None
    next_fire_at: int | None = None
    final_fire_at: int | None = None
    more: bool = False


def plan(job: Job, now: int, horizon_at: int, misfire_ms: int) -> Plan:
    """Plan a pending job's instants up to `horizon_at` (ms), which is `now` plus the look-ahead."""
    first_at = job.next_fire_at
    if first_at is None:
        return Plan(final_fire_at=job.final_fire_at)
    if job.skip_through is not None:
        return _skip(job, first_at, job.skip_through)
    latest_missed_at = _last_missed(job.schedule, first_at, now - misfire_ms)
    if latest_missed_at is not None and latest_missed_at > first_at:
        return _skip_before(job, first_at, latest_missed_at)
    return _run(job, first_at, horizon_at)


def is_misfired(schedule: Schedule, fire_at: int, now: int, misfire_ms: int) -> bool:
    """Say whether a fire is too late to start: it was missed, and it is not the latest that was missed.

    Once true it stays true, so a claim never runs what an earlier plan skipped.
    """
    if schedule.is_one_off or fire_at >= now - misfire_ms:
        return False
    following_at = next_fire(schedule, fire_at)
    return following_at is not None and following_at < now - misfire_ms


def _last_missed(schedule: Schedule, first_at: int, missed_before: int) -> int | None:
    """Return the last instant before `missed_before`, as far as MAX_STEPS reach; a one-off is never missed."""
    if schedule.is_one_off:
        return None
    last_at, at, steps = None, next_fire(schedule, first_at - 1), 0
    while at is not None and at < missed_before and steps < MAX_STEPS:
        last_at, at, steps = at, next_fire(schedule, at), steps + 1
    return last_at


def _skip_before(job: Job, first_at: int, kept_at: int) -> Plan:
    count, last_at, at = 0, first_at, next_fire(job.schedule, first_at - 1)
    while at is not None and at < kept_at:
        count, last_at, at = count + 1, at, next_fire(job.schedule, at)
    skip = SkippedRange(first_at, last_at, count, Reason.MISFIRED)
    return Plan(skip=skip, next_fire_at=kept_at, final_fire_at=job.final_fire_at, more=True)


def _skip(job: Job, first_at: int, through_at: int) -> Plan:
    following_at = next_fire(job.schedule, through_at)
    count, at = 0, next_fire(job.schedule, first_at - 1)
    while at is not None and at <= through_at:
        count, at = count + 1, next_fire(job.schedule, at)
    skip = SkippedRange(first_at, through_at, count, Reason.MISFIRED)
    return Plan(skip=skip, next_fire_at=following_at, final_fire_at=job.final_fire_at, more=True)


def _run(job: Job, first_at: int, horizon_at: int) -> Plan:
    allowed = MAX_RUNS
    if job.schedule.max_runs is not None:
        allowed = min(allowed, job.schedule.max_runs - job.runs_planned)
    runs: list[int] = []
    at = next_fire(job.schedule, first_at - 1)
    while at is not None and at <= horizon_at and len(runs) < allowed:
        runs.append(at)
        at = next_fire(job.schedule, at)
    if job.schedule.max_runs is not None and job.runs_planned + len(runs) >= job.schedule.max_runs:
        at = None
    final_fire_at = runs[-1] if runs and at is None else job.final_fire_at
    return Plan(tuple(runs), None, at, final_fire_at, more=at is not None and at <= horizon_at)
