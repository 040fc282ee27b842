"""Cancel a job on which others depend: its open children are detached from it, or cancelled with it, or it stays.

A job without open children is cancelled like any other job.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from timeball.domain.dependencies.removal import is_lost
from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.job import Job, JobStatus
from timeball.domain.model.tenants.actor import NO_ACTOR, Actor
from timeball.domain.model.terms.dependency import Children
from timeball.engine.changes.change import Changed, ChangeOutcome, cancel, detach
from timeball.engine.changes.reconcile import UnfinishedError
from timeball.engine.context import Context
from timeball.engine.dependencies.examine import ANY, naming_any
from timeball.engine.dependencies.walking import WALK_MS
from timeball.ports.errors import ContendedError, UnavailableError

_CALL_MS = 8_000
"""How long one call begins to change more children."""


class TooDeepError(UnavailableError):
    """The descendants of a job form more levels than one call can read."""


@dataclass(frozen=True)
class Removal:
    """A job to cancel, and what to do with its children."""

    job: JobKey
    """The job."""
    version: int | None = None
    """The version that it must have; None: any."""
    children: Children | None = None
    """The effect on its open children; None: it is not cancelled if it has any."""
    within: Mapping[str, str] = field(default_factory=lambda: ANY)
    """The tags of the jobs that the caller may see and change."""


@dataclass(frozen=True)
class Removed:
    """The change of the job; None: nothing was changed, because of the open jobs in `refused_for`."""

    changed: Changed | None
    refused_for: tuple[Job, ...] = ()
    """The open jobs that depend on the job."""


def remove(context: Context, asked: Removal, by: Actor = NO_ACTOR) -> Removed:
    """Cancel a job, after its children if it has any. Raises UnavailableError, as `cancel` does, and TooDeepError.

    A job is refused for its open children if nothing is said about them, or if the caller may not see all of those that
    would be changed.

    Order of writes of remove (a job on which others depend):

    1. Detach each open child; or cancel the descendants that no remaining parent can let run, the last ones that were
       found first. Each is a change of its own.
    2. Cancel the job.

    Safe: until step 2 the job goes on, so no child ends because its parent was cancelled; a repeat finds the children
    that are left, and ends in the same state.
    """
    (job,) = context.store.jobs.read([asked.job])
    if job is None or not _concerns_children(job, asked):
        return _cancelled(context, asked, by)
    children = _open_children(context, [job.key])
    affected = [*_descendants(context, job)] if asked.children is Children.CANCEL else children
    refused = _refused(asked, children, affected)
    if refused:
        return Removed(None, refused)
    if asked.children is Children.CANCEL:
        _cancel_all(context, affected[::-1], by)
    else:
        _detach_all(context, affected, job.key, by)
    return _cancelled(context, asked, by)


def _concerns_children(job: Job, asked: Removal) -> bool:
    """Say whether a cancel looks for children: a job that was cancelled before has left its children as they are."""
    if not job.has_children or asked.version not in (None, job.version):
        return False
    return job.is_open or (job.status is JobStatus.CANCELLED and asked.children is not None)


def _refused(asked: Removal, children: Sequence[Job], affected: Sequence[Job]) -> tuple[Job, ...]:
    """Return the jobs for which a cancel is refused; empty: it is not."""
    unseen = [one for one in affected if not asked.within.items() <= one.spec.tags.items()]
    if asked.children is not None and not unseen:
        return ()
    return tuple({one.key: one for one in (*children, *unseen)}.values())


def _cancelled(context: Context, asked: Removal, by: Actor) -> Removed:
    return Removed(cancel(context, [(asked.job, asked.version)], by)[0])


def _open_children(context: Context, parents: Sequence[JobKey]) -> list[Job]:
    """Read the open jobs that depend on jobs. Raises UnavailableError."""
    keys = dict.fromkeys(child for page in context.store.edges.children(parents) for child in page)
    rows = context.store.jobs.read(list(keys)) if keys else []
    return [row for row in naming_any(rows, parents) if row.is_open]


def _descendants(context: Context, job: Job) -> Iterator[Job]:
    """Yield the open descendants of a job that no remaining parent can let run, each after those that it depends on.

    A job whose other parents are found later is judged again then.
    """
    removed, level = {job.key}, [job]
    rows: dict[JobKey, Job | None] = {}
    undecided: dict[JobKey, Job] = {}
    stop_at = context.clock.now() + WALK_MS
    while level:
        if context.clock.now() >= stop_at:
            raise TooDeepError(f"the descendants of job {job.key.job_id} form too many levels")
        found = _open_children(context, [one.key for one in level if one.has_children])
        undecided |= {row.key: row for row in found if row.key not in removed}
        rows |= undecided
        rows |= _other_parents(context, undecided.values(), rows.keys() | removed)
        now = context.clock.now()
        level = [one for one in undecided.values() if is_lost(one, removed, rows, now)]
        for one in level:
            removed.add(one.key)
            del undecided[one.key]
            yield one


def _other_parents(
    context: Context, jobs: Iterable[Job], known: Collection[JobKey]
) -> Iterable[tuple[JobKey, Job | None]]:
    """Read the parents of jobs that are not known yet. Raises UnavailableError."""
    unread = list(dict.fromkeys(key for one in jobs for key in one.spec.parent_keys if key not in known))
    return zip(unread, context.store.jobs.read(unread) if unread else [], strict=True)


def _detach_all(context: Context, children: Sequence[Job], parent: JobKey, by: Actor) -> None:
    stop_at = context.clock.now() + _CALL_MS
    for child in children:
        _check_time(context, stop_at)
        detach(context, [child.key], parent, by)


def _cancel_all(context: Context, jobs: Sequence[Job], by: Actor) -> None:
    stop_at = context.clock.now() + _CALL_MS
    for job in jobs:
        _check_time(context, stop_at)
        (changed,) = cancel(context, [(job.key, job.version)], by)
        if changed.outcome is ChangeOutcome.STALE:
            raise ContendedError(f"job {job.key.job_id}, which depends on a cancelled one, has changed; ask again")


def _check_time(context: Context, stop_at: int) -> None:
    """Raise UnfinishedError once a call has taken too long: its repeat goes on with the jobs that are left."""
    if context.clock.now() >= stop_at:
        raise UnfinishedError("more jobs depend on the cancelled one than one call can change")
