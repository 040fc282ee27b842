"""Promises about bulk operations: each matching job is processed once, counted once, and at the operation's pace."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import pairwise

from tests.simulation.story import MOST_SKEW_MS, Story
from tests.simulation.world.history import Write
from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.model.jobs.job import Job, JobStatus
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.operation import Operation, OperationAction, OperationStatus
from timeball.domain.time.instants import SECOND_MS

_OPERATING = ("scanner", "user-operator", "user-of-")
"""The processes that apply operations to jobs; the last one in meetings."""

_RETRYING = (OperationAction.RETRY, OperationAction.RERUN)
_PAUSE, _RESUME, _CANCEL = OperationAction.PAUSE, OperationAction.RESUME, OperationAction.CANCEL


def _an_operation_deals_with_a_job_once(story: Story) -> Iterator[str]:
    """An operation changes, triggers or retries a job at most once."""
    changed = Counter(
        (write.after.key, name)
        for write in story.store.history.jobs
        if (name := write.after.change.by.operation) is not None and _is_changed(write)
    )
    triggered = Counter(
        (run.id.job, name)
        for run in story.store.runs.values()
        if (name := run.triggered_by.operation) is not None and run.id.origin is Origin.MANUAL
    )
    for (key, name), times in [*changed.items(), *triggered.items()]:
        if times > 1:
            yield f"{name} was applied {times} times to {key.job_id}"
    for key, times in _retried(story).items():
        retries = [one for one in _of_tenant(story, key.tenant) if one.action in _RETRYING]
        if times > len(retries):
            yield f"a run of {key.job_id} was retried {times} times by {len(retries)} operations"


def _is_changed(write: Write[Job]) -> bool:
    return write.before is None or write.before.version != write.after.version


def _retried(story: Story) -> Counter[JobKey]:
    """Return how often scans and the users of operations have retried runs of each job."""
    return Counter(
        write.after.id.job
        for write in story.store.history.runs
        if write.before is not None
        and write.before.state is RunState.FAILED
        and write.after.state is RunState.QUEUED
        and write.after.id.origin is not Origin.DEPENDENCY  # an item, with its head
        and write.by.startswith(_OPERATING)
    )


def is_retried_by_an_operation(story: Story, write: Write[Run]) -> bool:
    """Return whether a dead letter was retried by a scan that had an operation to do so."""
    asked_at = write.after.budget_at or 0
    return write.by.startswith("scanner") and any(
        one.action in _RETRYING and one.created_at <= asked_at for one in _of_tenant(story, write.after.id.job.tenant)
    )


def _of_tenant(story: Story, tenant: str) -> list[Operation]:
    return [one for one in story.store.operations.values() if one.key.tenant == tenant]


def _an_operation_that_is_through_has_dealt_with_every_job(story: Story) -> Iterator[str]:
    """It has processed the jobs that matched at every moment while it ran, except the failures that it recorded.

    A job that is stored later does not match, even if a slow clock dates it back; nor does a job that the listing does
    not show yet when the operation is requested.
    """
    begun = {write.after.key: write.at for write in story.store.history.operations if write.before is None}
    for operation, ended_at in through(story):
        if operation.rerun is not None or operation.since is not None:
            continue  # reruns.py and recovery.py check these
        told = {one.job_id for one in operation.failures}
        for key in story.store.jobs:
            jobs = story.store.history.jobs_between(key, operation.created_at - MOST_SKEW_MS, ended_at)
            if key.tenant != operation.key.tenant or key.job_id in told or not jobs:
                continue
            if begun[operation.key] < story.store.past.listed_from[key]:
                continue
            if jobs[0].created_at > operation.created_at or not all(_is_meant(operation, job) for job in jobs):
                continue
            if sum(one.status is not other.status for one, other in pairwise(jobs)) > 1:
                continue  # the job may have moved at both readings
            if not _is_dealt_with(story, operation, key, ended_at):
                yield f"{operation.key.name} ({operation.action}) left out {jobs[-1]}"


def through(story: Story) -> Iterator[tuple[Operation, int]]:
    """Yield the operations that went through, and when they ended (true time, ms)."""
    for write in story.store.history.operations:
        was_running = write.before is None or write.before.is_running
        if was_running and write.after.status in (OperationStatus.SUCCEEDED, OperationStatus.FAILED):
            yield write.after, write.at


def _is_meant(operation: Operation, job: Job) -> bool:
    """Return whether a job matches. A match of one-offs by status is not checked: the shown status may differ."""
    status = operation.match.status
    if status is not None and job.spec.schedule.is_one_off:
        return False
    return job.status in operation.statuses if status is None else job.status == status


def _is_dealt_with(story: Story, operation: Operation, key: JobKey, ended_at: int) -> bool:
    history, action = story.store.history, operation.action
    jobs = history.jobs_between(key, operation.created_at - MOST_SKEW_MS, ended_at)
    if action in (_PAUSE, _RESUME, _CANCEL):
        wanted = {_PAUSE: JobStatus.PAUSED, _RESUME: JobStatus.PENDING, _CANCEL: JobStatus.CANCELLED}[action]
        return any(job.status is wanted or not job.is_open for job in jobs)
    if action is OperationAction.TRIGGER:
        made = [story.store.runs[run] for run in history.runs_of(key)]
        return any(run.triggered_by.operation == operation.key.name for run in made)
    earliest, latest = (_newest_end(story, key, operation.created_at + skew) for skew in (-MOST_SKEW_MS, MOST_SKEW_MS))
    if earliest is None or earliest != latest or _is_newer_retried(story, earliest, operation, ended_at):
        return True
    return not _stayed_dead(story, earliest, operation, ended_at)


def _is_newer_retried(story: Story, run_id: RunId, operation: Operation, ended_at: int) -> bool:
    """Say whether a newer run of the job was retried while the operation ran: the operation then leaves the older one.

    The row of the newer run no longer says whether it had ended when the operation was asked for.
    """
    rows = [story.store.history.run_at(other, ended_at) for other in story.store.history.runs_of(run_id.job)]
    since = operation.created_at - MOST_SKEW_MS
    return any(row.id.fire_at > run_id.fire_at and (row.budget_at or 0) >= since for row in rows if row is not None)


def _newest_end(story: Story, key: JobKey, at: int) -> RunId | None:
    """Return the newest of a job's runs that had ended at a true time."""
    runs = [run for run_id in story.store.history.runs_of(key) if (run := story.store.history.run_at(run_id, at))]
    ended = [run.id for run in runs if run.finished_at is not None and run.state is not RunState.SKIPPED]
    return max(ended, key=lambda run: (run.fire_at, run.origin.value, run.series), default=None)


def _stayed_dead(story: Story, run_id: RunId, operation: Operation, ended_at: int) -> bool:
    writes = story.store.history.of_run(run_id)
    before = story.store.history.run_at(run_id, operation.created_at - MOST_SKEW_MS)
    is_left = not any(operation.created_at - MOST_SKEW_MS < write.at <= ended_at for write in writes)
    return is_left and before is not None and before.is_dead_letter


def _an_operation_counts_each_job_once(story: Story) -> Iterator[str]:
    """Whichever processes advance it at once: in the end all matching jobs are done or have failed, and no more."""
    for operation, _ in through(story):
        if operation.matched != operation.done + operation.failed:
            yield f"{operation}"
    for operation in story.store.operations.values():
        if operation.since is not None:
            continue  # it counts a job twice that ends meanwhile
        there = [key for key in story.store.jobs if key.tenant == operation.key.tenant]
        if operation.done + operation.failed > min(operation.matched, len(there)):
            yield f"of {len(there)} jobs: {operation}"


def _an_operation_keeps_its_pace(story: Story) -> Iterator[str]:
    """By the clocks of the processes that advance it, it processes no more than one second's jobs at once."""
    begun: dict[object, list[tuple[int, int]]] = defaultdict(list)
    for write in story.store.history.operations:
        operation = write.after
        count = operation.done + operation.failed
        for at, before in begun[operation.key]:
            seconds = (write.at - at + 3 * MOST_SKEW_MS) / SECOND_MS
            if count - before > operation.per_second * (seconds + 2):
                yield f"{count - before} in {seconds} seconds: {operation}"
                break
        begun[operation.key].append((write.at, count))


PROMISES = (
    _an_operation_deals_with_a_job_once,
    _an_operation_that_is_through_has_dealt_with_every_job,
    _an_operation_counts_each_job_once,
    _an_operation_keeps_its_pace,
)
