"""Promises about jobs with fire times of their own, which are judged by the latest cycles of their parents."""

from collections.abc import Iterator

from tests.simulation.promises.features.graphs import may_hold, seen_in_cycle
from tests.simulation.promises.features.reckoning import AS_JOBS, latest_of
from tests.simulation.story import MOST_SKEW_MS, Story
from tests.simulation.world.history import Write
from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.job import Job, JobStatus
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.terms.dependency import Parent, ParentEnd, TriggerRule

_BY_THE_RULE = ("parent_skipped", "parent_cancelled", "rule_unmet")


def _a_run_is_judged_by_the_latest_cycles_from_its_start_on(story: Story) -> Iterator[str]:
    """The rule holds for the latest cycles at some time since the previous write of the run, and since its start."""
    last_at: dict[object, int] = {}
    for write in story.store.history.runs:
        before, after = write.before, write.after
        since_at, last_at[after.id] = last_at.get(after.id, write.at), write.at
        if before is None or not before.waits or before.root is not None or not _is_judged(after):
            continue
        from_at = max(since_at, before.not_before - MOST_SKEW_MS)
        jobs = story.store.history.jobs_between(after.id.job, since_at, write.at)
        if not any(not job.spec.judges_latest or _may_be_so(story, job, after, from_at, write.at) for job in jobs):
            yield f"{write}, of {jobs[-1]}"


def _is_judged(run: Run) -> bool:
    is_skipped = run.state is RunState.SKIPPED and run.reason is not None and run.reason.value in _BY_THE_RULE
    return not run.waits and (run.state is RunState.QUEUED or is_skipped)


def _may_be_so(story: Story, job: Job, run: Run, from_at: int, at: int) -> bool:
    if from_at > at:
        return False
    seen = [_seen(story, job, parent, run, from_at, at) for parent in job.spec.depends_on]
    return may_hold(TriggerRule.ALL_DONE if run.state is RunState.SKIPPED else job.spec.trigger_rule, seen)


def _seen(story: Story, job: Job, parent: Parent, run: Run, from_at: int, at: int) -> set[JobStatus]:
    """Return how a parent stood between two true times."""
    history, key = story.store.history, JobKey(job.key.tenant, parent.job_id)
    jobs = history.jobs_between(key, from_at, at)
    if parent.on is not ParentEnd.LATEST or any(one.spec.schedule.is_one_off for one in jobs):
        return seen_in_cycle(story, key, run.id, from_at, at)
    names = history.runs_of(key)
    times = {from_at, *(one.at for name in names for one in history.of_run(name) if from_at < one.at <= at)}
    states = set[JobStatus]()
    for time in times:
        rows = [row for name in names if (row := history.run_at(name, time)) is not None]
        latest = latest_of(rows)
        states.add(JobStatus.PENDING if latest is None else AS_JOBS[latest.state])
    if JobStatus.PENDING in states and not all(one.is_open for one in jobs):
        states.add(JobStatus.SKIPPED)
    return states


def _each_end_of_a_latest_cycle_reaches_the_runs_that_wait_for_it(story: Story) -> Iterator[str]:
    """Each waiting run was written since the end, before the parent's run drops its due key."""
    history = story.store.history
    ended_at: dict[object, int] = {}
    for write in history.runs:
        before, after = write.before, write.after
        if before is not None and after.is_terminal and not before.is_terminal:
            ended_at[after.id] = write.at
        if after.id not in ended_at or before is None or before.due_at is None or after.due_at is not None:
            continue
        if latest_of([after]) is not None:
            yield from _unreached(story, write, ended_at[after.id])


def _unreached(story: Story, write: Write[Run], ended_at: int) -> Iterator[str]:
    history = story.store.history
    parent = Parent(write.after.id.job.job_id, on=ParentEnd.LATEST)
    for key in story.store.jobs:
        rows = history.jobs_between(key, ended_at, write.at)
        is_child = key.tenant == write.after.id.job.tenant and history.job_at(key, ended_at) is not None
        if not is_child or not all(parent in row.spec.depends_on for row in rows):
            continue
        for name in history.runs_of(key):
            run = history.run_at(name, ended_at)
            if run is None or not run.waits or run.root is not None or run.state is not RunState.QUEUED:
                continue
            if not any(ended_at <= one.at <= write.at for one in history.of_run(name)):
                yield f"{write}, and not {run}"


PROMISES = (
    _a_run_is_judged_by_the_latest_cycles_from_its_start_on,
    _each_end_of_a_latest_cycle_reaches_the_runs_that_wait_for_it,
)
