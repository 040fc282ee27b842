"""Note on a job that one of its runs is tried again by hand, before it is: a change of the job looks so far back.

Such a run may be older than any that the schedule still has under way, so a cancel would not find it otherwise.
"""

from collections.abc import Sequence

from timeball.domain.ids import JobKey, RunId
from timeball.domain.reach import is_noted, noted
from timeball.engine.world import World
from timeball.ports.errors import ContendedError
from timeball.ports.rows import Swap

_TRIES = 10


def note_reopened(world: World, ids: Sequence[RunId]) -> None:
    """Note the earliest of these runs on each job that may be changed yet. Raises UnavailableError."""
    earliest: dict[JobKey, int] = {}
    for run_id in ids:
        earliest[run_id.job] = min(run_id.fire_at, earliest.get(run_id.job, run_id.fire_at))
    waiting = list(earliest)
    for _ in range(_TRIES):
        jobs = [job for job in world.store.jobs.read(waiting) if job is not None] if waiting else []
        now = world.clock.now()
        swaps = [
            Swap(job, noted(job, earliest[job.key], now))
            for job in jobs
            if job.is_open and not is_noted(job, earliest[job.key], now)
        ]
        if not swaps:
            return
        outcomes = world.store.jobs.swap(swaps, now)
        waiting = [swap.before.key for swap, outcome in zip(swaps, outcomes, strict=True) if not outcome.done]
    raise ContendedError("the jobs of these runs kept changing")
