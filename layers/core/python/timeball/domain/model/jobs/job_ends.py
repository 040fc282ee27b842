"""How a job ends, and how a user's change of it does: what keeps its row in the due index afterwards."""

from timeball.domain.model.evolve import evolve
from timeball.domain.model.jobs.job import Job, JobStatus, advanced
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Run
from timeball.domain.time.schedule import next_fire


def concluded(job: Job, status: JobStatus, now: int) -> Job:
    """Return the job with its final status. It leaves the due index, unless an intent stands, or it is to be told."""
    untold = job.has_children
    due_at = job.due_at if job.intent is not None else now if untold else None
    return evolve(job, status=status, updated_at=now, next_fire_at=None, due_at=due_at, untold=untold, blocked=None)


def settled(job: Job) -> Job:
    """Return the job without its intent; it stands in the due index only if it is to be planned.

    One without a fire to come stays due once more: its final run may have ended while it was paused. So does one that
    waits for its parents, or whose children are to be told.
    """
    bare = evolve(job, intent=None)
    if job.status is not JobStatus.PENDING:
        return evolve(bare, due_at=job.due_at if job.untold else None)
    stays_due = job.next_fire_at is None or job.waits or job.untold
    return evolve(bare, due_at=job.due_at if stays_due else job.next_fire_at, paused_at=None)


def past_skipped(job: Job, row: Run, now: int) -> Job:
    """Return a job without its intent to skip a fire, behind the row that stands there: it may have started before.

    What its calendar keeps away before that fire is left to the plans: they go by the dates as they are then.
    It stays due at its ledger's end: whoever carries out what the row entails may die.
    """
    bare = settled(job)
    if job.next_fire_at is not None and row.id.fire_at > job.next_fire_at:
        return evolve(bare, skipped_to=row.id.fire_at)
    is_next = job.status is JobStatus.PENDING and row.id.fire_at == job.next_fire_at
    after = advanced(bare, row, now, is_older=True) if is_next else bare
    following_at = next_fire(job.spec.schedule, row.id.fire_at)
    is_last_before = following_at is None or after.next_fire_at is None or following_at >= after.next_fire_at
    if row.reason not in (Reason.SKIPPED_BY_HAND, Reason.CALENDAR) or not is_last_before:
        return evolve(after, skipped_from=job.skipped_from)
    return evolve(after, skipped_from=row.id.fire_at if job.skipped_from is None else job.skipped_from)
