"""The changes of a job or a task that a user may make: each is one new row.

A job's row gets an intent if its runs must be reconciled with the change. A job with an intent stays in the due index,
so that a scan completes a change that crashed.
"""

from enum import Enum, auto

from timeball.domain.attempts.retry import longest_life_ms
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import Origin
from timeball.domain.model.jobs.job import Intent, Job, JobSpec, JobStatus, Verb
from timeball.domain.model.jobs.task import Task, TaskSpec
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.terms.notify import Notify
from timeball.domain.time.instants import MINUTE_MS, SECOND_MS, InvalidSchedule
from timeball.domain.time.schedule import OnEvents, Schedule, fires, first_fire, is_occurrence

LONGEST_REQUEST_SECONDS = 29
"""The longest life of a request: a change takes effect this soon after it is asked for, or never."""


def fenced_through(intent: Intent, lookahead_ms: int, margin_ms: int) -> int:
    """Return how far (ms) a plan may reach if its job was read before an intent took effect: the look-ahead from then.

    No row shows when the intent took effect: between its clock and its write, a process may be suspended or write
    repeatedly. So the end of the longest request is used, for every process that reconciles. With clocks of their own,
    a slow process could still write after another has answered.
    """
    return intent.asked_at + LONGEST_REQUEST_SECONDS * SECOND_MS + lookahead_ms + margin_ms


def cancelled(job: Job, now: int) -> Job:
    """Return the job as cancelled: none of its runs is claimed from now on, and live runs will be stopped."""
    return evolve(
        _asked(job, Verb.CANCEL, now),
        schedule_version=job.schedule_version + 1,
        status=JobStatus.CANCELLED,
        next_fire_at=None,
        must_notify_children=job.has_children,
        blocked=None,
        paused_by_failures=False,
        lost_parent=False,
    )


def paused(job: Job, now: int) -> Job:
    """Return the job as paused: none of its fires starts, and runs that were dispatched ahead will be taken back.

    It then waits for its resume and is no longer blocked.
    """
    return evolve(_asked(_unblocked(job), Verb.PAUSE, now), status=JobStatus.PAUSED, paused_at=now)


def resumed(job: Job, now: int) -> Job:
    """Return the job as pending again. Runs that were taken back will be decided about; the rest is planned.

    `paused_at` is dropped as soon as that is done: it says how far back those runs may be. `last_paused_at` and
    `resumed_at` stay for the plans and claims still to come. Pauses less than a minute apart count as one, because
    nothing may have been decided between them.
    """
    paused_at = now if job.paused_at is None else job.paused_at
    is_one = job.last_paused_at is not None and job.resumed_at is not None and paused_at < job.resumed_at + MINUTE_MS
    return evolve(
        _asked(job, Verb.RESUME, now),
        schedule_version=job.schedule_version + 1,
        status=JobStatus.PENDING,
        last_paused_at=job.last_paused_at if is_one else paused_at,
        resumed_at=now,
        paused_by_failures=False,
        lost_parent=False,
    )


def _asked(job: Job, verb: Verb, now: int, old_schedule: Schedule | None = None) -> Job:
    """Return the job as changed by a user, due until its runs are reconciled with the change.

    A job that waits for its parents has no plan that must be closed.
    """
    return evolve(
        job,
        version=job.version + 1,
        updated_at=now,
        due_at=now,
        intent=Intent(verb, now, None if job.waits else job.next_fire_at, old_schedule),
    )


def skipping(job: Job, fire_at: int, now: int) -> Job:
    """Return a job with one fire that will be skipped: its next fire, or a fire that was sent ahead."""
    return evolve(_asked(job, Verb.SKIP, now), intent=Intent(Verb.SKIP, now, fire_at))


def revised(job: Job, spec: JobSpec, now: int) -> Job:
    """Return an open job with the values of a new request: the same row if nothing differs.

    A new schedule counts from now, supersedes the planned fires, and keeps the count of runs. Raises InvalidSchedule if
    it has no fire left. Work that was not read is neither compared nor changed.
    """
    wanted = _with_new_spec(job, spec)
    begins_to_wait = spec.job_waits and spec.depends_on != job.spec.depends_on and not job.waits
    if spec.schedule != job.spec.schedule or begins_to_wait:
        return _rescheduled(wanted, job.spec.schedule, now)
    if wanted.spec == job.spec:
        return job
    skipped_to = job.skipped_to if spec.calendar == job.spec.calendar else None  # other fires before it may start
    return _evaluated_again(evolve(wanted, version=job.version + 1, updated_at=now, skipped_to=skipped_to), now)


def _with_new_spec(job: Job, spec: JobSpec) -> Job:
    """Return a job with another spec, and without what it knows about former parents, or about a former notice."""
    notify = spec.notify or Notify()
    parents = [parent.job_id for parent in spec.depends_on]
    work = None if job.spec.work is None else spec.work
    return evolve(
        job,
        spec=evolve(spec, work=work, fingerprint=job.spec.fingerprint),
        proposed=None,
        failing=job.failing if notify.watches_streaks else None,  # otherwise its recovery would not be recorded
        stopped=job.stopped if notify.on_blocked is not None else None,
        ended=tuple(one for one in job.ended if one.job_id in parents),
    )


def _evaluated_again(job: Job, now: int) -> Job:
    """Return a job that waits for its parents, which may be new, as due now, so that they are evaluated.

    A job without parents to wait for is planned and no longer blocked; its children are then notified.
    """
    if not job.waits:
        return job
    if job.spec.job_waits:
        return evolve(job, due_at=now)
    unblocked = _unblocked(job)
    return evolve(unblocked, waits=False, due_at=now if unblocked.must_notify_children else job.next_fire_at)


def _unblocked(job: Job) -> Job:
    """Return a job as no longer blocked; its children are notified of that."""
    must_notify_children = job.must_notify_children or (job.has_children and job.blocked is not None)
    return evolve(job, blocked=None, must_notify_children=must_notify_children)


def _rescheduled(job: Job, old: Schedule, now: int) -> Job:
    """Return a job with a new schedule, or with parents to wait for before it is planned."""
    spec = job.spec
    first_at = first_fire(spec.schedule, now)
    planned = job.runs_planned - _planned_ahead(job, old, now)
    if first_at is None and not isinstance(spec.schedule.timing, OnEvents):
        raise InvalidSchedule("This schedule has no fire time left: its end lies before its first one.")
    if spec.schedule.max_runs is not None and planned >= spec.schedule.max_runs:
        raise InvalidSchedule(f"The job has had {planned} runs already; give a greater maxRuns.")
    return evolve(
        _asked(_unblocked(job), Verb.RESCHEDULE, now, old),
        schedule_version=job.schedule_version + 1,
        waits=spec.job_waits,
        waits_since=job.waits_since if job.waits or not spec.job_waits else now,
        skips=None,
        # A plan that skips its fire, however far ahead, may still write that row: it would be outdated.
        rerun_at_version=job.rerun_at_version if job.skips is None else job.schedule_version + 1,
        next_fire_at=first_at,
        final_fire_at=first_at if spec.schedule.is_one_off else None,
        runs_planned=max(planned, 0),
        plan_failures=0,
        skipped_from=None,
        skipped_to=None,
    )


def _planned_ahead(job: Job, schedule: Schedule, now: int) -> int:
    """Count the fires from now on that have runs already: they are planned anew, or superseded.

    The count is 0 if the fires of the schedule can no longer be computed.
    """
    written_to = job.final_fire_at + 1 if job.next_fire_at is None and job.final_fire_at else job.next_fire_at or now
    if job.skipped_from is not None:
        written_to = min(written_to, job.skipped_from)
    try:
        return sum(1 for _ in fires(schedule, now, written_to - 1))
    except InvalidSchedule:
        return 0


class Alignment(Enum):
    """The effect of a change of a job on one of its live runs."""

    KEEP = auto()
    """It stays as it is."""
    END = auto()
    """It ends, because its job is cancelled."""
    STOP = auto()
    """Its executor is asked to stop it, because its job is cancelled."""
    SUPERSEDE = auto()
    """It ends, because the new schedule lacks its fire."""
    WITHDRAW = auto()
    """It is taken back, because its job is paused."""
    RELEASE = auto()
    """It is sent: a pause took it back, or its plan may have died before the send."""


def may_never_begin(run: Run, job: Job) -> bool:
    """Say whether no attempt of a run may begin: its job is cancelled, or has a later generation."""
    return job.status is JobStatus.CANCELLED or not job.owns(run.id)


def alignment_of(run: Run, job: Job) -> Alignment:
    """Return the effect on a live run of a changed job as it was read."""
    if may_never_begin(run, job):
        return _alignment_with_cancelled(run)
    if run.id.origin is not Origin.SCHEDULE or not run.is_unstarted:
        return Alignment.KEEP
    if run.decided_at_version > job.schedule_version:
        return Alignment.KEEP  # a later change than this reading of the job has released it
    is_current = run.decided_at_version == job.schedule_version
    if job.waits or not is_occurrence(job.spec.schedule, run.id.fire_at):
        # If it is current, its parents have let the job run at this fire since this reading of the job.
        return Alignment.KEEP if is_current else Alignment.SUPERSEDE
    is_queued = run.state is RunState.QUEUED
    if job.status is JobStatus.PAUSED:
        return Alignment.WITHDRAW if is_queued else Alignment.KEEP
    return Alignment.KEEP if is_queued and is_current else Alignment.RELEASE


def _alignment_with_cancelled(run: Run) -> Alignment:
    if run.state is not RunState.RUNNING:
        return Alignment.END
    return Alignment.KEEP if run.cancel_requested else Alignment.STOP


def new_task(spec: TaskSpec, now: int) -> Task:
    """Return a task as it is first stored."""
    return Task(spec, now, now, life_ms=_life_ms(spec))


def revised_task(task: Task, spec: TaskSpec, now: int) -> Task:
    """Return a task with the values of a new request: the same row if nothing differs. A deleted task is restored."""
    if not task.is_deleted:
        spec = evolve(spec, fingerprint=task.spec.fingerprint)
        if spec == task.spec:
            return task
    return evolve(
        task,
        spec=spec,
        created_at=now if task.is_deleted else task.created_at,
        updated_at=now,
        deleted_at=None,
        version=task.version + 1,
        life_ms=max(task.life_ms, _life_ms(spec)),
    )


def deleted_task(task: Task, now: int) -> Task:
    """Return a task that no job may name any more."""
    return task if task.is_deleted else evolve(task, deleted_at=now, updated_at=now)


def restored_task(task: Task, now: int) -> Task:
    """Return a deleted task as restored, because it was in use after all."""
    return evolve(task, deleted_at=None, updated_at=now)


def replaced_task(task: Task, now: int) -> Task:
    """Return a version as it is kept for the runs that use it, after another version replaced it."""
    return evolve(task, replaced_at=now)


def _life_ms(spec: TaskSpec) -> int:
    return longest_life_ms(spec.retry, spec.timeout_seconds)
