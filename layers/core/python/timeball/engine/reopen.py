"""Note on a job that one of its runs is tried again by hand, before it is: a change of the job looks so far back.

Such a run may be older than any that the schedule still has under way, so a cancel would not find it otherwise.
"""

from collections.abc import Sequence

from timeball.domain.ids import JobKey, RunId
from timeball.domain.job import Job
from timeball.domain.reach import is_noted, noted
from timeball.engine.compare_and_swap import compare_and_swap
from timeball.engine.world import World


def note_reopened(world: World, ids: Sequence[RunId]) -> None:
    """Note the earliest of these runs on each job that may be changed yet. Raises UnavailableError."""
    earliest: dict[JobKey, int] = {}
    for run_id in ids:
        earliest[run_id.job] = min(run_id.fire_at, earliest.get(run_id.job, run_id.fire_at))

    def change(key: JobKey, job: Job | None) -> Job | None:
        now = world.clock.now()
        if job is None or not job.is_open or is_noted(job, earliest[key], now):
            return None
        return noted(job, earliest[key], now)

    compare_and_swap(world, world.store.jobs, change, list(earliest))
