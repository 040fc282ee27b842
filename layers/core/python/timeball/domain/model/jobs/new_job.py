"""How a submitted job begins: its first fire, its entry in the due index, its shard."""

from timeball.domain.model.ids import Shards
from timeball.domain.model.jobs.job import Job, JobSpec, changed_by
from timeball.domain.model.tenants.actor import NO_ACTOR, Action, Actor
from timeball.domain.time.errors import InvalidSchedule
from timeball.domain.time.schedule import OnEvents, first_fire


def new_job(spec: JobSpec, now: int, shards: Shards, by: Actor = NO_ACTOR, depth: int = 0) -> Job:
    """Return the job's row as it is first stored. Raises InvalidSchedule if the schedule never fires from now on.

    A one-off with parents is due at once, so that its parents are evaluated: they may have ended already.
    """
    first_at = first_fire(spec.schedule, now)
    if first_at is None and not isinstance(spec.schedule.timing, OnEvents):
        raise InvalidSchedule("This schedule has no fire time left: its end lies before its first one.")
    waits = spec.schedule.is_one_off and bool(spec.depends_on)
    job = Job(
        spec,
        shard=shards.of(spec.key),
        created_at=now,
        updated_at=now,
        next_fire_at=first_at,
        due_at=now if waits else first_at,
        final_fire_at=first_at if spec.schedule.is_one_off else None,
        created_by=by.key_id,
        depth=depth,
        waits=waits,
    )
    return changed_by(job, Action.CREATE, by, now)
