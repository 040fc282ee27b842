"""What must hold when a story is over: nothing is left to be done."""

from collections.abc import Iterator

from tests.simulation.promises.features.notices import is_ahead
from tests.simulation.story import Story
from tests.simulation.unfinished import unended, unfinished, unplanned
from timeball.domain.model.jobs.job import JobStatus, Priority
from timeball.domain.model.runs.run import Run
from timeball.domain.time.instants import MINUTE_MS


def _nothing_is_stuck(story: Story) -> Iterator[str]:
    """A run of low priority may wait in a line for as long as those before it in the line take all that there is."""
    for run in (one for one in unfinished(story) if not _are_others_first(story, one)):
        yield f"{run}, its job {story.store.jobs[run.id.job]}"
    lookahead_ms = story.hardships.longest_lookahead_ms(story.rules)
    for key, job in story.store.jobs.items():
        if job.intent is not None:
            yield f"{key.job_id} keeps its intent {job.intent}"
        due_at = None if job.next_fire_at is None else max(job.next_fire_at, story.clock.now())
        looked_at = (due_at or 0) + (lookahead_ms if is_ahead(job) else 0)
        is_late = due_at is not None and not job.waits and (job.due_at is None or job.due_at > looked_at)
        if job.status is JobStatus.PENDING and is_late:
            yield f"{key.job_id} is not looked at when it is due: {job}"
    for job in unplanned(story):
        yield f"{job.key.job_id} is not planned: {job}"
    for backfill in story.store.backfills.values():
        if backfill.due_at is not None:
            yield f"backfill {backfill.key.name} is not over: {backfill}"
    for operation in story.store.operations.values():
        if operation.is_running or operation.due_at is not None:
            yield f"operation {operation.key.name} is not over: {operation}"


def _are_others_first(story: Story, run: Run) -> bool:
    """Say whether a run of a higher priority was claimed lately under the limiter that a run waits for."""
    if run.waiting is None or not run.stands_in_line or run.priority is not Priority.LOW:
        return False
    name = run.waiting.name
    for write in reversed(story.store.history.runs):
        if write.at < story.clock.now() - MINUTE_MS:
            return False
        after = write.after
        is_claim = write.before is not None and after.attempt > write.before.attempt
        if is_claim and after.id.job.tenant == run.id.job.tenant and after.priority is not Priority.LOW:
            flow = story.store.jobs[after.id.job].spec.flow
            if name in ("", flow.concurrency and flow.concurrency.key, flow.rate and flow.rate.key):
                return True
    return False


def _a_job_ends_with_its_final_run(story: Story) -> Iterator[str]:
    for job, final in unended(story):
        yield f"{job} is {job.status}, and its final run is over: {final}"


PROMISES = (
    _nothing_is_stuck,
    _a_job_ends_with_its_final_run,
)
