"""Promises about shared things: a job's overlap lock, a tenant's slots of backfills, a scan's first hundred."""

from collections import defaultdict
from collections.abc import Iterator

from tests.simulation.story import MOST_SKEW_MS, Story
from timeball.domain.backfill import BackfillStatus
from timeball.domain.model.ids import BackfillKey, JobKey, RunId
from timeball.domain.model.jobs.job import Priority
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.terms.policies import OverlapPolicy
from timeball.engine.runs.overlap_lock import LOCKED


def _guarded_runs_come_one_by_one(story: Story) -> Iterator[str]:
    """While a run of a job is under way, or waits for its retry, no other starts unless the job ever allowed it."""
    history = story.store.history
    allowed = {write.after.key for write in history.jobs if write.after.spec.overlap is OverlapPolicy.ALLOW}
    under_way: dict[JobKey, dict[RunId, Run]] = defaultdict(dict)
    for write in history.runs:
        before, after = write.before, write.after
        if after.id.origin not in LOCKED or after.id.job in allowed:
            continue
        live = under_way[after.id.job]
        if before is not None and after.attempt > before.attempt and live.keys() - {after.id}:
            yield f"{after.id} starts beside {live}: {write}"
        if after.state in (RunState.RUNNING, RunState.RETRYING):
            live[after.id] = after
        elif after.state is not RunState.QUEUED:
            live.pop(after.id, None)


def _a_run_that_waits_for_the_overlap_lock_does_not_misfire(story: Story) -> Iterator[str]:
    history = story.store.history
    for write in history.runs:
        before, after = write.before, write.after
        if before is None or before.state is not RunState.QUEUED or after.reason is not Reason.MISFIRED:
            continue
        decided_at = (after.finished_at or 0) - MOST_SKEW_MS
        jobs = history.jobs_between(after.id.job, decided_at, write.at)
        if all(after.id in (job.holder, job.next_holder) for job in jobs):
            yield f"{write}, of {jobs[-1]}"


def _no_run_waits_for_the_lock_of_a_run_that_is_over(story: Story) -> Iterator[str]:
    """A claim takes the lock from a run that is over. A run that waits for the lock has no message, so no claim."""
    waiting = {run for priority in Priority for run, _ in story.queue.waiting(priority)}
    for key, job in story.store.jobs.items():
        holder = None if job.holder is None else story.store.runs[job.holder]
        next_holder = None if job.next_holder is None else story.store.runs[job.next_holder]
        over = holder is None or (holder.is_terminal and holder.due_at is None)  # else the scan has not seen its end
        if (
            next_holder is not None
            and next_holder.state is RunState.QUEUED
            and over
            and not {job.holder, job.next_holder} & waiting
        ):
            yield f"{key.job_id}: {next_holder} is parked behind {holder}"


def _no_more_backfills_run_than_may(story: Story) -> Iterator[str]:
    running: dict[str, set[BackfillKey]] = defaultdict(set)
    for write in story.store.history.backfills:
        key = write.after.key
        of_tenant = running[key.job.tenant]
        if write.after.status is BackfillStatus.RUNNING:
            of_tenant.add(key)
        else:
            of_tenant.discard(key)
        if len(of_tenant) > story.rules.running_backfills:
            yield f"{write} beside {of_tenant - {key}}"


def _no_job_waits_for_a_hundred_of_another_tenant(story: Story) -> Iterator[str]:
    """The first hundred runs that one scan starts include all tenants that it serves. Runs in doubt do not start."""
    for rows in story.store.history.inserted_by_scans():
        runs = [row for row in rows if row.reason is not Reason.RECOVERY_IN_DOUBT]
        first = {run.id.job.tenant for run in runs[:100]}
        yield from (f"{run.id} of {run.id.job.tenant}" for run in runs[100:] if run.id.job.tenant not in first)


PROMISES = (
    _guarded_runs_come_one_by_one,
    _a_run_that_waits_for_the_overlap_lock_does_not_misfire,
    _no_run_waits_for_the_lock_of_a_run_that_is_over,
    _no_more_backfills_run_than_may,
    _no_job_waits_for_a_hundred_of_another_tenant,
)
