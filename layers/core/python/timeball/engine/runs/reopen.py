"""Note on a job, beforehand, that one of its runs is retried manually: a change of the job searches so far back.

Such a run may be older than any that the schedule still has under way, so a cancel would not find it otherwise.
"""

from collections.abc import Sequence

from timeball.domain.model.ids import JobKey, RunId
from timeball.domain.model.job import Job
from timeball.domain.policy.search_window import is_noted, noted
from timeball.engine.compare_and_swap import compare_and_swap
from timeball.engine.context import Context
from timeball.ports.errors import ContendedError


def note_reopened(context: Context, ids: Sequence[RunId]) -> None:
    """Note the earliest of these runs on each job that may be changed yet. Raises UnavailableError."""
    now = context.clock.now()
    earliest: dict[JobKey, int] = {}
    for run_id in ids:
        earliest[run_id.job] = min(run_id.fire_at, earliest.get(run_id.job, run_id.fire_at))

    def change(_: int, job: Job) -> Job | None:
        fire_at = earliest[job.key]
        return None if not job.is_open or is_noted(job, fire_at, now) else noted(job, fire_at, now)

    jobs = context.store.jobs.read(list(earliest))
    if not all(one.done for one in compare_and_swap(context.store.jobs.swap, jobs, change, now)):
        raise ContendedError("a job whose run is to be tried again kept changing")
