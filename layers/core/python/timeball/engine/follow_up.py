"""What the end of a run entails for others. Each follow-up is idempotent: whoever meets an ended run repeats it."""

from collections.abc import Sequence

from timeball.domain.job import Job, JobStatus, conclusion
from timeball.domain.run import Run
from timeball.engine.guard import needs_guard, release
from timeball.engine.world import World
from timeball.ports.jobs import Conclusion


def follow_up(world: World, ended: Sequence[tuple[Run, Job | None]]) -> None:
    """Do for each terminal run what its end entails: its job's final status, and the guard to whoever is parked.

    The job may be an old reading: its final fire is fixed before the run of that fire is inserted, and of a run that is
    older than its schedule the scan sees the end. A run holds the guard only if its job had one when it was claimed.
    """
    now = world.clock.now()
    conclusions = [
        _conclusion(job, job.final_fire_at, status, now)
        for run, job in ended
        if job is not None and job.final_fire_at is not None
        if (status := conclusion(job, run)) is not None
    ]
    if conclusions:
        conclude(world, conclusions)
    release(world, [run.id for run, job in ended if job is not None and _may_name(job, run)])


def conclude(world: World, conclusions: Sequence[Conclusion]) -> None:
    """Give jobs their final status, but for a recurring one whose ledger is not written to its end, or that is paused.

    Its earlier runs may not be sent yet, or were taken back. Whoever has written the ledger, or resumes the job, comes
    here again. A one-off has no earlier runs, and is not read for it.
    """
    one_off = [conclusion for conclusion in conclusions if JobStatus.PAUSED in conclusion.open_statuses]
    recurring = [conclusion for conclusion in conclusions if conclusion not in one_off]
    jobs = world.store.jobs.read([conclusion.job for conclusion in recurring]) if recurring else []
    written = [
        conclusion
        for conclusion, job in zip(recurring, jobs, strict=True)
        if job is not None and job.next_fire_at is None
    ]
    if one_off or written:
        world.store.jobs.conclude([*one_off, *written])


def _conclusion(job: Job, fire_at: int, status: JobStatus, now: int) -> Conclusion:
    """Return what a job is to become. A one-off that failed may be completed after all: its run was tried by hand."""
    if not job.spec.schedule.is_one_off:
        return Conclusion(job.key, fire_at, status, now)
    failed = (JobStatus.FAILED,) if status is JobStatus.COMPLETED else ()
    return Conclusion(job.key, fire_at, status, now, (JobStatus.PENDING, JobStatus.PAUSED, *failed))


def _may_name(job: Job, run: Run) -> bool:
    """Say whether the job's guard may name a run: by an old reading its policy tells, by a new one the guard itself."""
    return needs_guard(run, job) or run.id in (job.holder, job.parked)
