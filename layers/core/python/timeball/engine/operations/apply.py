"""Apply an operation to one job, in its user's name, and only once however often the step is repeated.

A change names its operation, and so do the revisions that are kept: an operation that finds itself among them leaves
the job as later changes have made it. A trigger is a request under the operation's name, and a retry one of its
instant.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.job import Change, Job, JobStatus
from timeball.domain.model.jobs.revision import revision_of
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.tenants.actor import Action, Actor, Resource, ResourceKind
from timeball.domain.operation import JobFault, Operation, OperationAction
from timeball.engine.changes.change import Changed, ChangeOutcome, Request, pause, resume
from timeball.engine.changes.history import announce
from timeball.engine.changes.remove import Removal, remove
from timeball.engine.compare_and_swap import TRIES
from timeball.engine.context import Context
from timeball.engine.operations.recover import recover_job
from timeball.engine.operations.rerun import rerun_one
from timeball.engine.runs.manual import had_ended_by, is_to_be_retried, retry_dead
from timeball.engine.runs.trigger import Trigger, Triggering, trigger
from timeball.ports.collections import LedgerQuery
from timeball.ports.errors import ContendedError

_Change = Callable[[Context, Sequence[Request], Actor], list[Changed]]

_CHANGES: Mapping[OperationAction, _Change] = {
    OperationAction.PAUSE: pause,
    OperationAction.RESUME: resume,
}
_REVISIONS = 20
"""How many revisions of a job are read at once."""
_RUNS = 10
"""How many runs of a job are read at once."""
_RAN = frozenset(RunState) - {RunState.SKIPPED}


def apply_to_job(context: Context, operation: Operation, key: JobKey) -> JobFault | None:
    """Apply the operation to a job; return why not, or None if it is done. Raises UnavailableError; may be repeated."""
    if operation.action is OperationAction.TRIGGER:
        return _triggered(context, operation, key)
    if operation.since is not None:
        return recover_job(context, operation, operation.since, key)
    if operation.rerun is not None:
        return rerun_one(context, operation, operation.rerun, key)
    if operation.action is OperationAction.RETRY:
        return _retried(context, operation, key)
    return _changed(context, operation, key)


def _changed(context: Context, operation: Operation, key: JobKey) -> JobFault | None:
    """Change a job as it was read, unless the operation has done so before."""
    for _ in range(TRIES):
        (job,) = context.store.jobs.read([key])
        if job is None:
            return JobFault.JOB_GONE
        if _has_changed(context, operation, job):
            return None  # a scan finishes what is left of it
        changed = _change(context, operation, (key, job.version))
        if changed is None:
            return JobFault.HAS_CHILDREN
        if changed.outcome is not ChangeOutcome.STALE:
            return None if changed.outcome is ChangeOutcome.DONE else JobFault.JOB_ENDED
    raise ContendedError(f"job {key.job_id} kept changing")


def _change(context: Context, operation: Operation, asked: Request) -> Changed | None:
    """Change a job; None: it is not cancelled, because other jobs depend on it."""
    if operation.action is OperationAction.CANCEL:
        return remove(context, Removal(*asked, operation.children), operation.actor).changed
    return _CHANGES[operation.action](context, [asked], operation.actor)[0]


def _has_changed(context: Context, operation: Operation, job: Job) -> bool:
    """Return whether an operation has changed a job, whatever later changes did."""
    since_at = operation.created_at - context.rules.margin_ms
    for change in _changes(context, job):
        if change.by.operation == operation.key.name:
            return True
        if change.at < since_at:
            return False
    return False


def _changes(context: Context, job: Job) -> Iterator[Change]:
    """Yield the changes that made a job, the newest first, as far as they are kept."""
    yield job.change
    oldest = revision_of(job)
    while kept := context.store.changes.of_job(evolve(oldest.id, version=oldest.version - 1), _REVISIONS):
        yield from (one.change for one in kept)
        oldest = kept[-1]


def _triggered(context: Context, operation: Operation, key: JobKey) -> JobFault | None:
    request = f"operation {operation.key.name}"
    (done,) = trigger(
        context, [Trigger(key, request=request, fingerprint=request, depth=operation.depth)], operation.actor
    )
    if done.outcome is Triggering.NOT_FOUND:
        return JobFault.JOB_GONE
    return JobFault.JOB_CANCELLED if done.outcome is Triggering.CANCELLED else None


def _retried(context: Context, operation: Operation, key: JobKey) -> JobFault | None:
    """Retry the newest run that had ended when the operation was asked for, if it is a dead letter.

    Runs that end later are ignored: a repeat names the same run again, and finds it retried.
    """
    (job,) = context.store.jobs.read([key])
    if job is None or job.status is JobStatus.CANCELLED:
        return JobFault.JOB_GONE if job is None else JobFault.JOB_CANCELLED
    run = next((one for one in _ran(context, key) if had_ended_by(one, operation.created_at)), None)
    if run is not None and is_to_be_retried(run, operation.created_at):
        resource = Resource(ResourceKind.RUN, str(run.id), key.job_id)
        announce(context, key.tenant, operation.actor, Action.RETRY, [resource])
        retry_dead(context, [run.id], operation.created_at)
    return None


def _ran(context: Context, key: JobKey) -> Iterator[Run]:
    """Yield the runs of a job that were not skipped, the newest first."""
    page = context.store.runs.ledger(LedgerQuery(key, _RUNS, states=_RAN))
    yield from page.runs
    while page.next_before is not None:
        page = context.store.runs.ledger(LedgerQuery(key, _RUNS, states=_RAN, before=page.next_before))
        yield from page.runs
