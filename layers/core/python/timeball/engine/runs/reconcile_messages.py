"""Reconcile a message that the queue gave up on with the run's row, which alone decides. Then the message may go.

A queue gives up on a message that came back too often. That says nothing about the run: it may have ended, or run well.
A run that still waits goes back into the due index, and only its own count makes it fail as undeliverable.
"""

import logging
from collections.abc import Sequence
from functools import partial

from timeball.domain.ends.effects import guarantor_of
from timeball.domain.model.ids import RunId
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.guarantor import Guarantor
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.runs.transitions import due_again, ended
from timeball.engine.compare_and_swap import compare_and_swap
from timeball.engine.context import Context
from timeball.engine.runs.on_run_end import change_runs, on_run_end
from timeball.engine.runs.overlap_lock import needs_lock

log = logging.getLogger(__name__)

MAX_DELIVERY_FAILURES = 5
"""How often the queue may give up on a queued run before the run fails."""


def reconcile_messages(context: Context, ids: Sequence[RunId]) -> list[bool]:
    """Let each run continue without its message; return whether each message may go. Raises UnavailableError."""
    rows = [row for row in context.store.runs.read(list(dict.fromkeys(ids))) if row is not None]
    read = context.store.jobs.read([row.id.job for row in rows])
    jobs = {row.id: job for row, job in zip(rows, read, strict=True)}
    on_run_end(context, [(row, jobs[row.id]) for row in rows])
    now = context.clock.now()

    def without(_: int, run: Run) -> Run | None:
        return _without_message(run, jobs[run.id], now, context)

    standing = compare_and_swap(partial(change_runs, context, jobs), rows, without, now)
    contended = {row.id for row, one in zip(rows, standing, strict=True) if not one.done}
    return [run_id not in contended for run_id in ids]


def _without_message(run: Run, job: Job | None, now: int, context: Context) -> Run | None:
    """Return the new state of the run, or None if it has ended or is withdrawn."""
    match run.state:
        case _ if run.stands_in_line:
            return run  # unchanged, but written anew: an admission that was sent and is not noted yet is repeated
        case RunState.QUEUED | RunState.RUNNING | RunState.RETRYING if run.due_at is not None:
            return due_again(run, run.due_at)  # no failure is counted; a scan about to drop the key must read again
        case RunState.RUNNING:
            return due_again(run, max((run.lease_until or 0) + context.rules.margin_ms, now))
        case RunState.QUEUED if _waits_for_lock(run, job):
            return due_again(run, max(now + context.rules.lease_ms, run.not_before))
        case RunState.QUEUED | RunState.RETRYING if run.delivery_failures + 1 >= MAX_DELIVERY_FAILURES:
            log.error("run failed: its message is undeliverable", extra={"run_id": str(run.id)})
            return ended(run, RunState.FAILED, now, guarantor_of(run, job, Guarantor.MESSAGE), Reason.UNDELIVERABLE)
        case RunState.QUEUED | RunState.RETRYING:
            backoff_ms = context.rules.lease_ms * 2**run.delivery_failures
            return due_again(run, max(now + backoff_ms, run.not_before), run.delivery_failures + 1)
        case _:
            return None


def _waits_for_lock(run: Run, job: Job | None) -> bool:
    """Return whether a run was only given back because another holds the overlap lock: it started without one."""
    return job is not None and not run.is_unstarted and needs_lock(run, job) and job.holder not in (None, run.id)
