"""Promises about reruns: each run of a rerun cycle is cleared once, and no other run is."""

import json
from collections.abc import Iterator

from tests.simulation.promises.features.operations import through
from tests.simulation.story import MOST_SKEW_MS, Story
from tests.simulation.world.history import Write
from tests.simulation.world.receiver import WEAVERS
from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.model.jobs.job import Job, JobStatus
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.operation import Operation, RerunMode


def is_of_a_rerun(story: Story, write: Write[Run]) -> bool:
    """Return whether a run that was over was written as part of a rerun: cleared, retried, or planned anew."""
    before, after = write.before, write.after
    if (
        before is None
        or not before.is_terminal
        or after.id.job.tenant != WEAVERS
        or after.state not in (RunState.QUEUED, RunState.SKIPPED)
    ):
        return False
    if not write.by.startswith(("user", "scanner")):
        return False
    reruns = [one.after for one in story.store.history.operations if one.after.rerun is not None]
    begun = [one for one in reruns if one.created_at <= write.at + MOST_SKEW_MS]
    return any(after.id.job.job_id in _named(story, one) for one in begun)


def _named(story: Story, operation: Operation) -> set[str]:
    """Return the jobs that a rerun named when it was asked for."""
    rerun = operation.rerun
    works = [story.store.works[JobKey(WEAVERS, rerun.job_id), name] for name in operation.lists] if rerun else []
    return {*operation.batch, *(name for work in works for name in json.loads(work.payload or "[]"))}


def _a_rerun_clears_a_run_once(story: Story) -> Iterator[str]:
    """Each operation clears a job, or its run, at most once."""
    cleared: dict[JobKey, list[object]] = {}
    for write in story.store.history.jobs:
        if _is_reopened(write):
            cleared.setdefault(write.after.key, []).append(write.after.rerun_at)
    for key, instants in cleared.items():
        if len(set(instants)) < len(instants):
            yield f"{key.job_id} was cleared at {instants}"


def _is_reopened(write: Write[Job]) -> bool:
    before, after = write.before, write.after
    is_the_same = before is not None and before.generation == after.generation
    return before is not None and is_the_same and not before.is_open and after.is_open


def _a_job_is_opened_again_by_a_rerun_alone(story: Story) -> Iterator[str]:
    for write in story.store.history.jobs:
        if _is_reopened(write) and (write.before is None or write.after.rerun_at == write.before.rerun_at):
            yield str(write)


def _a_rerun_that_is_through_has_cleared_all_that_it_named(story: Story) -> Iterator[str]:
    """Exceptions are jobs that the operation recorded as failed, and runs still to come, skipped otherwise, or gone."""
    for operation, ended_at in through(story):
        rerun = operation.rerun
        if rerun is None or rerun.mode is RerunMode.FAILED:
            continue
        since_at = operation.created_at
        told = {one.job_id for one in operation.failures}
        begun = next(one.after for one in story.store.history.operations if one.after.key == operation.key)
        named = _named(story, begun)
        if operation.done + operation.failed != len(named):
            yield f"{operation} has not come to all of {sorted(named)}"
        for name in named - told:
            jobs = story.store.history.jobs_between(JobKey(WEAVERS, name), since_at - MOST_SKEW_MS, ended_at)
            if not jobs or any((job.rerun_at or 0) >= since_at for job in jobs):
                continue
            spec = jobs[0].spec
            has_items = spec.for_each is not None or _stands_for_items(story, jobs[0].key, ended_at)
            if has_items and not any(one.job_id in named for one in spec.depends_on):
                continue  # the operation retries only its dead items
            if spec.schedule.is_one_off:
                if all(job.status in (JobStatus.COMPLETED, JobStatus.FAILED) for job in jobs):
                    yield f"{name} was not cleared: {operation}"
                continue
            rows = _rows(story, RunId(jobs[0].key, rerun.fire_at, Origin.SCHEDULE), since_at, ended_at)
            if rows and all(run.state in (RunState.SUCCEEDED, RunState.FAILED) for run in rows):
                yield f"{rows[-1]} was not cleared: {operation}"


def _stands_for_items(story: Story, key: JobKey, at: int) -> bool:
    """Say whether a run of a job stands for items, perhaps of a list that the job named before it was changed."""
    rows = [story.store.history.run_at(run_id, at) for run_id in story.store.history.runs_of(key)]
    return any(row is not None and row.fan is not None for row in rows)


def _rows(story: Story, run_id: RunId, since_at: int, ended_at: int) -> list[Run]:
    history = story.store.history
    standing = history.run_at(run_id, since_at - MOST_SKEW_MS)
    later = [one.after for one in history.of_run(run_id) if since_at - MOST_SKEW_MS < one.at <= ended_at]
    return [*([] if standing is None else [standing]), *later]


PROMISES = (
    _a_rerun_clears_a_run_once,
    _a_job_is_opened_again_by_a_rerun_alone,
    _a_rerun_that_is_through_has_cleared_all_that_it_named,
)
