"""Bulk operations: create them, advance them in the scan, cancel them.

An operation is in the due index while it runs. A step handles the next jobs of the batch, and then swaps the row. If a
process dies before the swap, the next one repeats the step and finds done what is done. So each operation completes.

The listing names the next jobs, and each row decides, once, whether it matches. Jobs are named in the order of their
creation, whatever their status: a job that changes its status keeps its position.
"""

import logging
from collections.abc import Iterator, Sequence

from timeball.domain.model.ids import JobKey, OperationKey
from timeball.domain.operation import (
    MAX_TRIES,
    Failure,
    JobFault,
    JobPosition,
    NextBatch,
    Operation,
    cancelled_operation,
    progressed,
    with_next_batch,
)
from timeball.domain.time.instants import SECOND_MS
from timeball.engine.compare_and_swap import compare_and_swap
from timeball.engine.context import Context
from timeball.engine.filtered_pages import Page, read_page
from timeball.engine.operations.apply import apply_to_job
from timeball.engine.operations.rerun import UnderWayError, read_list
from timeball.engine.scheduling.list_jobs import JobFilter, name_jobs, shown_statuses
from timeball.ports.errors import UnavailableError
from timeball.ports.rows import ListQuery

log = logging.getLogger(__name__)

_AT_ONCE = 100

_AT_ONCE_MS = SECOND_MS
"""How long the request that creates an operation works on it: a small operation is finished by then."""


def create_operation(context: Context, operation: Operation) -> Operation | None:
    """Store an operation and begin it; return the operation that exists under its name already, or None.

    Raises UnavailableError if it is unknown whether it was stored; the caller may then repeat it.
    """
    (standing,) = context.store.operations.insert([operation], context.clock.now())
    if standing is None:
        try:
            advance_operations(context, [operation], context.clock.now() + _AT_ONCE_MS)
        except Exception:
            log.exception("the operation is stored, and left to the scan")
    return standing


def cancel_operation(context: Context, operation: Operation) -> Operation:
    """Cancel an operation, as it was read; return it as it stands. Raises UnavailableError.

    An ended operation stays so. A step that is under way runs to its end, and counts.
    """
    now = context.clock.now()

    def cancelled(_: int, row: Operation) -> Operation | None:
        return cancelled_operation(row, now) if row.is_running else None

    (swapped,) = compare_and_swap(context.store.operations.swap, [operation], cancelled, now)
    if not swapped.done or swapped.row is None:
        raise UnavailableError(f"operation {operation.key.name} kept changing; cancel it again")
    return swapped.row


def list_operations(
    context: Context, tenant: str, limit: int, after: tuple[int, OperationKey] | None = None
) -> Page[Operation, OperationKey]:
    """Return a page of a tenant's operations, the newest first. Raises UnavailableError."""

    def name(at_once: int, behind: tuple[int, OperationKey] | None) -> Sequence[tuple[int, OperationKey]]:
        return context.store.operations.listed(ListQuery(tenant, at_once, after=behind))

    return read_page(name, context.store.operations.read, limit, after)


def advance_operations(context: Context, operations: Sequence[Operation], stop_at: int) -> int:
    """Advance each operation, as it was read, until its next step is later, or until `stop_at`; return the steps.

    Each makes one step at least, and a step ends soon after `stop_at`. Raises UnavailableError.

    Order of writes of advance operations:

    1. Process the jobs of the batch, each by its own verb, in the name of the operation's caller.
    2. Read the next jobs.
    3. Swap the operation: its counts, its next batch, due at its pace; or ended.

    Safe: the batch is named before it is processed: a repeat of step 1 recognizes finished jobs by the operation's name
    in the job's revisions, on the run's request, or by the run's budget (ADR 24).
    """
    steps = 0
    for operation in operations:
        following = _step(context, operation, stop_at)
        steps += 1
        while following.is_next(context.clock.now()) and context.clock.now() < stop_at:
            following = _step(context, following, stop_at)
            steps += 1
    return steps


def _step(context: Context, begun: Operation, stop_at: int) -> Operation:
    """Make one step: ① handle the next jobs of the batch ② at its end, find more ③ swap the row, which is returned.

    If the operation was cancelled meanwhile, or another process has advanced it, it stays as it stands.
    """
    now = context.clock.now()
    failures, count, is_stuck = _apply_to_jobs(context, begun, stop_at)
    found = read_next_batch(context, begun) if begun.position + count == len(begun.batch) and not is_stuck else None

    def moved_on(_: int, row: Operation) -> Operation | None:
        after = progressed(row, begun, failures, count, now, is_stuck=is_stuck)
        return (
            with_next_batch(after, found, now)
            if found is not None and after is not None and after.is_running
            else after
        )

    (swapped,) = compare_and_swap(context.store.operations.swap, [begun], moved_on, context.clock.now())
    if not swapped.done or swapped.row is None:
        raise UnavailableError(f"operation {begun.key.name} kept changing")
    return swapped.row


def _apply_to_jobs(context: Context, operation: Operation, stop_at: int) -> tuple[Sequence[Failure], int, bool]:
    """Handle jobs one by one; return the failures, how many were handled, and whether one must be tried again.

    A job that failed too often to be tried again is a failure.
    """
    failures: list[Failure] = []
    for count, name in enumerate(operation.next_jobs):
        if count and context.clock.now() >= stop_at:
            return failures, count, False
        try:
            fault = apply_to_job(context, operation, JobKey(operation.key.tenant, name))
        except UnavailableError as unavailable:
            log.warning("left for later: %s", unavailable, extra={"job_id": name})
            if count or operation.tries + 1 < MAX_TRIES:
                return failures, count, True
            fault = JobFault.UNDER_WAY if isinstance(unavailable, UnderWayError) else JobFault.UNAVAILABLE
        except Exception:
            log.exception("an operation fails for a job", extra={"job_id": name})
            fault = JobFault.INTERNAL
        if fault is not None:
            failures.append(Failure(name, fault))
    return failures, len(operation.next_jobs), False


def read_next_batch(context: Context, operation: Operation) -> NextBatch:
    """Read again the jobs after a position, and a page of the jobs that follow. Raises UnavailableError.

    The jobs of a cycle were all listed when the operation was asked for.
    """
    if operation.rerun is not None:
        names = read_list(context, operation, operation.rerun, operation.listed + 1)
        return NextBatch(names, operation.through, is_last=not names)
    positions, is_last = _positions(context, operation)
    batch = frozenset(operation.batch)
    fresh = [position for position in positions if position.job_id not in batch or position > operation.through]
    return NextBatch(
        names=tuple(_meant(context, operation, fresh)), through=max([operation.through, *positions]), is_last=is_last
    )


def _positions(context: Context, operation: Operation) -> tuple[list[JobPosition], bool]:
    """Return what the listing names after `behind`, once each, and whether that is the end of the listing."""
    asked, after, found = _asked(operation), operation.behind, dict[JobPosition, None]()
    # A job that a fast clock has created may have lost rows, too.
    to_at = operation.created_at + (0 if operation.since is None else context.rules.margin_ms)
    while True:
        position = after.at, JobKey(operation.key.tenant, after.job_id)
        query = ListQuery(asked.tenant, _AT_ONCE, to_at=to_at, after=position, oldest_first=True)
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
