"""What the end of a run entails for others: one pure function of the run and its job, as they were read.

Invariant: an effect is true of the rows and may be carried out again, by anyone, at any later time. So whoever meets a
run that is over may ask what that entails, whether or not somebody has seen to it before.
"""

from dataclasses import dataclass

from timeball.domain.model.ids import JobKey, RunId
from timeball.domain.model.job import Job, JobStatus, Verb
from timeball.domain.model.reason import Reason
from timeball.domain.model.run import Run, RunState
from timeball.domain.policy.overlap import holds_nothing


@dataclass(frozen=True)
class Conclusion:
    """Give a job its final status, if its own is one of `open_statuses`, and `fire_at` is its final fire.

    It leaves the due index, unless an intent stands on it.
    """

    job: JobKey
    fire_at: int
    status: JobStatus
    at: int
    open_statuses: tuple[JobStatus, ...] = (JobStatus.PENDING,)


@dataclass(frozen=True)
class Release:
    """Take the overlap lock of its job from a run, for whoever is next in line."""

    run: RunId


Effect = Conclusion | Release


def effects(run: Run, job: Job | None, now: int) -> list[Effect]:
    """Return what follows from a run that is over; of one that waits for its paused job, that it keeps nobody waiting.

    The job may be an old reading, if it is not older than the run's claim: the lock names a run before it starts, and
    the scan sees the end of one that was claimed before its job knew that it is the final one. While a cancel of the
    job is carried out, that ends whoever would go on. A job that its final run has cancelled may have others to go on.
    """
    is_being_cancelled = job is not None and job.intent is not None and job.intent.verb is Verb.CANCEL
    if job is None or is_being_cancelled or not holds_nothing(run):
        return []
    conclusion = _conclusion(run, job, now)
    named = run.id in (job.holder, job.parked)
    return [*([conclusion] if conclusion else []), *([Release(run.id)] if named else [])]


def is_final(run: Run, job: Job) -> bool:
    """Say whether the end of a run is that of its job."""
    return job.final_fire_at is not None and run.covers(job.final_fire_at)


def concludes(run: Run, job: Job) -> bool:
    """Say whether a run has ended its job. A superseded one has not: the plan at that fire may revive it."""
    return run.is_terminal and not run.is_superseded and is_final(run, job)


def _conclusion(run: Run, job: Job, now: int) -> Conclusion | None:
    """Return what a job is to become. A one-off that failed may be completed by a manual retry of its run."""
    if job.final_fire_at is None or not concludes(run, job):
        return None
    status = _final_status(run, job)
    open_statuses = [JobStatus.PENDING]
    if job.spec.schedule.is_one_off:
        open_statuses += [JobStatus.PAUSED, *([JobStatus.FAILED] if status is JobStatus.COMPLETED else [])]
    if not job.is_open and job.status not in open_statuses:
        return None
    return Conclusion(job.key, job.final_fire_at, status, now, tuple(open_statuses))


def _final_status(run: Run, job: Job) -> JobStatus:
    """Return the status of the final run's job. A one-off has failed if a manual run replaced its run.

    Were it cancelled, the manual run would be too.
    """
    if not job.spec.schedule.is_one_off:
        return JobStatus.COMPLETED
    if run.reason is not Reason.REPLACED and (run.state is RunState.CANCELLED or run.reason is Reason.JOB_CANCELLED):
        return JobStatus.CANCELLED
    return JobStatus.COMPLETED if run.state is RunState.SUCCEEDED else JobStatus.FAILED
