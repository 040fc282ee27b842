"""Run a cycle again: the failed jobs, these and all their descendants, or all jobs. An operation goes through them.

The jobs are listed when it is asked for, because a failed job that has run again looks like any other. Parents come
first: a cleared job is evaluated against parents that are cleared, or have run again by then. A job that
is finished has a mark of the operation's instant, so a repeat does not clear it again. Runs under way are left to end.
"""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from timeball.domain.dependencies.named_cycle import run_of
from timeball.domain.dependencies.rerun import is_cleared, is_under_way, job_cleared, run_cleared, stays
from timeball.domain.dependencies.trigger_rule import run_in_cycle
from timeball.domain.model.ids import JobKey, OperationKey
from timeball.domain.model.jobs.job import Job, JobStatus, changed_by
from timeball.domain.model.jobs.revision import change_announced, revision_of
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.tenants.actor import Action, Actor, Resource, ResourceKind
from timeball.domain.model.terms.dependency import State
from timeball.domain.model.terms.policies import Work
from timeball.domain.operation import JobFault, JobMatch, Operation, OperationAction, Rerun, RerunMode
from timeball.engine.changes.history import announce
from timeball.engine.compare_and_swap import TRIES
from timeball.engine.context import Context
from timeball.engine.dependencies.graph_views import Cycle, Node
from timeball.engine.runs.due_runs import resend_if_possible
from timeball.engine.runs.manual import retry_dead
from timeball.ports.errors import ContendedError, UnavailableError
from timeball.ports.rows import Swap

_PER_SECOND: Final = 100
"""How many jobs a rerun processes in a second."""
_AT_ONCE: Final = 500
"""How many jobs a batch of a rerun has: its row is written with each step."""


@dataclass(frozen=True)
class AskedRerun:
    """A rerun that was asked for: its operation's key, the cycle, and a digest of the request."""

    key: OperationKey
    rerun: Rerun
    fingerprint: str | None = None


class UnderWayError(UnavailableError):
    """A run that must be cleared is under way: the operation waits for it."""


def meant(cycle: Cycle, mode: RerunMode) -> list[Node]:
    """Return the jobs of a cycle that must run again, parents first. Cancelled jobs stay cancelled."""
    own = [node for node in cycle.nodes if not node.is_gate and node.job.status is not JobStatus.CANCELLED]
    if mode is RerunMode.ALL:
        return own
    found: dict[JobKey, Node] = {}
    for node in own:
        is_behind = mode is RerunMode.FAILED_AND_DOWNSTREAM and any(key in found for key in node.job.spec.cycle_keys)
        if node.standing.state is State.DEAD or is_behind:
            found[node.job.key] = node
    return list(found.values())


def being_run(nodes: Sequence[Node]) -> list[str]:
    """Return the jobs whose runs are under way: they cannot be cleared yet."""
    return [node.job.key.job_id for node in nodes if is_under_way(node.job, node.run)]


def rerun_operation(
    context: Context, asked: AskedRerun, names: Sequence[str], by: Actor, at_once: int = _AT_ONCE
) -> Operation:
    """Return the operation that runs jobs of a cycle again, parents first. Raises UnavailableError.

    Order of writes of list the jobs (of a rerun of more than `at_once` jobs):

    1. Save lists of their ids, in rows of their own beside the job of the request.
    2. Insert the operation, which names the lists. Its steps take one list after the other as their batch.

    Safe: a list never changes, and expires long after the operation has ended; without step 2 it expires unused.
    """
    now = context.clock.now()
    lists = [names[begin : begin + at_once] for begin in range(0, len(names), at_once)]
    stored: list[str] = []
    if len(lists) > 1:
        beside = JobKey(asked.key.tenant, asked.rerun.job_id)
        stored = context.store.works.save([(beside, Work(payload=json.dumps(one))) for one in lists], now)
    return Operation(
        key=asked.key,
        action=OperationAction.RERUN,
        match=JobMatch(),
        per_second=_PER_SECOND,
        shard=context.shards.of(asked.key),
        created_at=now,
        updated_at=now,
        by=by,
        fingerprint=asked.fingerprint,
        rerun=asked.rerun,
        due_at=now,
        batch=tuple(lists[0] if lists else ()),
        lists=tuple(stored),
        is_begun=True,
        matched=len(names),
    )


class RerunStep(Enum):
    """The step of an operation with one job of the cycle that it runs again."""

    RETRY = auto()
    """Retry its run."""
    CLEAR = auto()
    """Clear it, so that it is evaluated anew."""
    WAIT = auto()
    """Come back later: its run, or the effects of its run's end, are under way."""
    NOTHING = auto()
    """It is cleared already, or there is nothing to clear."""


def rerun_one(context: Context, operation: Operation, rerun: Rerun, key: JobKey) -> JobFault | None:
    """Run a job of a cycle again; return why not, or None if it is done. Raises UnavailableError; may be repeated.

    Order of writes of run a cycle again (an operation, for each of its jobs, parents first):

    1. Swap it: the run of a recurring job is queued and waits, due; a one-off is pending and waits, due, and rows of
       its ledger with an older decided version belong to the past.

    Safe: the row has a mark of the operation's instant, so a repeat does nothing; an evaluation finds parents that are
    cleared or have run again. A late reading of an earlier end concludes nothing, by its decided version.
    """
    for _ in range(TRIES):
        (job,) = context.store.jobs.read([key], with_work=True)
        if job is None or job.status is JobStatus.CANCELLED:
            return JobFault.JOB_GONE if job is None else JobFault.JOB_CANCELLED
        run_id = run_of(job, rerun.cycle) if rerun.series else run_in_cycle(key, job, rerun.fire_at)
        (run,) = context.store.runs.read([run_id])
        match rerun_step(operation, rerun, job, run, _named(context, operation, rerun, run)):
            case RerunStep.RETRY:
                _retry(context, operation, run)
                return None
            case RerunStep.WAIT:
                raise UnderWayError(f"run {run_id} is being run")
            case RerunStep.NOTHING:
                return None
            case RerunStep.CLEAR:
                if _cleared(context, operation, job, run):
                    return None
    raise ContendedError(f"job {key.job_id} kept changing")


def rerun_step(operation: Operation, rerun: Rerun, job: Job, run: Run | None, named: Collection[str]) -> RerunStep:
    """Return the step with a job that is not cancelled, and its run of the cycle, as they were read.

    `named` are the jobs that run again, by their ids.
    """
    if rerun.mode is RerunMode.FAILED or _keeps_its_items(rerun, job, run, named):
        return RerunStep.RETRY
    if is_cleared(job, run, operation.created_at):
        return RerunStep.NOTHING
    has_effects_due = run is not None and run.is_terminal and run.due_at is not None
    if is_under_way(job, run) or has_effects_due:  # the effects of its end come first
        return RerunStep.WAIT
    return RerunStep.NOTHING if stays(job, run) else RerunStep.CLEAR


def _keeps_its_items(rerun: Rerun, job: Job, run: Run | None, named: Collection[str]) -> bool:
    """Return whether only a run's dead items run again: it has items, and none of its parents runs again."""
    if rerun.mode is RerunMode.ALL or run is None or run.fan is None:
        return False
    return not any(parent.job_id in named for parent in job.spec.cycle_keys)


def _named(context: Context, operation: Operation, rerun: Rerun, run: Run | None) -> Collection[str]:
    """Return all jobs that a rerun names, if that matters for a run: it has items. Raises UnavailableError."""
    if run is None or run.fan is None:
        return operation.batch
    lists = [read_list(context, operation, rerun, number) for number in range(len(operation.lists))]
    return {*operation.batch, *(name for one in lists for name in one)}


def read_list(context: Context, operation: Operation, rerun: Rerun, number: int) -> tuple[str, ...]:
    """Return the jobs of a stored list of a rerun, by its number from 0; empty: it has no such list.

    Raises UnavailableError, also if the list is gone.
    """
    if number >= len(operation.lists):
        return ()
    name = JobKey(operation.key.tenant, rerun.job_id), operation.lists[number]
    (work,) = context.store.works.read([name])
    if work is None or work.payload is None:
        raise UnavailableError(f"a list of operation {operation.key.name} is not kept any more")
    return tuple(json.loads(work.payload))


def _retry(context: Context, operation: Operation, run: Run | None) -> None:
    if run is not None:
        _announce(context, operation, run)
        retry_dead(context, [run.id], operation.created_at, even_discarded=True)


def _announce(context: Context, operation: Operation, run: Run) -> None:
    resource = Resource(ResourceKind.RUN, str(run.id), run.id.job.job_id)
    announce(context, run.id.job.tenant, operation.actor, Action.RERUN, [resource])


def _cleared(context: Context, operation: Operation, job: Job, run: Run | None) -> bool:
    """Clear a job's run; return whether no other change came in between."""
    if job.spec.schedule.is_one_off:
        return _clear_job(context, operation, job)
    return run is None or _clear_run(context, operation, job, run)


def _clear_run(context: Context, operation: Operation, job: Job, run: Run) -> bool:
    """Clear the run of a recurring job."""
    now = max(context.clock.now(), operation.created_at)
    if run.state is not RunState.QUEUED:
        _announce(context, operation, run)
    (swapped,) = context.store.runs.swap([Swap(run, run_cleared(run, job, now))], now)
    if swapped.done and swapped.row is not None:
        resend_if_possible(context, [swapped.row])
    return swapped.done


def _clear_job(context: Context, operation: Operation, job: Job) -> bool:
    """Clear a one-off, which is planned anew at its former fire."""
    now = context.clock.now()
    after = job_cleared(job, operation.created_at, now)
    if not job.is_open:
        after = changed_by(after, Action.RERUN, operation.actor, now)
        context.store.changes.note([revision_of(job), change_announced(after)], now)
    return context.store.jobs.swap([Swap(job, after)], now)[0].done
