"""The changes of a job that a user may make: each is one new row, with an intent if runs must be reconciled with it.

A job with an intent stays in the due index, so that a scan completes a change that crashed.

Users' changes of a task: each function returns the row after one change.
"""

from timeball.domain.attempts.retry import longest_life_ms
from timeball.domain.model.evolve import evolve
from timeball.domain.model.jobs.job import Intent, Job, JobSpec, JobStatus, Verb
from timeball.domain.model.jobs.task import Task, TaskSpec
from timeball.domain.time.instants import MINUTE_MS, SECOND_MS, InvalidSchedule
from timeball.domain.time.schedule import OnEvents, Schedule, fires, first_fire

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
    asked = _asked(job, Verb.CANCEL, now)
    return evolve(
        asked,
        schedule_version=job.schedule_version + 1,
        status=JobStatus.CANCELLED,
        next_fire_at=None,
        must_notify_children=job.has_children,
        blocked=None,
        paused_by_failures=False,
    )


def paused(job: Job, now: int) -> Job:
    """Return the job as paused: none of its fires starts, and runs that were dispatched ahead will be taken back.

    It then waits for its resume and is no longer blocked.
    """
    must_notify_children = job.must_notify_children or (job.has_children and job.blocked is not None)
    return evolve(
        _asked(job, Verb.PAUSE, now),
        status=JobStatus.PAUSED,
        paused_at=now,
        blocked=None,
        must_notify_children=must_notify_children,
    )


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
    asked = _asked(job, Verb.SKIP, now)
    return evolve(asked, intent=Intent(Verb.SKIP, now, fire_at))


def revised(job: Job, spec: JobSpec, now: int) -> Job:
    """Return an open job with the values of a new request: the same row if nothing differs.

    A new schedule counts from now, supersedes the planned fires, and keeps the count of runs. Raises InvalidSchedule if
    it has no fire left. Work that was not read is neither compared nor changed.
    """
    work = None if job.spec.work is None else spec.work
    is_watched = spec.notify is not None and spec.notify.watches_streaks
    failing = job.failing if is_watched else None  # otherwise its recovery would not be recorded
    parents = [parent.job_id for parent in spec.depends_on]
    wanted = evolve(
        job,
        spec=evolve(spec, work=work, fingerprint=job.spec.fingerprint),
        proposed=None,
        failing=failing,
        ended=tuple(one for one in job.ended if one.job_id in parents),
    )
    begins_to_wait = spec.schedule.is_one_off and spec.depends_on not in ((), job.spec.depends_on) and not job.waits
    if spec.schedule == job.spec.schedule and not begins_to_wait:
        if wanted.spec == job.spec:
            return job
        skipped_to = job.skipped_to if spec.calendar == job.spec.calendar else None  # other fires before it may start
        changed = evolve(wanted, version=job.version + 1, updated_at=now, skipped_to=skipped_to)
        return _looked_at_again(changed, now)
    return _rescheduled(wanted, job.spec.schedule, now)


def _looked_at_again(job: Job, now: int) -> Job:
    """Return a job that waits for its parents, which may be new, as due now, so that they are evaluated.

    A job without parents left is planned and no longer blocked; its children are then notified.
    """
    if not job.waits:
        return job
    if job.spec.depends_on:
        return evolve(job, due_at=now)
    must_notify_children = job.must_notify_children or (job.has_children and job.blocked is not None)
    return evolve(
        job,
        waits=False,
        blocked=None,
        must_notify_children=must_notify_children,
        due_at=now if must_notify_children else job.next_fire_at,
    )


def _rescheduled(job: Job, old: Schedule, now: int) -> Job:
    """Return a job with a new schedule, or with parents to wait for before it is planned."""
    spec = job.spec
    first_at = first_fire(spec.schedule, now)
    planned = job.runs_planned - _planned_ahead(job, old, now)
    waits = spec.schedule.is_one_off and bool(spec.depends_on)
    if first_at is None and not isinstance(spec.schedule.timing, OnEvents):
        raise InvalidSchedule("This schedule has no fire time left: its end lies before its first one.")
    if spec.schedule.max_runs is not None and planned >= spec.schedule.max_runs:
        raise InvalidSchedule(f"The job has had {planned} runs already; give a greater maxRuns.")
    return evolve(
        _asked(job, Verb.RESCHEDULE, now, old),
        schedule_version=job.schedule_version + 1,
        waits=waits,
        waits_since=job.waits_since if job.waits or not waits else now,
        skips=None,
        # A plan that skips its fire, however far ahead, may still write that row: it would be outdated.
        rerun_at_version=job.rerun_at_version if job.skips is None else job.schedule_version + 1,
        blocked=None,
        must_notify_children=job.must_notify_children or (job.has_children and job.blocked is not None),
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
