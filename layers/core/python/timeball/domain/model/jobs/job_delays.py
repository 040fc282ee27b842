"""How a job that is due but cannot be planned continues to wait in the due index."""

from timeball.domain.model.evolve import evolve
from timeball.domain.model.jobs.job import Job


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
