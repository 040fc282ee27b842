"""How a job ends, and how a user's change of a job is completed: what keeps the row in the due index afterwards."""

from timeball.domain.model.evolve import evolve
from timeball.domain.model.jobs.job import Job, JobStatus, advanced
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Run
from timeball.domain.time.schedule import next_fire


def concluded(job: Job, status: JobStatus, now: int) -> Job:
    """Return the job with its final status.

    It leaves the due index, unless it has an intent or its children must be notified.
    """
    must_notify_children = job.has_children
    due_at = job.due_at if job.intent is not None else now if must_notify_children else None
    return evolve(
        job,
        status=status,
        updated_at=now,
        next_fire_at=None,
        due_at=due_at,
        must_notify_children=must_notify_children,
        blocked=None,
    )


def settled(job: Job) -> Job:
    """Return the job without its intent. It stays in the due index only if it must be planned.

    A job without a next fire stays due once more: its final run may have ended while the job was paused. A job also
    stays due while it waits for its parents, or while its children must be notified.
    """
    bare = evolve(job, intent=None)
    if job.status is not JobStatus.PENDING:
        return evolve(bare, due_at=job.due_at if job.must_notify_children else None)
    stays_due = job.next_fire_at is None or job.waits or job.must_notify_children
    return evolve(bare, due_at=job.due_at if stays_due else job.next_fire_at, paused_at=None)


def past_skipped(job: Job, row: Run, now: int) -> Job:
    """Return a job without its intent to skip a fire, and past the row at that fire. The run there may have started.

    Plans decide about the fires before it that the calendar skips, because the calendar may change until then. At the
    end of its ledger the job stays due: the process that carries out the effects of the row may die.
    """
    bare = settled(job)
    if job.next_fire_at is not None and row.id.fire_at > job.next_fire_at:
        return evolve(bare, skipped_to=row.id.fire_at)
    is_next = job.status is JobStatus.PENDING and row.id.fire_at == job.next_fire_at
    after = advanced(bare, row, now, is_older=True) if is_next else bare
    following_at = next_fire(job.spec.schedule, row.id.fire_at)
    is_last_before = following_at is None or after.next_fire_at is None or following_at >= after.next_fire_at
    if row.reason not in (Reason.SKIPPED_MANUALLY, Reason.CALENDAR) or not is_last_before:
        return evolve(after, skipped_from=job.skipped_from)
    return evolve(after, skipped_from=row.id.fire_at if job.skipped_from is None else job.skipped_from)
