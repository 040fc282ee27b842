"""Note on a job that one of its runs is tried again by hand, before it is: a change of the job looks so far back.

Such a run may be older than any that the schedule still has under way, so a cancel would not find it otherwise.
"""

from collections.abc import Sequence

from timeball.domain.ids import JobKey, RunId
from timeball.domain.job import Job, reopened
from timeball.engine.world import World
from timeball.ports import Swap, UnavailableError

_TRIES = 10


def note_reopened(world: World, ids: Sequence[RunId]) -> None:
    """Note the earliest of these runs on each job that may be changed yet. Raises UnavailableError."""
    earliest: dict[JobKey, int] = {}
    for run_id in ids:
        earliest[run_id.job] = min(run_id.fire_at, earliest.get(run_id.job, run_id.fire_at))
    waiting = list(earliest)
    for _ in range(_TRIES):
        jobs = [job for job in world.store.read_jobs(waiting) if job is not None] if waiting else []
        swaps = [Swap(job, reopened(job, earliest[job.key])) for job in jobs if _needs_note(job, earliest[job.key])]
        if not swaps:
            return
        outcomes = world.store.swap_jobs(swaps, world.clock.now())
        waiting = [swap.before.key for swap, outcome in zip(swaps, outcomes, strict=True) if not outcome.done]
    raise UnavailableError("the jobs of these runs kept changing")


def _needs_note(job: Job, fire_at: int) -> bool:
    """A one-off is searched to its beginning anyway."""
    is_noted = job.reopened_from is not None and job.reopened_from <= fire_at
    return job.is_open and not job.schedule.is_one_off and not is_noted
