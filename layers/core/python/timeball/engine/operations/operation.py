"""Bulk operations: create them, advance them in the scan, cancel them.

An operation is in the due index while it runs. A step handles the next jobs of the batch, and then swaps the row. If a
process dies before the swap, the next one repeats the step and finds done what is done. So each operation completes.
"""

import logging
from collections.abc import Sequence

from timeball.domain.model.ids import JobKey, OperationKey
from timeball.domain.operations.operation import (
    MAX_TRIES,
    Failure,
    JobFault,
    Operation,
    cancelled_operation,
    progressed,
    with_next_batch,
)
from timeball.domain.time.instants import SECOND_MS
from timeball.engine.compare_and_swap import compare_and_swap
from timeball.engine.context import Context
from timeball.engine.listed import Page, read_page
from timeball.engine.operations.apply import apply_to_job
from timeball.engine.operations.next_batch import read_next_batch
from timeball.engine.operations.rerun import UnderWayError
from timeball.ports.collections.listing import ListQuery
from timeball.ports.errors import UnavailableError

log = logging.getLogger(__name__)

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
