"""How a job that is due but not planned goes on waiting in the due index."""

from timeball.domain.model.evolve import evolve
from timeball.domain.model.jobs.job import Job


def replanned(job: Job, fire_at: int | None) -> Job:
    """Return a job that has nothing due: newer time zone data has moved its next fire, or left it none."""
    if fire_at is None and job.next_fire_at is not None:
        return evolve(job, next_fire_at=None, final_fire_at=job.next_fire_at - 1)
    return evolve(job, next_fire_at=fire_at, due_at=fire_at)


def held_back(job: Job, until: int) -> Job:
    """Return a job that a freeze keeps from its next fire, to be looked at again at an instant."""
    return evolve(job, due_at=until)


def pushed_back(job: Job, due_at: int) -> Job:
    """Return a job that could not be planned, to be looked at again at `due_at`."""
    return evolve(job, due_at=due_at, plan_failures=job.plan_failures + 1)
