"""A rerun of a job, or of its run in a cycle: pure functions from row to row.

Invariant: attempts and their history stay; of the skipped runs only those that a trigger rule skipped are decided anew.
"""

from timeball.domain.model.evolve import evolve
from timeball.domain.model.jobs.job import Job, JobStatus
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.runs.transitions import cleared

_BY_THE_RULE = frozenset({Reason.PARENT_SKIPPED, Reason.PARENT_CANCELLED, Reason.RULE_UNMET, Reason.DEPENDENCY_TIMEOUT})


def is_under_way(job: Job, run: Run | None) -> bool:
    """Say whether a job's run cannot be cleared yet: it runs, is about to run, or its effects are not carried out."""
    if run is None or run.is_superseded:
        return False
    if run.is_terminal:
        is_of_now = run.decided_at_version >= job.rerun_at_version
        return job.spec.schedule.is_one_off and job.is_open and not job.waits and is_of_now
    return run.state is not RunState.WITHDRAWN and not run.waits


def is_cleared(job: Job, run: Run | None, since: int) -> bool:
    """Say whether a job's run was cleared by the request of an instant (ms), or by a later one."""
    marked_at = job.rerun_at if job.spec.schedule.is_one_off or run is None else run.budget_at
    return (marked_at or 0) >= since


def stays(job: Job, run: Run | None) -> bool:
    """Say whether there is nothing to clear: the run is yet to come, or a calendar, a policy or a person skipped it."""
    if job.spec.schedule.is_one_off:
        is_left = job.status is JobStatus.SKIPPED and job.skips is None
        return is_left or (job.is_open and not job.waits)
    if run is None or run.state is RunState.WITHDRAWN:
        return True
    return run.state is RunState.SKIPPED and not _is_by_the_rule(run)


def run_cleared(run: Run, job: Job, now: int) -> Run:
    """Return the run of a recurring job as one that will be decided about anew."""
    return cleared(run, now, waits=job.spec.runs_wait)


def job_cleared(job: Job, since: int, now: int) -> Job:
    """Return a one-off that will be decided about anew, at the fire that it had.

    If it has parents, it waits from now on.
    """
    if job.is_open:
        return evolve(job, rerun_at=since, due_at=now if job.status is JobStatus.PENDING else job.due_at)
    return evolve(
        job,
        status=JobStatus.PENDING,
        rerun_at=since,
        rerun_at_version=job.schedule_version + 1,
        schedule_version=job.schedule_version + 1,
        version=job.version + 1,
        updated_at=now,
        waits=job.spec.job_waits,
        skips=None,
        blocked=None,
        next_fire_at=job.final_fire_at,
        due_at=now,
        runs_planned=max(job.runs_planned - 1, 0),
    )


def _is_by_the_rule(run: Run) -> bool:
    return run.last_fire_at is None and run.reason in _BY_THE_RULE
