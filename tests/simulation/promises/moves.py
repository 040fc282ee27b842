"""Promises about the changes of a row, and about what finds it again."""

from collections.abc import Iterator
from dataclasses import replace

from tests.simulation.promises.features.operations import is_retried_by_an_operation
from tests.simulation.promises.features.reruns import is_of_a_rerun
from tests.simulation.story import MOST_SKEW_MS, TARGET, Story
from tests.simulation.world.history import Write
from timeball.domain.model.ids import Origin, RunId
from timeball.domain.model.jobs.job import JobStatus
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import MOVES, Run, RunState
from timeball.domain.run_ends.effects import final_status, releases
from timeball.domain.time.instants import LATEST


def _each_move_is_legal(story: Story) -> Iterator[str]:
    for write in story.store.history.runs:
        before, after = write.before, write.after
        if before is None:
            in_doubt = after.reason is Reason.RECOVERY_IN_DOUBT
            if after.state not in (RunState.QUEUED, RunState.SKIPPED) and not in_doubt:
                yield f"born as {after.state}: {write}"
        elif before.state is not after.state and after.state not in MOVES[before.state]:
            yield f"{before.state} -> {after.state}: {write}"
        elif before.state is RunState.SKIPPED and after.state is RunState.QUEUED and not before.is_superseded:
            if is_of_a_rerun(story, write):
                continue
            yield f"only a superseded run is revived: {write}"


def _a_run_that_is_over_does_not_change(story: Story) -> Iterator[str]:
    """Exceptions: its due key, a dead letter that is discarded or retried, and a superseded, rerun or outdated row."""
    for write in story.store.history.runs:
        before, after = write.before, write.after
        if before is None or not before.is_terminal or before.is_superseded:
            continue
        is_retried = before.state is RunState.FAILED and after.state is RunState.QUEUED
        is_mended = is_retried or (before.state is RunState.FAILED and after.marked_succeeded is not None)
        by_operation = is_retried and is_retried_by_an_operation(story, write)
        is_decided_anew = after.state is not before.state or after.decided_at_version > before.decided_at_version
        if is_decided_anew and (is_of_a_rerun(story, write) or _is_outdated(story, write)):
            continue
        is_with_others = before.id.origin is Origin.DEPENDENCY and is_retried
        if is_with_others or (before.fan is not None and after.state is RunState.SUCCEEDED):
            continue  # the items of a retried run, or a run whose items were retried
        if is_mended and (write.by.startswith("user") or by_operation):
            continue
        same = replace(after, due_at=before.due_at, discarded_at=before.discarded_at, revision=before.revision)
        if same != before:
            yield str(write)


def _is_outdated(story: Story, write: Write[Run]) -> bool:
    """Say whether the job, which got other parents before it was through, counts the row as undecided."""
    before = write.before
    jobs = story.store.history.jobs_between(write.after.id.job, write.at, write.at)
    return before is not None and any(before.decided_at_version < job.rerun_at_version for job in jobs)


def _only_the_scan_drops_the_due_key_of_a_run_that_is_over(story: Story) -> Iterator[str]:
    """The scan drops it only if the run was over when the scan read it."""
    for write in story.store.history.runs:
        before, after = write.before, write.after
        if before is None or not after.is_terminal or before.due_at is None or after.due_at is not None:
            continue
        if not before.is_terminal or not write.by.startswith("scanner"):
            yield str(write)


def _a_due_key_is_dropped_after_the_effects(story: Story) -> Iterator[str]:
    """The job was as the end requires by then, unless its ledger goes on, or it is paused."""
    history = story.store.history
    for write in history.runs:
        before, after = write.before, write.after
        if before is None or not before.is_terminal or before.due_at is None or after.due_at is not None:
            continue
        jobs = history.jobs_between(after.id.job, (before.finished_at or 0) - MOST_SKEW_MS, write.at)
        if all(final_status(before, job) is not None or releases(before, job) for job in jobs):
            yield f"{write}, of {jobs[-1]}"


_REASONS_OF_A_JOB = frozenset(
    {
        Reason.JOB_CANCELLED,
        Reason.EARLIER_GENERATION,
        Reason.SUPERSEDED,
        Reason.MISFIRED,
        Reason.CALENDAR,
        Reason.FROZEN,
        Reason.SKIPPED_MANUALLY,
    }
)


def _an_end_without_a_message_is_due_at_once(story: Story) -> Iterator[str]:
    """A target, a user and the scan hold no message. The job's effects cover the ends by a plan or a change.

    The end of a backfill's run has no effects.
    """
    for write in story.store.history.runs:
        before, after = write.before, write.after
        if before is None or before.is_terminal or not after.is_terminal:
            continue
        if after.id.origin is Origin.BACKFILL or after.reason in _REASONS_OF_A_JOB:
            continue
        is_due = after.due_at is not None and after.due_at <= write.at + MOST_SKEW_MS
        if write.by.startswith((TARGET, "user", "scanner")) and not is_due:
            yield str(write)


def _a_run_without_a_message_is_found_again(story: Story) -> Iterator[str]:
    """The due index, a plan, its limiter, the end of the run before it, or a resume finds the run; or it is over."""
    for gone in story.queue.deletions:
        if not gone.others and not any(_is_found_again(story, gone.run, at) for at in (gone.at - 1, gone.at)):
            run, job = story.store.runs[gone.run], story.store.jobs[gone.run.job]
            yield f"{gone}; now: {run}, {job}"


def _is_found_again(story: Story, run_id: RunId, at: int) -> bool:
    run, job = story.store.history.run_at(run_id, at), story.store.history.job_at(run_id.job, at)
    if run is None or job is None or run.is_terminal:
        return True
    is_planned_anew = run.id.origin is Origin.SCHEDULE and (job.next_fire_at or LATEST) <= run.id.fire_at
    waits = run.due_at is not None or run.state is RunState.WITHDRAWN or job.next_holder == run.id
    return waits or run.stands_in_line or is_planned_anew


def _cancelled_stays_cancelled(story: Story) -> Iterator[str]:
    for write in story.store.history.jobs:
        if write.before is None or write.before.status is not JobStatus.CANCELLED:
            continue
        if write.after.status is not JobStatus.CANCELLED and write.after.generation == write.before.generation:
            yield str(write)


PROMISES = (
    _each_move_is_legal,
    _a_run_that_is_over_does_not_change,
    _only_the_scan_drops_the_due_key_of_a_run_that_is_over,
    _a_due_key_is_dropped_after_the_effects,
    _an_end_without_a_message_is_due_at_once,
    _a_run_without_a_message_is_found_again,
    _cancelled_stays_cancelled,
)
