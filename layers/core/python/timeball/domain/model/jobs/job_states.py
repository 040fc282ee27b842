"""How a job begins, continues to wait, and ends: what keeps its row in the due index, and which listing has it.

A tenant's open jobs have a listing of their own, and so have three kinds of ended jobs. A pause, a resume or a block
moves no job from one of these parts to another.
"""

from enum import StrEnum

from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import Shards
from timeball.domain.model.jobs.job import OPEN, Job, JobSpec, JobStatus, advanced, changed_by
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Run
from timeball.domain.model.tenants.actor import NO_ACTOR, Action, Actor
from timeball.domain.time.instants import InvalidSchedule
from timeball.domain.time.schedule import OnEvents, first_fire, next_fire


def new_job(
    spec: JobSpec, now: int, shards: Shards, by: Actor = NO_ACTOR, depth: int = 0, owner: str | None = None
) -> Job:
    """Return the job's row as it is first stored; `owner` owns it if the spec states no owner.

    Raises InvalidSchedule if the schedule never fires from now on.

    A one-off with parents is due at once, so that its parents are evaluated: they may have ended already.
    """
    first_at = first_fire(spec.schedule, now)
    if first_at is None and not isinstance(spec.schedule.timing, OnEvents):
        raise InvalidSchedule("This schedule has no fire time left: its end lies before its first one.")
    job = Job(
        spec,
        shard=shards.of(spec.key),
        created_at=now,
        updated_at=now,
        next_fire_at=first_at,
        due_at=now if spec.job_waits else first_at,
        final_fire_at=first_at if spec.schedule.is_one_off else None,
        created_by=by.key_id,
        default_owner=owner,
        depth=depth,
        waits=spec.job_waits,
    )
    return changed_by(job, Action.CREATE, by, now)


def replanned(job: Job, fire_at: int | None) -> Job:
    """Return a job that has no fire due: newer time zone data has moved its next fire, or left it none."""
    if fire_at is None and job.next_fire_at is not None:
        return evolve(job, next_fire_at=None, final_fire_at=job.next_fire_at - 1)
    return evolve(job, next_fire_at=fire_at, due_at=fire_at)


def held_back(job: Job, until: int) -> Job:
    """Return a job whose next fire a freeze defers. The job is rechecked at an instant (ms)."""
    return evolve(job, due_at=until)


def pushed_back(job: Job, due_at: int) -> Job:
    """Return a job that could not be planned. It is tried again at `due_at` (ms)."""
    return evolve(job, due_at=due_at, plan_failures=job.plan_failures + 1)


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


class Among(StrEnum):
    """The part to which a job belongs. Most jobs are completed; they have no part of their own."""

    OPEN = "open"
    FAILED = "failed"
    SKIPPED = "skipped"
    CANCELLED = "cancelled"


def among(status: JobStatus) -> Among | None:
    """Return the part to which jobs in a status belong; None for completed jobs."""
    if status in OPEN:
        return Among.OPEN
    return None if status is JobStatus.COMPLETED else Among(status.value)
