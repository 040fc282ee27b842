"""Promises about named cycles: each job of the subtree has one row, and a cancelled backfill lets no run begin."""

from collections.abc import Iterator

from tests.simulation.story import MOST_SKEW_MS, Story
from timeball.domain.backfill import BackfillStatus
from timeball.domain.dependencies.named_cycle import names_of
from timeball.domain.model.ids import BackfillKey, JobKey, Origin
from timeball.domain.model.jobs.job import Job, JobStatus
from timeball.domain.model.runs.run import Run, RunState


def _each_job_of_a_subtree_has_a_row_in_its_named_cycle(story: Story) -> Iterator[str]:
    """Each job that depended on the first one from the cycle's beginning until its release."""
    history = story.store.history
    began_at: dict[object, int] = {}
    for write in history.runs:
        before, after = write.before, write.after
        if not after.begins_cycle:
            continue
        began_at.setdefault(after.id, write.at)
        is_release = before is not None and before.waits and not before.budget_at and not after.waits
        if not is_release or after.state is not RunState.QUEUED:
            continue
        since_at = began_at[after.id] - MOST_SKEW_MS
        for key in _steady_descendants(story, after.id.job, since_at, write.at):
            if not any(history.run_at(name, write.at) for name in names_of(key, story.store.jobs[key], after.id.cycle)):
                yield f"{key.job_id} has none: {write}"


def _an_event_begins_a_cycle_of_a_job_on_which_others_depend(story: Story) -> Iterator[str]:
    """Others depended on it all the time since the event came onto the bus."""
    came_at = {put.name: put.at for put in reversed(story.bus.puts)}
    for write in story.store.history.runs:
        run = write.after
        if write.before is not None or run.id.origin is not Origin.EVENT or run.root or run.is_terminal:
            continue
        since_at = came_at.get((run.id.job.tenant, run.id.series), write.at) - MOST_SKEW_MS
        if below := _steady_descendants(story, run.id.job, since_at, write.at):
            yield f"{write} began none, with {sorted(below)}"


def _steady_descendants(story: Story, first: JobKey, since_at: int, at: int) -> set[JobKey]:
    """Return the jobs that depended on a job, also indirectly, all the time between two true times."""
    history, parents = story.store.history, dict[JobKey, set[str]]()
    for key in story.store.jobs:
        if key.tenant != first.tenant:
            continue
        jobs = history.jobs_between(key, since_at, at)
        if history.job_at(key, since_at) is None or not all(map(_takes_part, jobs)):
            continue
        parents[key] = set.intersection(*({one.job_id for one in job.spec.cycle_keys} for job in jobs))
    found, level = set[JobKey](), {first.job_id}
    while level:
        below = {key for key, named in parents.items() if named & level} - found
        found |= below
        level = {key.job_id for key in below}
    return found


def _takes_part(job: Job) -> bool:
    return job.status is not JobStatus.CANCELLED and not job.spec.schedule.is_one_off


def _no_run_of_a_cancelled_graph_backfill_is_left_waiting_or_begins(story: Story) -> Iterator[str]:
    for run in story.store.runs.values():
        if run.root is None or run.id.origin is not Origin.BACKFILL:
            continue
        backfill = story.store.backfills.get(BackfillKey(JobKey(run.id.job.tenant, run.root), run.id.series))
        if backfill is None or backfill.status is not BackfillStatus.CANCELLED:
            continue
        if run.waits and run.state is RunState.QUEUED and not run.is_unstarted:
            continue  # a rerun made it wait again
        if (run.waits and run.state is RunState.QUEUED) or _begins_late(story, run, backfill.updated_at):
            yield f"{run}, of {backfill}"


def _begins_late(story: Story, run: Run, cancelled_at: int) -> bool:
    """Return whether a run stopped waiting for its parents after the cancel."""
    for write in story.store.history.of_run(run.id):
        before, after = write.before, write.after
        is_let_go = before is not None and before.waits and not after.waits and after.state is RunState.QUEUED
        if is_let_go and before is not None and before.budget_at is None and write.at > cancelled_at + _READ_MS:
            return True
    return False


_READ_MS = 60_000
"""How long before its write an evaluation may have read the backfill, in a story of frozen processes."""

PROMISES = (
    _an_event_begins_a_cycle_of_a_job_on_which_others_depend,
    _each_job_of_a_subtree_has_a_row_in_its_named_cycle,
    _no_run_of_a_cancelled_graph_backfill_is_left_waiting_or_begins,
)
