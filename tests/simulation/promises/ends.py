"""Promises about the end of a story: no work is left."""

from collections.abc import Iterator

from tests.simulation.promises.features.notices import is_ahead
from tests.simulation.story import Story
from tests.simulation.unfinished import unended, unfinished, unplanned
from timeball.domain.model.jobs.job import JobStatus


def _nothing_is_stuck(story: Story) -> Iterator[str]:
    """No run has a reason to wait: a story with long lines has its limits lifted before it ends."""
    for run in unfinished(story):
        yield f"{run}, its job {story.store.jobs[run.id.job]}"
    lookahead_ms = story.hardships.longest_lookahead_ms(story.rules)
    for key, job in story.store.jobs.items():
        if job.intent is not None:
            yield f"{key.job_id} keeps its intent {job.intent}"
        due_at = None if job.next_fire_at is None else max(job.next_fire_at, story.clock.now())
        looked_at = (due_at or 0) + (lookahead_ms if is_ahead(job) else 0)
        is_late = due_at is not None and not job.waits and (job.due_at is None or job.due_at > looked_at)
        if job.status is JobStatus.PENDING and is_late:
            yield f"{key.job_id} is not due in time: {job}"
    for job in unplanned(story):
        yield f"{job.key.job_id} is not planned: {job}"
    for backfill in story.store.backfills.values():
        if backfill.due_at is not None:
            yield f"backfill {backfill.key.name} is not over: {backfill}"
    for operation in story.store.operations.values():
        if operation.is_running or operation.due_at is not None:
            yield f"operation {operation.key.name} is not over: {operation}"


def _a_job_ends_with_its_final_run(story: Story) -> Iterator[str]:
    for job, final in unended(story):
        yield f"{job} is {job.status}, and its final run is over: {final}"


PROMISES = (
    _nothing_is_stuck,
    _a_job_ends_with_its_final_run,
)
