"""The effects of a run's end, as pure functions of the run and its job as they were read.

Invariant: an effect follows from the rows alone and may be carried out again, by any process, at any later time. So a
process that finds an ended run may carry out its effects, whether or not that has been done before.
"""

from timeball.domain.model.ids import Origin
from timeball.domain.model.jobs.job import Job, JobStatus, Verb
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.runs.values import Guarantor
from timeball.domain.sharing.overlap import holds_nothing
from timeball.domain.sharing.slots_and_tokens import slots_needed, slots_of


def releases(run: Run, job: Job | None) -> bool:
    """Say whether a run that has ended, or that waits for its paused job, still has its job's overlap lock.

    The job may be an old reading if it is not older than the run's claim: the lock names a run before the run starts.
    While a cancel of the job is carried out, the cancel ends the next holder itself. A job that its final run has
    cancelled may have other runs that continue.
    """
    if job is None:
        return False
    is_being_cancelled = job.intent is not None and job.intent.verb is Verb.CANCEL
    return run.id in (job.holder, job.next_holder) and holds_nothing(run) and not is_being_cancelled


def final_status(run: Run, job: Job) -> JobStatus | None:
    """Return the status that the end of a run gives its job; None if the job continues or cannot change.

    Earlier runs of a recurring job may not be sent yet while its ledger is incomplete, and were taken back while the
    job is paused. So the process that completes the ledger, or resumes the job, evaluates this again. A one-off has no
    earlier runs; a failed one may be completed by a manual retry of its run, or cancelled together with it.
    """
    if not concludes(run, job):
        return None
    if not job.spec.schedule.is_one_off:
        is_open = job.status is JobStatus.PENDING and job.next_fire_at is None
        return JobStatus.COMPLETED if is_open else None
    status = _status_of_the_only_one(run)
    is_late = job.status is JobStatus.FAILED and status in (JobStatus.COMPLETED, JobStatus.CANCELLED)
    return status if job.is_open or is_late else None


def frees_slots(run: Run, _: Job | None) -> bool:
    """Say whether a run may have a slot of a limiter that it no longer needs."""
    return bool(run.slots or run.waiting) and not slots_of(run) <= slots_needed(run)


def joins_cycles(run: Run, job: Job) -> bool:
    """Say whether runs of other jobs may wait for this run, in its cycle."""
    is_in_cycle = run.id.origin is Origin.SCHEDULE or (run.root is not None and run.id.origin is not Origin.DEPENDENCY)
    return is_in_cycle and job.has_children and not job.spec.schedule.is_one_off


def guarantor_of(run: Run, job: Job | None, otherwise: Guarantor) -> Guarantor:
    """Return the guarantor of a run's effects: the scan if children, or the head of an item, must be notified."""
    notifies_children = run.id.origin is Origin.DEPENDENCY or (job is not None and joins_cycles(run, job))
    return Guarantor.SCAN if notifies_children else otherwise


def is_final(run: Run, job: Job) -> bool:
    """Say whether the end of a run is the end of its job."""
    return job.final_fire_at is not None and job.owns(run.id) and run.covers(job.final_fire_at)


def concludes(run: Run, job: Job | None) -> bool:
    """Say whether a run has ended its job. A superseded run has not: the plan at its fire may revive it.

    Nor has a run from before a rerun of the job: a process that has read it acts too late.
    """
    if job is None or not run.is_terminal or run.is_superseded:
        return False
    return run.decided_at_version >= job.rerun_at_version and is_final(run, job)


def _status_of_the_only_one(run: Run) -> JobStatus:
    """Return the status of a one-off whose run has ended. If a manual run replaced its run, the status is failed.

    A cancelled job would cancel that manual run, too.
    """
    if run.reason is not Reason.REPLACED and (run.state is RunState.CANCELLED or run.reason is Reason.JOB_CANCELLED):
        return JobStatus.CANCELLED
    if run.state is RunState.SKIPPED:
        return JobStatus.SKIPPED
    return JobStatus.COMPLETED if run.state is RunState.SUCCEEDED else JobStatus.FAILED
