"""Keep what is known of attempts that nobody finished by a row of their own, before a newer attempt takes their place.

Those are the lost ones, once a take-over has replaced them (one whose lease is out may still finish), and those of
callback runs: their rows are written after the run's, and a crash may have come between.
"""

from collections.abc import Sequence

from timeball.domain.job import Completion, Job
from timeball.domain.run import Outcome, Run
from timeball.engine.world import World


def keep_last_attempts(world: World, runs: Sequence[tuple[Run, Job | None]], now: int) -> None:
    """Give an attempt that stands as a run's last one a row of its own, if it may have none. May be repeated."""
    kept = [(run.id, run.last) for run, job in runs if run.last is not None and _may_have_no_row(run, job)]
    if kept:
        world.store.save_attempts(kept, now)


def _may_have_no_row(run: Run, job: Job | None) -> bool:
    if run.last is None or run.last.outcome is Outcome.LOST:
        return run.last is not None
    return job is not None and job.completion is Completion.CALLBACK and run.last.outcome is not Outcome.SUCCEEDED
