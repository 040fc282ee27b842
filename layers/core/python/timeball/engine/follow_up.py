"""What the end of a run entails for others. Each follow-up is idempotent: whoever meets an ended run repeats it."""

from collections.abc import Sequence

from timeball.domain.job import Job, conclusion
from timeball.domain.run import Run
from timeball.engine.guard import needs_guard, release
from timeball.engine.world import World
from timeball.ports import Conclusion


def follow_up(world: World, ended: Sequence[tuple[Run, Job | None]]) -> None:
    """Do for each terminal run what its end entails: its job's final status, and the guard to whoever is parked.

    A recurring job that is paused keeps its status: the pause may have taken earlier runs back, and whoever resumes the
    job comes here again. The job may be an old reading: its final fire is fixed before the run of that fire is
    inserted, and a run holds the guard only if its job had one when it was claimed.
    """
    now = world.clock.now()
    conclusions = [
        Conclusion(job.key, job.final_fire_at, status, now, or_paused=job.schedule.is_one_off)
        for run, job in ended
        if job is not None and job.final_fire_at is not None
        if (status := conclusion(job, run)) is not None
    ]
    if conclusions:
        world.store.conclude_jobs(conclusions)
    release(world, [run.id for run, job in ended if job is not None and _may_name(job, run)])


def _may_name(job: Job, run: Run) -> bool:
    """Say whether the job's guard may name a run: by an old reading its policy tells, by a new one the guard itself."""
    return needs_guard(run, job) or run.id in (job.holder, job.parked)
