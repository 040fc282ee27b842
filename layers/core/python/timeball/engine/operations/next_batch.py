"""Find the next jobs of an operation: the listing names jobs, and each row decides, once, whether it matches.

Jobs are named in the order of their creation, whatever their status: a job that changes its status keeps its position.
"""

from collections.abc import Iterator, Sequence

from timeball.domain.model.ids import JobKey
from timeball.domain.operations.operation import JobPosition, NextBatch, Operation
from timeball.engine.context import Context
from timeball.engine.scheduling.list_jobs import JobFilter, name_jobs, shown_statuses
from timeball.ports.collections.listing import ListQuery

_AT_ONCE = 100


def read_next_batch(context: Context, operation: Operation) -> NextBatch:
    """Read again the jobs after a position, and a page of the jobs that follow. Raises UnavailableError.

    The jobs of a cycle were all named when the operation was asked for.
    """
    if operation.rerun is not None:
        return NextBatch((), operation.through, is_last=True)
    positions, is_last = _positions(context, operation)
    batch = frozenset(operation.batch)
    fresh = [position for position in positions if position.job_id not in batch or position > operation.through]
    return NextBatch(
        names=tuple(_meant(context, operation, fresh)), through=max([operation.through, *positions]), is_last=is_last
    )


def _positions(context: Context, operation: Operation) -> tuple[list[JobPosition], bool]:
    """Return what the listing names after `behind`, once each, and whether that is the end of the listing."""
    asked, after, found = _asked(operation), operation.behind, dict[JobPosition, None]()
    while True:
        position = after.at, JobKey(operation.key.tenant, after.job_id)
        query = ListQuery(asked.tenant, _AT_ONCE, to_at=operation.created_at, after=position, oldest_first=True)
        named = name_jobs(context, asked, query)
        found |= dict.fromkeys(JobPosition(at, key.job_id) for at, key in named)
        if len(named) < _AT_ONCE or JobPosition(named[-1][0], named[-1][1].job_id) > operation.through:
            return list(found), len(named) < _AT_ONCE
        after = JobPosition(named[-1][0], named[-1][1].job_id)


def _meant(context: Context, operation: Operation, positions: Sequence[JobPosition]) -> Iterator[str]:
    """Yield the jobs that match as they are now."""
    asked = _asked(operation)
    keys = [JobKey(operation.key.tenant, position.job_id) for position in positions]
    jobs = [job for job in context.store.jobs.read(keys) if job is not None]
    shown = shown_statuses(context, jobs) if asked.statuses else {}
    for job in jobs:
        is_in_status = bool(asked.statuses) or job.status in operation.statuses
        if is_in_status and asked.matches(job, shown.get(job.key, job.status)):
            yield job.key.job_id


def _asked(operation: Operation) -> JobFilter:
    match = operation.match
    return JobFilter(
        operation.key.tenant,
        statuses=frozenset() if match.status is None else frozenset({match.status}),
        rows=operation.statuses,
        tags=tuple(match.tags.items()),
        task_id=match.task_id,
    )
