"""Who runs cycles of graphs again, and what must hold of that: each run of it is cleared once, and nothing else is.

Each rule is a generator of complaints.
"""

from collections.abc import Iterator
from random import Random

from tests.simulation.client import Client
from tests.simulation.history import Write
from tests.simulation.operation_rules import through
from tests.simulation.simulated_aws import WEAVERS
from tests.simulation.story import MOST_SKEW_MS, Story
from timeball.domain.model.actor import Actor
from timeball.domain.model.ids import JobKey, OperationKey, Origin, RunId, shard_of
from timeball.domain.model.job import Job, JobStatus
from timeball.domain.model.run import Run, RunState
from timeball.domain.operations.operation import Match, Operation, OperationAction, Rerun, RerunMode
from timeball.engine.context import Context
from timeball.engine.dependencies.cycle import read_cycle
from timeball.engine.operations.operation import create_operation
from timeball.engine.operations.rerun import being_run, meant


async def run_again(story: Story) -> None:
    """Run cycles again, one after the other, while the storm lasts."""
    draw, client = Random(f"the reruns of {story.seed}"), Client(story, story.new_process("user-rerunner"))
    while story.clock.now() < story.storm_ends_at:
        await client.process.sleep_until(client.process.now() + draw.randrange(5_000, 25_000))
        runs = [run_id for run_id in sorted(story.store.runs) if run_id.job.tenant == WEAVERS]
        if runs:
            asked, mode = draw.choice(runs), draw.choice([*RerunMode])
            name = f"rerun{next(story.names)}"
            await client.request("rerun", asked.job, _rerun, asked, mode, name)


def _rerun(context: Context, asked: RunId, mode: RerunMode, name: str) -> Operation | None:
    """Do as the API does."""
    (job,) = context.store.jobs.read([asked.job])
    cycle = None if job is None else read_cycle(context, job, asked.fire_at)
    nodes = [] if cycle is None else meant(cycle, mode)
    if cycle is None or cycle.is_cut or (mode is not RerunMode.FAILED and being_run(nodes)):
        return None
    key, now = OperationKey(WEAVERS, name), context.clock.now()
    operation = Operation(
        key,
        OperationAction.RERUN,
        Match(),
        per_second=100,
        shard=shard_of(key, context.rules.shards),
        created_at=now,
        updated_at=now,
        by=Actor(name),
        due_at=now,
        rerun=Rerun(asked.job.job_id, asked.fire_at, mode),
        batch=tuple(node.job.key.job_id for node in nodes),
        is_begun=True,
        matched=len(nodes),
    )
    return create_operation(context, operation)


def is_of_a_rerun(story: Story, write: Write[Run]) -> bool:
    """Say whether a run that was over was written as one that is run again: cleared, tried again, or planned anew."""
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
    named = [one.after for one in story.store.history.operations if one.after.rerun is not None]
    return any(after.id.job.job_id in one.batch and one.created_at <= write.at + MOST_SKEW_MS for one in named)


def _a_rerun_clears_a_run_once(story: Story) -> Iterator[str]:
    """Each operation clears a job, or its run, once at the most."""
    cleared: dict[JobKey, list[object]] = {}
    for write in story.store.history.jobs:
        if _is_reopened(write):
            cleared.setdefault(write.after.key, []).append(write.after.rerun_at)
    for key, instants in cleared.items():
        if len(set(instants)) < len(instants):
            yield f"{key.job_id} was cleared at {instants}"


def _is_reopened(write: Write[Job]) -> bool:
    return write.before is not None and not write.before.is_open and write.after.is_open


def _a_job_is_opened_again_by_a_rerun_alone(story: Story) -> Iterator[str]:
    for write in story.store.history.jobs:
        if _is_reopened(write) and (write.before is None or write.after.rerun_at == write.before.rerun_at):
            yield str(write)


def _a_rerun_that_is_through_has_cleared_all_that_it_named(story: Story) -> Iterator[str]:
    """But for such as it has told of, and those that were to come, were skipped otherwise, or are gone."""
    for operation, ended_at in through(story):
        rerun = operation.rerun
        if rerun is None or rerun.mode is RerunMode.FAILED:
            continue
        since_at = operation.created_at
        told = {one.job_id for one in operation.failures}
        begun = next(one.after for one in story.store.history.operations if one.after.key == operation.key)
        for name in set(begun.batch) - told:
            jobs = story.store.history.jobs_between(JobKey(WEAVERS, name), since_at - MOST_SKEW_MS, ended_at)
            if not jobs or any((job.rerun_at or 0) >= since_at for job in jobs):
                continue
            spec = jobs[0].spec
            if spec.for_each is not None and not any(one.job_id in begun.batch for one in spec.depends_on):
                continue  # it has those of its items tried again that died
            if spec.schedule.is_one_off:
                if all(job.status in (JobStatus.COMPLETED, JobStatus.FAILED) for job in jobs):
                    yield f"{name} was not cleared: {operation}"
                continue
            rows = _rows(story, RunId(jobs[0].key, rerun.fire_at, Origin.SCHEDULE), since_at, ended_at)
            if rows and all(run.state in (RunState.SUCCEEDED, RunState.FAILED) for run in rows):
                yield f"{rows[-1]} was not cleared: {operation}"


def _rows(story: Story, run_id: RunId, since_at: int, ended_at: int) -> list[Run]:
    history = story.store.history
    standing = history.run_at(run_id, since_at - MOST_SKEW_MS)
    later = [one.after for one in history.of_run(run_id) if since_at - MOST_SKEW_MS < one.at <= ended_at]
    return [*([] if standing is None else [standing]), *later]


RERUN_RULES = (
    _a_rerun_clears_a_run_once,
    _a_job_is_opened_again_by_a_rerun_alone,
    _a_rerun_that_is_through_has_cleared_all_that_it_named,
)
