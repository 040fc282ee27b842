"""Backfills: made, moved on by the scan, cancelled. The live schedule of the job is never touched.

A backfill stands in the due index until its last fire has a row, and is advanced last: a repeat of any step ends in the
same rows. A cancelled one stands there until its runs are stopped, and what a slow scan may still insert has rows that
refuse it.
"""

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from timeball.domain.backfills.backfill import (
    Backfill,
    BackfillPlan,
    BackfillStatus,
    admitted,
    backfill_run,
    cancelled_backfill,
    passed_over,
    plan_backfill,
    possible_runs,
    refused_runs,
    skipped_backfill_run,
    started,
    stopped_backfill,
    waiting,
)
from timeball.domain.model.guarantor import Guarantor
from timeball.domain.model.ids import BackfillKey, RunId
from timeball.domain.model.job import JobStatus
from timeball.domain.model.policies import OverlapPolicy
from timeball.domain.model.reason import Reason
from timeball.domain.model.run import Run, RunState
from timeball.domain.model.transitions import asked_to_stop, ended
from timeball.domain.time.instants import LATEST
from timeball.engine.backfills.slots import free_slots, take_slots
from timeball.engine.compare_and_swap import compare_and_swap
from timeball.engine.context import Context
from timeball.engine.metrics import skipped
from timeball.engine.runs.send import send
from timeball.ports.errors import UnavailableError
from timeball.ports.queue import Dispatch
from timeball.ports.rows import Swap, Swapped

log = logging.getLogger(__name__)

_STARTS = 100
"""How many runs are started together."""


@dataclass
class _Move:
    """A plan on its way into the store: of a backfill as it was read, and as it is with its slot.

    `last` is the run whose end it may have to wait for. `whole` turns False when something of it is unknown.
    """

    read: Backfill
    backfill: Backfill
    last: Run | None
    plan: BackfillPlan
    whole: bool = True


def create_backfills(context: Context, backfills: Sequence[Backfill]) -> list[Backfill]:
    """Store each backfill, and start it; return what stands under its name, which may be an earlier one.

    Raises UnavailableError if it is unknown whether it was stored; it may then be repeated.
    """
    now = context.clock.now()
    standing = context.store.backfills.insert(backfills, now)
    created = [backfill for backfill, found in zip(backfills, standing, strict=True) if found is None]
    try:
        if created:
            move_on(context, created)
    except Exception:
        log.exception("backfills are stored, and left to the scan")
    return [found or backfill for backfill, found in zip(backfills, standing, strict=True)]


def _portions(backfills: Iterable[Backfill]) -> Iterator[list[Backfill]]:
    """Yield as many at a time as may start together: so many that not too many runs do."""
    portion: list[Backfill] = []
    for one in backfills:
        if portion and sum(other.most_at_once for other in portion) + one.most_at_once > _STARTS:
            yield portion
            portion = []
        portion.append(one)
    if portion:
        yield portion


def move_on(context: Context, backfills: Sequence[Backfill], stop_at: int = LATEST) -> int:
    """Move each due, open backfill on; return how many were. One that is not moved now is found again.

    ① slots for those that wait ② skipped rows, stops, runs ③ messages ④ swap: the next fire, the next look, or the
    end of one whose job is gone ⑤ the slots of those that are over. Each is a request, or a few, for all together; but
    where many runs start, ② and ③ are done for some at a time, and from `stop_at` (ms) on for no more of them.
    Raises UnavailableError; what was begun may be begun again.
    """
    now = context.clock.now()
    jobs = list({one.key.job: None for one in backfills})
    over = {
        key
        for key, job in zip(jobs, context.store.jobs.read(jobs), strict=True)
        if job is None or job.status is JobStatus.CANCELLED
    }
    going = [one for one in backfills if one.key.job not in over]
    asking = [one for one in going if one.status is BackfillStatus.WAITING]
    holds = take_slots(context, asking)
    patient = [one for one in asking if holds.get(one.key) is False]
    turns = [one for one in going if one.status is not BackfillStatus.WAITING or holds.get(one.key)]
    moves: list[_Move] = []
    for portion in _portions(turns):
        if not moves or context.clock.now() < stop_at:
            moves += _begun(context, portion, now)
    swaps = [Swap(one, cancelled_backfill(one, now)) for one in backfills if one.key.job in over]
    swaps += [Swap(one, waiting(one, now)) for one in patient]
    swaps += [Swap(move.read, move.plan.after) for move in moves if move.whole and move.plan.after is not None]
    swapped = context.store.backfills.swap(swaps, now) if swaps else []
    done = [swap.after for swap, outcome in zip(swaps, swapped, strict=True) if outcome.done]
    free_slots(context, {one.key.job.tenant for one in done if one.status is BackfillStatus.COMPLETED})
    return len(done)


def cancel_backfill(context: Context, key: BackfillKey) -> tuple[Backfill | None, tuple[RunId, ...]]:
    """Cancel a backfill; return it as it stands, None if there is none, and its runs that were asked to stop.

    One that is completed stays so; its live runs are stopped all the same. Raises UnavailableError.
    """
    backfill = context.store.backfills.read([key])[0]
    if backfill is None:
        return None, ()
    now = context.clock.now()

    def cancelled(_: int, row: Backfill) -> Backfill | None:
        return cancelled_backfill(row, now) if row.is_open else None

    (swapped,) = compare_and_swap(context.store.backfills.swap, [backfill], cancelled, now)
    if not swapped.done or swapped.row is None:
        raise UnavailableError(f"backfill {key.name} kept changing; cancel it again")
    stopped = _stop_runs(context, swapped.row)
    free_slots(context, [key.job.tenant])
    return stopped


def stop_backfill(context: Context, backfill: Backfill) -> tuple[RunId, ...]:
    """Stop a backfill of a job that is cancelled, as it was read; return its runs that were asked to stop.

    One that is completed stays so, and holds no slot: only its runs are stopped. Raises UnavailableError.
    """
    if backfill.status is BackfillStatus.COMPLETED:
        return _stop_runs(context, backfill)[1]
    return cancel_backfill(context, backfill.key)[1]


def _begun(context: Context, backfills: Sequence[Backfill], now: int) -> list[_Move]:
    """Plan backfills that hold a slot, and write and send what their plans say."""
    moves = _planned(context, backfills, now)
    _skip(context, moves, now)
    _stop(context, [move.last for move in moves if move.plan.stop_last and move.last is not None], Reason.REPLACED, now)
    _start(context, moves, now)
    return moves


def _planned(context: Context, backfills: Sequence[Backfill], now: int) -> list[_Move]:
    """Plan backfills that hold a slot, by their last runs if they may have to wait for those."""
    waits_for: dict[BackfillKey, RunId] = {
        one.key: one.last_run
        for one in backfills
        if one.overlap is not OverlapPolicy.ALLOW and one.last_run is not None
    }
    rows = context.store.runs.read(list(waits_for.values())) if waits_for else []
    lasts = dict(zip(waits_for, rows, strict=True))
    moves = []
    for one in backfills:
        backfill, last = admitted(one, now), lasts.get(one.key)
        moves.append(_Move(one, backfill, last, plan_backfill(backfill, last, now)))
    return moves


def _skip(context: Context, moves: Sequence[_Move], now: int) -> None:
    """Skip the fires that plans skip; one whose row says otherwise was started by an earlier plan, and is again."""
    rows = {
        run.id: (move, run)
        for move in moves
        if move.plan.skip is not None
        for run in [skipped_backfill_run(move.backfill, move.plan.skip, now)]
    }
    standing = context.store.runs.insert([run for _, run in rows.values()], now) if rows else []
    for (move, run), found in zip(rows.values(), standing, strict=True):
        if found is None:
            skipped(context, run.id.job, Reason.OVERLAP, 1, run.id.fire_at)
        elif found.state is not RunState.SKIPPED:
            move.plan = started(move.backfill, run.id.fire_at, now)


def _start(context: Context, moves: Sequence[_Move], now: int) -> None:
    """Insert and send the runs that plans start. One that an earlier plan skipped, before it died, stays skipped."""
    starting = [(move, backfill_run(move.backfill, fire_at, now)) for move in moves for fire_at in move.plan.starts]
    standing = context.store.runs.insert([run for _, run in starting], now) if starting else []
    rows = [(move, found or run) for (move, run), found in zip(starting, standing, strict=True)]
    for move, row in rows:
        if len(move.plan.starts) == 1 and row.reason is Reason.OVERLAP:
            move.plan = passed_over(move.backfill, row.id.fire_at, now)
    queued = [(move, row) for move, row in rows if row.state is RunState.QUEUED]
    dispatches = [Dispatch(row.id, row.priority, row.not_before) for _, row in queued]
    for (move, _), sent in zip(queued, send(context, dispatches, now) if dispatches else [], strict=True):
        move.whole = move.whole and sent


def _stop_runs(context: Context, backfill: Backfill) -> tuple[Backfill, tuple[RunId, ...]]:
    """Stop the live runs of a backfill that goes no further, then take it out of the due index."""
    if backfill.due_at is not None and backfill.status is BackfillStatus.CANCELLED:
        _refuse_late_inserts(context, backfill)
    now = context.clock.now()
    own = _stop(context, _live_runs(context, backfill), Reason.BACKFILL_CANCELLED, now)
    if not all(one.done for one in own):
        raise UnavailableError(f"the runs of backfill {backfill.key.name} kept changing")
    if backfill.due_at is not None and backfill.status is BackfillStatus.CANCELLED:
        (swapped,) = context.store.backfills.swap([Swap(backfill, stopped_backfill(backfill))], now)
        backfill = swapped.row or backfill
    return backfill, tuple(one.row.id for one in own if one.row is not None and one.row.state is RunState.RUNNING)


def _live_runs(context: Context, backfill: Backfill) -> list[Run]:
    """Read a backfill's own runs, of which there is a bounded number: many others may have run over its range."""
    rows = context.store.runs.read(possible_runs(backfill))
    return [row for row in rows if row is not None and not row.is_terminal]


def _refuse_late_inserts(context: Context, backfill: Backfill) -> None:
    now = context.clock.now()
    rows = refused_runs(backfill, now)
    for row, standing in zip(rows, context.store.runs.insert(rows, now) if rows else [], strict=True):
        if standing is None:
            skipped(context, backfill.key.job, Reason.BACKFILL_CANCELLED, 1, row.id.fire_at)


def _stop(context: Context, runs: Sequence[Run], reason: Reason, now: int) -> list[Swapped[Run]]:
    """End runs that wait, ask running ones to stop; return them as they then stand."""

    def stopped(_: int, run: Run) -> Run | None:
        if run.is_terminal or run.cancel_requested:
            return None
        if run.state is RunState.RUNNING:
            return asked_to_stop(run, reason)
        return ended(run, RunState.CANCELLED, now, Guarantor.OWNER, reason)

    return compare_and_swap(context.store.runs.swap, runs, stopped, now)
