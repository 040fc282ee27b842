"""Bulk operations: made, moved on by the scan, cancelled.

An operation stands in the due index while it runs. A step deals with the jobs whose turn it is, and then swaps the row:
who died before that is repeated by the next, who finds done what is done. So it ends complete, whoever crashes.
"""

import logging
from collections.abc import Sequence

from timeball.domain.model.ids import JobKey, OperationKey
from timeball.domain.operations.operation import (
    MAX_TRIES,
    Failure,
    Fault,
    Operation,
    cancelled_operation,
    looked,
    treated,
)
from timeball.domain.time.instants import SECOND_MS
from timeball.engine.compare_and_swap import compare_and_swap
from timeball.engine.context import Context
from timeball.engine.listed import Page, read_page
from timeball.engine.operations.look import look
from timeball.engine.operations.rerun import UnderWayError
from timeball.engine.operations.treat import treat
from timeball.ports.collections.listing import ListQuery
from timeball.ports.errors import UnavailableError

log = logging.getLogger(__name__)

_AT_ONCE_MS = SECOND_MS
"""How long who asks for an operation waits for it: a small one is through by then."""


def create_operation(context: Context, operation: Operation) -> Operation | None:
    """Store an operation and begin it; return what stands under its name already, or None.

    Raises UnavailableError if it is unknown whether it was stored; it may then be repeated.
    """
    (standing,) = context.store.operations.insert([operation], context.clock.now())
    if standing is None:
        try:
            move_on(context, [operation], context.clock.now() + _AT_ONCE_MS)
        except Exception:
            log.exception("the operation is stored, and left to the scan")
    return standing


def cancel_operation(context: Context, operation: Operation) -> Operation:
    """Cancel an operation, as it was read; return it as it stands. One that is over stays so. Raises UnavailableError.

    A step that is under way goes on to its end, and counts.
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


def move_on(context: Context, operations: Sequence[Operation], stop_at: int) -> int:
    """Move each operation on, as it was read, until its next turn is later, or an instant has come; return the steps.

    Each makes one step at least, and a step ends soon after that instant. Raises UnavailableError.
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
    """① deal with the jobs whose turn it is ② look for the next ones if these are all ③ swap the row, which it returns.

    One that was cancelled meanwhile, or that somebody else has moved on, is left as they have left it.
    """
    now = context.clock.now()
    failures, count, is_stuck = _treat(context, begun, stop_at)
    found = look(context, begun) if begun.turn + count == len(begun.batch) and not is_stuck else None

    def moved_on(_: int, row: Operation) -> Operation | None:
        after = treated(row, begun, failures, count, now, is_stuck=is_stuck)
        return looked(after, found, now) if found is not None and after is not None and after.is_running else after

    (swapped,) = compare_and_swap(context.store.operations.swap, [begun], moved_on, context.clock.now())
    if not swapped.done or swapped.row is None:
        raise UnavailableError(f"operation {begun.key.name} kept changing")
    return swapped.row


def _treat(context: Context, operation: Operation, stop_at: int) -> tuple[Sequence[Failure], int, bool]:
    """Deal with jobs, one after the other; return the failures, how many were dealt with, and whether one could not be.

    One that could not be too often is a failure.
    """
    failures: list[Failure] = []
    for count, name in enumerate(operation.next_jobs):
        if count and context.clock.now() >= stop_at:
            return failures, count, False
        try:
            fault = treat(context, operation, JobKey(operation.key.tenant, name))
        except UnavailableError as unavailable:
            log.warning("left for later: %s", unavailable, extra={"job_id": name})
            if count or operation.tries + 1 < MAX_TRIES:
                return failures, count, True
            fault = Fault.UNDER_WAY if isinstance(unavailable, UnderWayError) else Fault.UNAVAILABLE
        except Exception:
            log.exception("an operation fails for a job", extra={"job_id": name})
            fault = Fault.INTERNAL
        if fault is not None:
            failures.append(Failure(name, fault))
    return failures, len(operation.next_jobs), False
