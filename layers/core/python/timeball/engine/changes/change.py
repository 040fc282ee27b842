"""Cancel, pause, resume, reschedule, skip a fire: one write changes the job, then its runs follow, then comes the 2xx.

Until its intent is dropped, the job stays in the due index, so a scan finishes what a crashed change began. The claim
reads the job: from the first write on it decides by the changed job, however far its runs are reconciled.

Order of writes of cancel, pause, resume, reschedule, skip the next fire:

0. Keep the revision that stands, and announce the change.
1. Swap the job: its new state, and an *intent* that keeps it in the due index.
2. Reconcile its runs.
3. Drop the intent; only then 2xx.

Safe: the claim reads the job, so from step 1 on it decides by the changed job; the scan repeats step 2 while an intent
stands. Step 0 without step 1 is not shown (ADR 21).
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial

from timeball.domain.changes.change import cancelled, paused, resumed, revised
from timeball.domain.changes.reach import revised_from
from timeball.domain.changes.renewal import renewed
from timeball.domain.dependencies.removal import detached
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey, RunId
from timeball.domain.model.jobs.job import Job, JobSpec, JobStatus, changed_by, with_spec
from timeball.domain.model.jobs.revision import change_announced, revision_of
from timeball.domain.model.runs.run import Run
from timeball.domain.model.tenants.actor import NO_ACTOR, Action, Actor
from timeball.engine.changes.reconcile import reconcile
from timeball.engine.changes.skip import FireChoice, Skipping, skipped_row
from timeball.engine.compare_and_swap import TRIES, put, until_done
from timeball.engine.context import Context
from timeball.engine.dependencies.evaluate import wake_runs_of
from timeball.engine.dependencies.parents import bind, may_adopt
from timeball.engine.quotas import note_changed_limits, note_limits
from timeball.engine.scheduling.dispatch import dispatch
from timeball.ports.errors import ContendedError, UnavailableError

log = logging.getLogger(__name__)

_MAX_DUE = 100
"""How many due fires of a job one change writes."""


class ChangeOutcome(StrEnum):
    """The outcome of a change: done (or true already), no such job, the job had ended, or its version differs."""

    DONE = "done"
    NOT_FOUND = "not_found"
    ENDED = "ended"
    STALE = "stale"


@dataclass(frozen=True)
class Changed:
    """The outcome, the job as it stands, and the runs that were already claimed and no longer fit the job."""

    outcome: ChangeOutcome
    job: Job | None
    claimed: tuple[RunId, ...] = ()


@dataclass(frozen=True)
class SkippedNext:
    """The changed job, and the row of the skipped fire; None if no fire may be skipped.

    `is_repeated`: the same request has skipped it before.
    """

    changed: Changed
    row: Run | None = None
    is_repeated: bool = False


Request = tuple[JobKey, int | None]
"""A job, and the version that it must have (None: any)."""


@dataclass(frozen=True)
class _Asked:
    """A change that a user asks for."""

    key: JobKey
    """The job."""
    version: int | None
    """The version that the job must have; None: any."""
    verb: Callable[[Job, int], Job | None]
    """From a job and an instant to the changed job; the same job if nothing changes, None if it has ended."""
    action: Action
    """The name of the change."""
    by: Actor
    """The author of the change."""
    after_due: bool = False
    """First write the rows of fires that are due before the change."""


def cancel(context: Context, requests: Sequence[Request], by: Actor = NO_ACTOR) -> list[Changed]:
    """Cancel each job, and ask its claimed runs to stop. Cancelling a cancelled job repeats the answer.

    Raises UnavailableError if a job's row kept changing, or if its runs are not reconciled yet; the caller may then
    repeat the change.
    """
    return [_change(context, _Asked(key, version, _cancel, Action.CANCEL, by)) for key, version in requests]


def pause(context: Context, requests: Sequence[Request], by: Actor = NO_ACTOR) -> list[Changed]:
    """Pause each job: no fire of its schedule starts, and fires that were dispatched ahead are withdrawn.

    Attempts that are under way continue, and so do retries. Raises UnavailableError, as `cancel` does.
    """
    return [_change(context, _Asked(key, version, _pause, Action.PAUSE, by)) for key, version in requests]


def resume(context: Context, requests: Sequence[Request], by: Actor = NO_ACTOR) -> list[Changed]:
    """Resume each job. Its catch-up policy decides about the fires that were due meanwhile. Raises UnavailableError."""
    return [_change(context, _Asked(key, version, _resume, Action.RESUME, by)) for key, version in requests]


def revise(
    context: Context, requests: Sequence[tuple[Job, JobSpec]], action: Action = Action.PATCH, by: Actor = NO_ACTOR
) -> list[Changed]:
    """Give each job, as it was read, a new spec; STALE if it has changed since. Both include the work.

    `action` is the name of the change. The parents that it adds were proposed (parents.py). A fire of the old schedule
    that the new one lacks is superseded, unless it has started. Raises InvalidSchedule before anything is stored,
    UnavailableError as `cancel` does.
    """
    return [_revise(context, job, spec, action, by) for job, spec in requests]


def detach(context: Context, keys: Sequence[JobKey], parent: JobKey, by: Actor = NO_ACTOR) -> list[Changed]:
    """Remove a parent from each job that names it. Raises UnavailableError, as `cancel` does."""
    return [_detach(context, key, parent.job_id, by) for key in keys]


def renew(
    context: Context, requests: Sequence[tuple[Job, JobSpec]], since: int, by: Actor = NO_ACTOR, depth: int = 0
) -> list[Changed]:
    """Begin the next generation of each ended job, as it was read, with a spec; STALE if it has changed since.

    The generations begin at `since` (ms), from which the relative times of their specs count: the same request is then
    known again. It lies after the reads of the jobs, and is not ahead of the clock.
    Both include the work. The parents that it adds were proposed (parents.py). Raises InvalidSchedule before anything
    is stored, UnavailableError as `cancel` does.

    Order of writes of renew (a job that has ended):

    1. The edges of its parents, and the parents' rows, as bind does.
    2. Swap the job: its next generation, with an intent.
    3. Reconcile: end the runs of the last generation, or ask them to stop; drop the intent; only then 2xx.

    Safe: from step 2 on no claim begins a run of another generation, and no report of one counts; the scan repeats
    step 3. A run's id has its generation, so no row is written again.
    """
    return [_renew(context, job, spec, since, by, depth) for job, spec in requests]


def skip_next(context: Context, asked: Sequence[Skipping], by: Actor = NO_ACTOR) -> list[SkippedNext]:
    """Skip the next fire of each pending job that has not started. Raises UnavailableError, as `cancel` does.

    A request whose answer was lost may be repeated only if it has a name.
    """
    return [_skip_next(context, one, by) for one in asked]


def _skip_next(context: Context, asked: Skipping, by: Actor) -> SkippedNext:
    version = asked.version
    for _ in range(TRIES):
        choice = FireChoice(context, asked)
        asking = _Asked(asked.job, version, choice.make, Action.SKIP_NEXT, by, after_due=True)
        changed = _change(context, asking)
        if choice.repeated is not None:
            return SkippedNext(evolve(changed, outcome=ChangeOutcome.DONE), choice.repeated, is_repeated=True)
        if changed.outcome is not ChangeOutcome.DONE or choice.fire_at is None or changed.job is None:
            return SkippedNext(changed)
        row = skipped_row(context, changed.job.run_id(choice.fire_at))
        if row is not None:
            return SkippedNext(changed, row)
        version = None  # that fire had started, or was no fire; this call itself has raised the version
    raise ContendedError(f"the fires of job {asked.job.job_id} kept starting; ask again")


def _revise(context: Context, job: Job, spec: JobSpec, action: Action, by: Actor) -> Changed:
    def verb(standing: Job, now: int) -> Job | None:
        if not standing.is_open:
            return None
        if not may_adopt(standing, job, spec, now):
            raise ContendedError(f"job {job.key.job_id} was not changed in time; ask again")
        return revised_from(standing, revised(standing, spec, now), now, context.rules.misfire_ms)

    # Write the fires that are due under the old schedule first: the new schedule takes none of them away.
    changed = _change(
        context, _Asked(job.key, job.version, verb, action, by, after_due=spec.schedule != job.spec.schedule)
    )
    if changed.outcome is not ChangeOutcome.DONE or changed.job is None:
        return changed
    if _joins(spec) != _joins(job.spec):
        _wake_runs(context, [job, changed.job])
    if _limits(spec) != _limits(job.spec):
        noting = partial(note_changed_limits, context, job.spec, spec)
        _now_or_later(noting, "the job's next run applies the changed limits")
    return changed


def _renew(context: Context, job: Job, spec: JobSpec, since: int, by: Actor, depth: int) -> Changed:
    def verb(standing: Job, now: int) -> Job | None:
        after = renewed(standing, spec, since, now, by, depth)
        if after is not None and not may_adopt(standing, job, spec, now):
            raise ContendedError(f"job {job.key.job_id} was not changed in time; ask again")
        return None if after is None else revised_from(standing, after, now, context.rules.misfire_ms)

    bind(context, [evolve(job, spec=spec)], context.clock.now())
    changed = _change(context, _Asked(job.key, job.version, verb, Action.PUT, by))
    if changed.outcome is ChangeOutcome.DONE:
        noting = partial(note_limits, context, [spec], context.clock.now())
        _now_or_later(noting, "the job's next run applies its limits")
    return changed


def _detach(context: Context, key: JobKey, parent_id: str, by: Actor) -> Changed:
    before: list[Job] = []

    def verb(job: Job, now: int) -> Job | None:
        before[:] = [job] if job.spec.judges_latest else []
        return detached(job, parent_id, now)

    changed = _change(context, _Asked(key, None, verb, Action.DETACH, by, after_due=True))
    if changed.outcome is ChangeOutcome.DONE and changed.job is not None:
        _wake_runs(context, [*before, changed.job])
    return changed


def _wake_runs(context: Context, jobs: Sequence[Job]) -> None:
    """Wake the waiting runs of a job, given before and after a change of its parents."""
    # A job that has no parents left may have runs that still wait.
    waiting = [job for job in jobs if job.spec.runs_wait or not job.spec.schedule.is_one_off][-1:]
    _now_or_later(partial(wake_runs_of, context, waiting), "waiting runs are left to their own evaluation")


def _joins(spec: JobSpec) -> tuple[object, ...]:
    """Return the fields that decide when a run of a cycle stops waiting."""
    return spec.depends_on, spec.trigger_rule, spec.dependency_timeout_seconds, spec.for_each


def _limits(spec: JobSpec) -> tuple[object, ...]:
    """Return the limits that a job's runs share with those of other jobs."""
    return spec.flow.concurrency, spec.flow.rate


def _now_or_later(work: Callable[[], object], later: str) -> None:
    """Do what need not be done now; `later` says when it is done if the store does not answer."""
    try:
        work()
    except UnavailableError as unavailable:
        log.warning("changed, and %s: %s", later, unavailable)


def _cancel(job: Job, now: int) -> Job | None:
    if job.status is JobStatus.CANCELLED:
        return job
    return cancelled(job, now) if job.is_open else None


def _pause(job: Job, now: int) -> Job | None:
    if job.status is JobStatus.PAUSED:
        return job
    return paused(job, now) if job.status is JobStatus.PENDING else None


def _resume(job: Job, now: int) -> Job | None:
    if job.status is JobStatus.PENDING:
        return job
    return resumed(job, now) if job.status is JobStatus.PAUSED else None


def _change(context: Context, asked: _Asked) -> Changed:
    """Change a job and finish the change. Answer with what this change made.

    Another change may have followed: a caller that got the version of that one would take it for its own.
    """
    changed, read_at = _write(context, asked)
    if changed.outcome is not ChangeOutcome.DONE or changed.job is None:
        return changed
    reconciled = reconcile(context, changed.job)
    if _is_due(context, reconciled.job, read_at):
        _now_or_later(partial(_dispatch_all, context, reconciled.job, read_at), "its next fires are left to the scan")
    is_overtaken = reconciled.job.version != changed.job.version
    return Changed(ChangeOutcome.DONE, changed.job if is_overtaken else reconciled.job, reconciled.claimed)


def _write(context: Context, asked: _Asked) -> tuple[Changed, int]:
    """Write the changed job, unless nothing changes. Return the outcome, and when the job was read (ms)."""
    is_after_due = not asked.after_due

    def write() -> tuple[Changed, int] | None:
        nonlocal is_after_due
        read_at = context.clock.now()
        (job,) = context.store.jobs.read([asked.key], with_work=True)
        if job is None:
            return Changed(ChangeOutcome.NOT_FOUND, None), read_at
        if asked.version not in (None, job.version):
            return Changed(ChangeOutcome.STALE, job), read_at
        if job.intent is not None:
            reconcile(context, job)  # the earlier change comes first
            return None
        if not is_after_due and _is_due(context, job, read_at):
            is_after_due = _dispatch_all(context, job, read_at)
            return None
        now = context.clock.now()
        after = asked.verb(job, now)
        if after is None:
            return Changed(ChangeOutcome.ENDED, job), read_at
        if after == job:
            return Changed(ChangeOutcome.DONE, job), read_at
        after = changed_by(after, asked.action, asked.by, now)
        # Before the row loses its old revision, and so that every revision of the row was announced.
        context.store.changes.note([revision_of(job), change_announced(after)], now)
        stored = put(context.store.jobs, job, after, now)
        if stored is None:
            return None
        return Changed(ChangeOutcome.DONE, with_spec(stored, work=after.spec.work)), read_at

    return until_done(write, f"job {asked.key.job_id}")


def _is_due(context: Context, job: Job, read_at: int) -> bool:
    """Return whether a job, read at `read_at` or later, must be dispatched."""
    if job.status is not JobStatus.PENDING or job.intent is not None:
        return False
    return job.due_at is not None and job.due_at <= read_at + context.rules.lookahead_ms


def _dispatch_all(context: Context, job: Job, read_at: int) -> bool:
    """Write the rows of a job's fires that are due within the look-ahead, one after the other.

    Return whether a freeze defers the next fire: then no more can be written. Raises UnavailableError.
    """
    for _ in range(_MAX_DUE):
        begun_at = context.clock.now()
        (report,) = dispatch(context, [job], read_at)
        if report.is_left:
            raise UnavailableError(f"it is unknown whether job {job.key.job_id} advanced")
        if not report.more:
            return report.is_held
        job, read_at = report.job, begun_at
    return False
