"""Repair what a lost message leaves undone: read sent runs again, and reconcile messages that the queue gave up on.

Each send also puts a watch on a queue of its own. The watch comes back some seconds after the run's instant, and then
at growing intervals, until its runs have ended or are in the due index. It sends a run again if its message was lost,
carries out the missing effects of an end, and notes that a run is late. Otherwise it costs no write. The reads are as
cheap as possible, because the claim refuses any action that is based on an old reading. A queue that is full of
messages has lost none: its executors are behind, and nothing is added to it.

A queue gives up on a message that came back too often. That says nothing about the run: it may have ended, or run well.
The run's row alone decides. A run that still waits goes back into the due index, and only its own count makes it fail
as undeliverable. Then the message may go.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from timeball.domain.attempts.watch import Finding, find, pause_ms
from timeball.domain.model.ids import RunId
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.notable import is_slow, noted
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.runs.transitions import due_again, ended
from timeball.domain.model.runs.values import Guarantor
from timeball.domain.run_ends.effects import guarantor_of
from timeball.domain.time.instants import SECOND_MS
from timeball.engine.batches import bisect
from timeball.engine.compare_and_swap import compare_and_swap
from timeball.engine.context import Context
from timeball.engine.metrics import watched
from timeball.engine.runs.effects import apply_effects, change_runs
from timeball.engine.runs.overlap_lock import needs_lock
from timeball.engine.runs.waiting_lines import expect
from timeball.ports.queue import Watch
from timeball.ports.rows import Swap

log = logging.getLogger(__name__)

_KEEPS_UP = 100
"""How many messages may wait in a queue whose executors keep up."""

_BISECT_MS = 20 * SECOND_MS
_ABSENT_ROUNDS = 3
"""A row that was absent lately may have been written just before; a row that stays absent has expired."""

MAX_DELIVERY_FAILURES = 5
"""How often the queue may give up on a queued run before the run fails."""


def _watch_on(context: Context, left: Sequence[tuple[Watch, Watch]]) -> list[Watch]:
    """Send the watches that follow others; return the watches that are replaced."""
    watched = context.queue.watch([after for _, after in left])
    return [watch for (watch, _), done in zip(left, watched, strict=True) if done]


def _recheck(context: Context, runs: Sequence[RunId]) -> dict[RunId, Finding | None]:
    """Do what is missing for each run, and return what was found; None if there is no such row."""
    now = context.clock.now()
    horizon_at = now + context.rules.lookahead_ms + context.rules.margin_ms
    rows = {row.id: row for row in context.store.runs.read(runs, strong=False) if row is not None}
    found = {row.id: find(row, now, horizon_at, context.rules.margin_ms) for row in rows.values()}
    _carry_out_ends(context, [rows[run] for run, finding in found.items() if finding is Finding.OVER])
    _send_again(context, [rows[run] for run, finding in found.items() if finding is Finding.LOST], now)
    expect(context, [rows[run] for run, finding in found.items() if finding is Finding.IN_LINE])
    _note_late(context, rows.values(), now)
    return {run: found.get(run) for run in runs}


def _following(watch: Watch, found: Mapping[RunId, Finding | None], now: int) -> Watch | None:
    """Return the next watch over the remaining runs of a watch, or None if there are none."""
    absent = Finding.ON_ITS_WAY if watch.round_number < _ABSENT_ROUNDS else Finding.KEPT
    findings = {run: found.get(run, Finding.ON_ITS_WAY) or absent for run in watch.runs}
    left = tuple(run for run, finding in findings.items() if finding in (Finding.ON_ITS_WAY, Finding.LOST))
    return Watch(left, now + pause_ms(watch.round_number), watch.round_number + 1) if left else None


def _send_again(context: Context, lost: Sequence[Run], now: int) -> None:
    """Send lost runs. The watch that found them continues, so no other is made."""
    if not lost:
        return
    behind = {
        priority for priority in {run.priority for run in lost} if context.queue.depth(priority).waiting > _KEEPS_UP
    }
    sending = [run for run in lost if run.priority not in behind]
    if sending:
        log.warning("%d runs are sent again: no executor claimed them", len(sending))
        context.queue.send(sending, now)
    watched(context, lost, len(sending))


def _note_late(context: Context, rows: Iterable[Run], now: int) -> None:
    """Note the runs that are late. A run that was claimed meanwhile is not: its row refuses the note."""
    late = [row for row in rows if row.state is RunState.QUEUED and is_slow(row, now)]
    context.store.runs.swap([Swap(row, noted(row)) for row in late], now)


def _carry_out_ends(context: Context, over: Sequence[Run]) -> None:
    """Carry out the effects of ended runs whose jobs seem not to know of them."""
    jobs = context.store.jobs.read([run.id.job for run in over], strong=False)
    apply_effects(context, list(zip(over, jobs, strict=True)))


def recheck(context: Context, watches: Sequence[Watch]) -> list[bool]:
    """Check each watched run; return for each watch whether its message may go, because another one replaces it.

    A run that cannot be read at the moment stops no other: it is watched again. If no run of a watch can be read, the
    watch comes again.

    Order of writes of recheck (the watch):

    1. Carry out effects of an end that the job does not know of; send again the runs whose messages are lost; make
       limiters due that do not know of a waiting run; note the runs that are late.
    2. Watch the runs again that are not over, after a pause that doubles.
    3. Delete the watch.

    Safe: it reads, and writes only what is missing; if the message was not lost after all, the claim drops the second
    one.
    """
    stop_at = context.clock.now() + _BISECT_MS
    runs = list(dict.fromkeys(run for watch in watches for run in watch.runs))
    parts, _ = bisect(partial(_recheck, context), runs, context.clock, stop_at)
    found = {run: finding for part in parts for run, finding in part.items()}
    now = context.clock.now()
    seen = [watch for watch in dict.fromkeys(watches) if not found.keys().isdisjoint(watch.runs)]
    left = [(watch, after) for watch in seen if (after := _following(watch, found, now)) is not None]
    followed, _ = bisect(partial(_watch_on, context), left, context.clock, stop_at)
    gone = (set(seen) - {watch for watch, _ in left}).union(*followed)
    return [watch in gone for watch in watches]


def reconcile_messages(context: Context, ids: Sequence[RunId]) -> list[bool]:
    """Let each run continue without its message; return whether each message may go. Raises UnavailableError.

    Order of writes of reconcile messages (that a queue gave up on):

    1. Swap the run by its row: back into the due index after a backoff; `failed` the fifth time.

    Safe: that a queue gave up says nothing about the run.
    """
    rows = [row for row in context.store.runs.read(list(dict.fromkeys(ids))) if row is not None]
    read = context.store.jobs.read([row.id.job for row in rows])
    jobs = {row.id: job for row, job in zip(rows, read, strict=True)}
    apply_effects(context, [(row, jobs[row.id]) for row in rows])
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
