"""Recovery after rows, messages or watches were lost: which fires are planned again, and which runs are in doubt.

Nothing shows which rows were lost, or are old. So each job goes back to its first fire since an instant, and its plans
meet the rows that stand. A run that may be called once at the most, and may have begun, is not called: people decide.
"""

from collections.abc import Iterable, Iterator, Sequence
from enum import Enum, auto

from timeball.domain.attempts.due import lease_end
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import Origin
from timeball.domain.model.jobs.job import Guarantee, Job, JobStatus
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.runs.transitions import ended, put_off
from timeball.domain.model.runs.values import Guarantor
from timeball.domain.planning.blackouts import Blackouts
from timeball.domain.planning.ledger import queued_run
from timeball.domain.planning.planner import jitter_ms
from timeball.domain.run_ends.effects import is_final
from timeball.domain.time.instants import LATEST
from timeball.domain.time.schedule import fires, next_fire


class Repair(Enum):
    """The repair of a live run."""

    KEEP = auto()
    """It stays as it is: it is due, or the resume of its job finds it."""
    RELEASE = auto()
    """A pause took it back that is lost itself: it is queued again, and due."""
    MAKE_DUE = auto()
    """It becomes due, and the scan sends it, or ends its attempt."""
    EXPECT = auto()
    """It waits in a line, and its limiter becomes due."""
    DOUBT = auto()
    """It ends as a dead letter: it may have begun, and may not begin again."""


def repair_of(run: Run, job: Job, asked_at: int, margin_ms: int) -> Repair:
    """Return what a live run needs when a recovery was asked for at `asked_at` (ms).

    A run that was made after that is not in doubt: its row is not old.
    """
    if run.state is RunState.WITHDRAWN and job.status is JobStatus.PAUSED:
        return Repair.KEEP
    if _is_in_doubt(run, job, asked_at, margin_ms):
        return Repair.DOUBT
    if run.state is RunState.WITHDRAWN:
        return Repair.RELEASE
    if run.stands_in_line:
        return Repair.EXPECT
    return Repair.MAKE_DUE if run.due_at is None else Repair.KEEP


def _is_in_doubt(run: Run, job: Job, asked_at: int, margin_ms: int) -> bool:
    if ended_once(job) and is_final(run, job) and run.budget_at is None:
        return not _is_under_way(run, asked_at, margin_ms)  # else the job's end shows that the row is old
    is_once = job.spec.delivery is Guarantee.AT_MOST_ONCE and job.status is not JobStatus.CANCELLED
    return is_once and _may_have_begun(run, asked_at, margin_ms)


def ended_once(job: Job) -> bool:
    """Say whether a job is a one-off that its only run has ended."""
    has_ended = job.status in (JobStatus.COMPLETED, JobStatus.FAILED)
    return has_ended and job.spec.schedule.is_one_off and job.final_fire_at is not None


def _may_have_begun(run: Run, asked_at: int, margin_ms: int) -> bool:
    if run.state is RunState.RUNNING:
        is_older = run.claimed_at is not None and run.claimed_at < asked_at
        is_its_own = run.callback is None and run.fan is None
        return is_older and is_its_own and not _is_under_way(run, asked_at, margin_ms)
    made_at = max(run.created_at, run.budget_at or 0)
    return made_at < asked_at and run.not_before < asked_at + margin_ms


def _is_under_way(run: Run, asked_at: int, margin_ms: int) -> bool:
    return run.state is RunState.RUNNING and lease_end(run, margin_ms) > asked_at


def made_due(run: Run, now: int, margin_ms: int) -> Run:
    """Return a live run in the due index: at its start, or at the end of its lease."""
    at = lease_end(run, margin_ms) if run.state is RunState.RUNNING and run.fan is None else run.not_before
    return evolve(run, due_at=max(at, now))


def released(run: Run, now: int) -> Run:
    """Return a withdrawn run as queued, and due."""
    return put_off(run, run.not_before, max(run.not_before, now))


def doubtful(run: Run, now: int) -> Run:
    """Return a live run as a dead letter that is in doubt. The scan carries out the effects."""
    return ended(run, RunState.FAILED, now, Guarantor.SCAN, Reason.RECOVERY_IN_DOUBT)


def restart_of(job: Job, since: int) -> int | None:
    """Return the fire from which a job is planned again (ms); None: it has no earlier fire than its next one.

    The newest change of a user bounds it: fires before it are those of another schedule, or were decided by the change.
    Of the jobs that have ended, only those whose schedule ended are planned again.
    """
    first_at = job.change.next_fire_at
    has_run_out = job.status is JobStatus.COMPLETED and not job.spec.schedule.is_one_off
    if first_at is None or job.waits or not (job.is_open or has_run_out):
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
    ends = [at for at in (job.next_fire_at, job.final_fire_at and job.final_fire_at + 1) if at is not None]
    return None if fire_at is None or fire_at >= min(ends, default=LATEST) else fire_at


def as_new_as(job: Job, rows: Iterable[Run]) -> Job:
    """Return a job that no row ahead is newer than: at such a row its plans would stop. The job's own row is old."""
    versions = [row.decided_at_version for row in rows if job.owns(row.id)]
    return evolve(job, schedule_version=max([job.schedule_version, *versions]))


def rewound(job: Job, fire_at: int, runs_before: int, now: int) -> Job:
    """Return a job whose next fire is an earlier one again; `runs_before` of its runs are for earlier fires."""
    final_at = job.final_fire_at if job.spec.schedule.is_one_off else None
    status = job.status if job.is_open else JobStatus.PENDING
    return evolve(
        job,
        status=status,
        next_fire_at=fire_at,
        final_fire_at=final_at,
        runs_planned=runs_before,
        due_at=now if status is JobStatus.PENDING else job.due_at,
    )


def lost_fires(job: Job, restart_at: int | None, asked_at: int, margin_ms: int, excluded: Blackouts) -> Iterator[int]:
    """Yield the fires of a job that may have begun before a recovery was asked for, from the restart on.

    A fire that a calendar, or a freeze or a pause in force, kept from starting has not begun.
    """
    from_at = job.next_fire_at if restart_at is None else restart_at
    is_newer = job.change.at >= asked_at
    if from_at is None or job.spec.delivery is not Guarantee.AT_MOST_ONCE or job.waits or is_newer:
        return
    until = _begun_until(job, asked_at) + margin_ms  # a run is claimed a little ahead of its instant
    for fire_at in fires(job.spec.schedule, from_at, min(until - 1, job.final_fire_at or LATEST)):
        starts_at = excluded.starts_at(job.spec.schedule, fire_at)
        if starts_at is None or (excluded.frozen.end_of(starts_at - margin_ms) or 0) >= asked_at:
            continue
        if starts_at + jitter_ms(job.key, fire_at, job.spec.jitter_seconds) < until:
            yield fire_at


def _begun_until(job: Job, asked_at: int) -> int:
    return asked_at if job.paused_at is None else min(asked_at, job.paused_at)


def without_rows(fire_times: Sequence[int], standing: Sequence[Run], most_runs: int) -> tuple[list[int], int]:
    """Return the fires that no row covers, up to `most_runs` runs, and how many runs are left then.

    A run that stands counts, and so does a fire without a row; a skipped range does not.
    """
    covering = [(at, next((row for row in standing if row.covers(at)), None)) for at in fire_times]
    counted = [(at, row) for at, row in covering if row is None or row.last_fire_at is None]
    return [at for at, row in counted[:most_runs] if row is None], most_runs - len(counted)


def doubtful_row(job: Job, fire_at: int, now: int) -> Run:
    """Return the row of a fire that may have begun, and whose own row may be lost."""
    return doubtful(queued_run(job, Origin.SCHEDULE, fire_at, now), now)
