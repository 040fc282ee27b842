"""Recovery after rows, messages or watches were lost: which fires are planned again, and which runs are in doubt.

Nothing shows which rows were lost, or are old. So each job goes back to its first fire since an instant, and its plans
meet the rows that stand. A run that may be called once at the most, and may have begun, is not called: people decide.
"""

from collections.abc import Iterator
from enum import Enum, auto

from timeball.domain.attempts.due import lease_end
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import Origin
from timeball.domain.model.jobs.job import Guarantee, Job, JobStatus
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.runs.transitions import ended
from timeball.domain.model.runs.values import Guarantor
from timeball.domain.planning.blackouts import Blackouts
from timeball.domain.planning.ledger import queued_run
from timeball.domain.planning.planner import jitter_ms
from timeball.domain.time.schedule import fires, next_fire


class Repair(Enum):
    """The repair of a live run."""

    KEEP = auto()
    """It stays as it is: it is due, or the resume of its job finds it."""
    MAKE_DUE = auto()
    """It becomes due, and the scan sends it, or ends its attempt."""
    EXPECT = auto()
    """It waits in a line, and its limiter becomes due."""
    DOUBT = auto()
    """It ends as a dead letter: it may have begun, and may not begin again."""


def repair_of(run: Run, job: Job, asked_at: int, now: int, margin_ms: int) -> Repair:
    """Return what a live run needs when a recovery was asked for at `asked_at` (ms).

    A run that was made after that is not in doubt: its row is not old.
    """
    if run.state is RunState.WITHDRAWN:
        return Repair.KEEP
    if job.spec.delivery is Guarantee.AT_MOST_ONCE and _may_have_begun(run, asked_at, now, margin_ms):
        return Repair.DOUBT
    if run.stands_in_line:
        return Repair.EXPECT
    return Repair.MAKE_DUE if run.due_at is None else Repair.KEEP


def _may_have_begun(run: Run, asked_at: int, now: int, margin_ms: int) -> bool:
    if run.state is RunState.RUNNING:
        is_older = run.claimed_at is not None and run.claimed_at < asked_at
        return is_older and run.callback is None and run.fan is None and lease_end(run, margin_ms) <= now
    return run.created_at < asked_at and run.not_before < asked_at + margin_ms


def made_due(run: Run, now: int, margin_ms: int) -> Run:
    """Return a live run in the due index: at its start, or at the end of its lease."""
    at = lease_end(run, margin_ms) if run.state is RunState.RUNNING and run.fan is None else run.not_before
    return evolve(run, due_at=max(at, now))


def doubtful(run: Run, now: int) -> Run:
    """Return a live run as a dead letter that is in doubt. The scan carries out the effects."""
    return ended(run, RunState.FAILED, now, Guarantor.SCAN, Reason.RECOVERY_IN_DOUBT)


def restart_of(job: Job, since: int) -> int | None:
    """Return the fire from which an open job is planned again (ms); None: it has no earlier fire than its next one.

    The newest change of a user bounds it: fires before it are those of another schedule, or were decided by the change.
    """
    first_at = job.change.next_fire_at
    if first_at is None or job.waits:
        return None
    return _unless_planned(job, next_fire(job.spec.schedule, max(first_at, since) - 1))


def restart_behind(job: Job, fire_at: int, standing: Run | None) -> int | None:
    """Return the fire from which a job is planned again, if the last row before `fire_at` is this one.

    A range that covers the fire is its row, although it stands at an earlier fire.
    """
    if standing is None or not standing.covers(fire_at):
        return fire_at
    return _unless_planned(job, next_fire(job.spec.schedule, standing.last_fire_at or standing.id.fire_at))


def _unless_planned(job: Job, fire_at: int | None) -> int | None:
    if fire_at is None or (job.next_fire_at is not None and fire_at >= job.next_fire_at):
        return None
    return fire_at


def rewound(job: Job, fire_at: int, runs_before: int, now: int) -> Job:
    """Return a job whose next fire is an earlier one again; `runs_before` of its runs are for earlier fires."""
    final_at = job.final_fire_at if job.spec.schedule.is_one_off else None
    return evolve(
        job,
        next_fire_at=fire_at,
        final_fire_at=final_at,
        runs_planned=runs_before,
        due_at=now if job.status is JobStatus.PENDING else job.due_at,
    )


def lost_fires(job: Job, restart_at: int | None, asked_at: int, margin_ms: int, excluded: Blackouts) -> Iterator[int]:
    """Yield the fires of an open job that may have begun before a recovery was asked for, from the restart on.

    A fire that a calendar, a freeze or a pause kept from starting has not begun.
    """
    from_at = job.next_fire_at if restart_at is None else restart_at
    if from_at is None or job.spec.delivery is not Guarantee.AT_MOST_ONCE or job.waits:
        return
    until = asked_at + margin_ms  # a run is claimed a little ahead of its instant
    if job.paused_at is not None:
        until = min(until, job.paused_at)
    for fire_at in fires(job.spec.schedule, from_at, until - 1):
        starts_at = excluded.starts_at(job.spec.schedule, fire_at)
        if starts_at is None or excluded.frozen.end_of(starts_at) is not None:
            continue
        if starts_at + jitter_ms(job.key, fire_at, job.spec.jitter_seconds) < until:
            yield fire_at


def doubtful_row(job: Job, fire_at: int, now: int) -> Run:
    """Return the row of a fire that may have begun, and whose own row may be lost."""
    return doubtful(queued_run(job, Origin.SCHEDULE, fire_at, now), now)
