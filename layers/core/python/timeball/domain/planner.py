"""The idea of Timeball: from a job's row and an instant, what is to be written to the ledger now.

A plan either runs instants or skips a range of them, never both: a range must be fixed on the job before any of it is
written, so that a plan repeated after a crash, at whatever later time, skips the same range.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from timeball.domain.catch_up import Backlog, backlog
from timeball.domain.instants import SECOND_MS
from timeball.domain.jitter import jittered
from timeball.domain.job import Job
from timeball.domain.reason import Reason
from timeball.domain.schedule import fires, next_fire

MAX_STEPS = 1_000
"""Instants that one plan skips: a job that is far behind resumes at the next plan."""

MAX_STARTS = 100
"""Runs that one plan starts."""


@dataclass(frozen=True)
class Start:
    """A fire that runs, and the instant before which no call of it leaves."""

    fire_at: int
    not_before: int


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

    starts: tuple[Start, ...] = ()
    skip: SkippedRange | None = None
    next_fire_at: int | None = None
    final_fire_at: int | None = None
    more: bool = False


def plan(job: Job, now: int, horizon_at: int, misfire_ms: int) -> Plan:
    """Plan a pending job's instants up to `horizon_at` (ms), which is `now` plus the look-ahead."""
    first_at = None if job.next_fire_at is None else next_fire(job.schedule, job.next_fire_at - 1)
    if first_at is None:
        return Plan(final_fire_at=job.final_fire_at)
    if job.skip_through is not None and first_at <= job.skip_through:
        return _skip(job, first_at, job.skip_through + 1)
    missed = backlog_of(job, now, misfire_ms).from_(first_at)
    if first_at < missed.missed_before:
        kept_from = missed.kept[0] if missed.kept else missed.missed_before
        if first_at < kept_from:
            return _skip(job, first_at, kept_from)
    return _start(job, first_at, horizon_at, missed)


def backlog_of(job: Job, now: int, misfire_ms: int) -> Backlog:
    """Return what a job has missed at `now`."""
    return backlog(job.schedule, job.catch_up, job.jitter_seconds, now, misfire_ms)


def may_start_at(job: Job, fire_at: int, not_before: int, now: int, misfire_ms: int) -> int | None:
    """Return from when an unstarted run of a job's schedule may start; None if the catch-up policy skips it.

    Once it is skipped it stays so, and a claim never runs what an earlier plan skipped.
    """
    if max(fire_at + job.jitter_seconds * SECOND_MS, not_before) >= now - misfire_ms:
        return not_before
    return backlog_of(job, now, misfire_ms).start_at(fire_at, not_before)


def _skip(job: Job, first_at: int, until: int) -> Plan:
    skipped = list(islice(fires(job.schedule, first_at, until - 1), MAX_STEPS))
    last_at = skipped[-1]
    following_at = next_fire(job.schedule, last_at)
    return Plan(
        skip=SkippedRange(first_at, last_at, len(skipped), Reason.MISFIRED),
        next_fire_at=following_at,
        final_fire_at=last_at if following_at is None else job.final_fire_at,
        more=following_at is not None,
    )


def _start(job: Job, first_at: int, horizon_at: int, missed: Backlog) -> Plan:
    allowed = MAX_STARTS
    if job.schedule.max_runs is not None:
        allowed = min(allowed, job.schedule.max_runs - job.runs_planned)
    due = list(islice(fires(job.schedule, first_at, horizon_at), max(allowed, 0)))
    following_at = next_fire(job.schedule, due[-1]) if due else first_at
    if job.schedule.max_runs is not None and job.runs_planned + len(due) >= job.schedule.max_runs:
        following_at = None
    return Plan(
        starts=tuple(_starts(job, due, missed)),
        next_fire_at=following_at,
        final_fire_at=due[-1] if due and following_at is None else job.final_fire_at,
        more=following_at is not None and following_at <= horizon_at,
    )


def _starts(job: Job, due: list[int], missed: Backlog) -> Iterator[Start]:
    for fire_at in due:
        not_before = jittered(job.key, fire_at, job.jitter_seconds)
        if fire_at < missed.missed_before:
            not_before = max(missed.start_at(fire_at, not_before) or not_before, missed.now)
        yield Start(fire_at, not_before)
