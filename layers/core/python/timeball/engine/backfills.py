"""Backfills: create them, advance them in the scan, cancel them. The job's live schedule is never touched.

A backfill is in the due index until its last fire has a row, and its own row is written last: a repeat of any step ends
in the same rows. A cancelled backfill stays in the index until its runs are stopped. Rows that stand refuse what a slow
scan may still insert.

Only the tenant's row gives a slot. A backfill runs only if that row names it, and stays named until it has ended: so
the maximum is never exceeded. Each time, the rows of the named backfills show which have ended. So a process that died
before it released a slot did no harm.
"""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence

from timeball.domain.backfill import (
    Backfill,
    BackfillStatus,
    BackfillStep,
    advanced,
    cancelled_backfill,
    next_step,
    plan_backfill,
    possible_runs,
    refused_runs,
    waiting,
)
from timeball.domain.backfill_slots import BackfillSlots, allot, holders
from timeball.domain.dependencies.named_cycle import run_of
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import BackfillKey, RunId
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.runs.transitions import asked_to_stop, ended
from timeball.domain.model.runs.values import Guarantor
from timeball.domain.model.terms.policies import OverlapPolicy
from timeball.domain.planning.blackouts import STOPPED_RECHECK_MS
from timeball.domain.time.instants import LATEST
from timeball.engine.blackouts.read import read_quotas, read_stopped
from timeball.engine.compare_and_swap import compare_and_swap, read_or_insert
from timeball.engine.context import Context
from timeball.engine.dependencies.named_cycles import read_descendants
from timeball.engine.metrics import skipped
from timeball.engine.runs.send import send
from timeball.ports.errors import UnavailableError
from timeball.ports.rows import Swap, Swapped

log = logging.getLogger(__name__)

_WITHOUT_START: Mapping[BackfillStep, Callable[[Backfill, int], Backfill]] = {
    BackfillStep.CANCEL: cancelled_backfill,
    BackfillStep.WAIT: waiting,
    BackfillStep.REST: lambda backfill, now: evolve(backfill, due_at=now + STOPPED_RECHECK_MS),
}
"""The rows of backfills that start no run now, by step."""


def create_backfills(context: Context, backfills: Sequence[Backfill]) -> list[Backfill]:
    """Store each backfill and start it. Return what stands under its name, which may be an earlier backfill.

    Raises UnavailableError if it is unknown whether it was stored; the caller may then repeat it.
    """
    now = context.clock.now()
    standing = context.store.backfills.insert(backfills, now)
    created = [backfill for backfill, found in zip(backfills, standing, strict=True) if found is None]
    try:
        if created:
            advance_backfills(context, created)
    except Exception:
        log.exception("backfills are stored, and left to the scan")
    return [found or backfill for backfill, found in zip(backfills, standing, strict=True)]


def advance_backfills(context: Context, backfills: Sequence[Backfill], stop_at: int = LATEST) -> int:
    """Advance each due, open backfill; return the number of those that advanced.

    ① Slots for waiting backfills. ② Stops, and the rows of the next fires. ③ Messages. ④ Swap: the next fire, the next
    check, a later check if the tenant is disabled, or the end if the job is gone. ⑤ Release the slots of ended
    backfills. Each step is one request, or a few, for all together. Backfills that start many runs are processed one by
    one, and from `stop_at` (ms) on no more of them. Raises UnavailableError; a repeat does no harm.

    Order of writes of advance backfills:

    0. Give slots to waiting backfills.
    1. Insert runs.
    2. Send.
    3. Swap the backfill: due at its next fire or its next request for a slot, or ended.
    4. Pass the slots of ended backfills on, and wake the backfills that get them.

    Safe: as for a dispatch: a repeat ends in the same rows. Any waiting backfill that asks for a slot frees those of
    ended ones.
    """
    now = context.clock.now()
    steps = _steps(context, backfills)
    starting = [one for one in backfills if steps[one.key] is BackfillStep.START]
    others = [one for one in backfills if steps[one.key] is not BackfillStep.START]
    swaps = _started(context, starting, now, stop_at)
    swaps += [Swap(one, _WITHOUT_START[steps[one.key]](one, now)) for one in others]
    swapped = context.store.backfills.swap(swaps, now)
    done = [swap.after for swap, outcome in zip(swaps, swapped, strict=True) if outcome.done]
    _free_slots(context, {one.key.job.tenant for one in done if one.status is BackfillStatus.COMPLETED})
    return len(done)


def cancel_backfill(context: Context, backfill: Backfill) -> tuple[Backfill, tuple[RunId, ...]]:
    """Cancel a backfill, as it was read. Return it as it stands, and its runs that were asked to stop.

    A completed backfill stays completed and holds no slot; its live runs are stopped all the same. Raises
    UnavailableError.
    """
    now = context.clock.now()

    def cancelled(_: int, row: Backfill) -> Backfill | None:
        return cancelled_backfill(row, now) if row.is_open else None

    (swapped,) = compare_and_swap(context.store.backfills.swap, [backfill], cancelled, now)
    if not swapped.done or swapped.row is None:
        raise UnavailableError(f"backfill {backfill.key.name} kept changing; cancel it again")
    backfill = swapped.row
    if backfill.due_at is not None:
        _inserted(context, refused_runs(backfill, now), now)
    running = _stop_own_runs(context, backfill, now)
    if backfill.due_at is not None:
        (swapped,) = context.store.backfills.swap([Swap(backfill, evolve(backfill, due_at=None))], now)
        backfill = swapped.row or backfill
    if backfill.status is BackfillStatus.CANCELLED:
        _free_slots(context, [backfill.key.job.tenant])
    return backfill, running


def _steps(context: Context, backfills: Sequence[Backfill]) -> dict[BackfillKey, BackfillStep]:
    """Return the step of each backfill. A waiting backfill starts if it gets a slot."""
    keys = list({one.key.job: None for one in backfills})
    jobs = dict(zip(keys, context.store.jobs.read(keys), strict=True))
    stopped = read_stopped(context, [one.key.job.tenant for one in backfills])
    steps = {one.key: next_step(one, jobs[one.key.job], is_disabled=one.key.job.tenant in stopped) for one in backfills}
    asking = [one for one in backfills if steps[one.key] is BackfillStep.WAIT]
    held = _share_out(context, {one.key.job.tenant for one in asking}, asking)
    return steps | dict.fromkeys(held, BackfillStep.START)


def _started(context: Context, backfills: Sequence[Backfill], now: int, stop_at: int) -> list[Swap[Backfill]]:
    """Start the next fires of backfills: of those that start one, all at once; of the others, one by one."""
    swaps = _begun(context, [one for one in backfills if one.most_at_once == 1], now)
    for one in backfills:
        if one.most_at_once > 1 and (not swaps or context.clock.now() < stop_at):
            swaps += _begun(context, [one], now)
    return swaps


def _begun(context: Context, backfills: Sequence[Backfill], now: int) -> list[Swap[Backfill]]:
    """Plan backfills that hold a slot, write and send their runs; return the swaps of those that advance."""
    lasts = _last_runs(context, backfills)
    plans = [plan_backfill(one, lasts.get(one.last_run), now) for one in backfills]
    _stop(context, [plan.stop for plan in plans if plan.stop is not None], Reason.REPLACED, now)
    written = _written(context, [row for plan in plans for row in plan.rows], now)
    swaps: list[Swap[Backfill]] = []
    for one, plan in zip(backfills, plans, strict=True):
        rows = [written[row.id] for row in plan.rows if row.id in written]
        if plan.recheck_at is not None:
            swaps.append(Swap(one, evolve(one, due_at=plan.recheck_at)))
        elif rows and len(rows) == len(plan.rows):
            swaps.append(Swap(one, advanced(one, rows, now)))
    return swaps


def _last_runs(context: Context, backfills: Sequence[Backfill]) -> dict[RunId | None, Run | None]:
    """Read the last runs of backfills that may have to wait for them."""
    names = [one.last_run for one in backfills if one.overlap is not OverlapPolicy.ALLOW and one.last_run is not None]
    return dict(zip(names, context.store.runs.read(names), strict=True))


def _written(context: Context, rows: Sequence[Run], now: int) -> dict[RunId, Run]:
    """Insert rows, and send the queued ones. Return all rows as they stand, without those that could not be sent.

    A row of an earlier plan that died stays as it is, whether it started the fire or skipped it.
    """
    standing = _inserted(context, rows, now)
    queued = [row for row in standing if row.state is RunState.QUEUED and not row.waits]
    sent = send(context, queued, now)
    unsent = {row.id for row, is_sent in zip(queued, sent, strict=True) if not is_sent}
    return {row.id: row for row in standing if row.id not in unsent}


def _inserted(context: Context, rows: Sequence[Run], now: int) -> list[Run]:
    """Insert rows, and record the skipped ones; return all rows as they stand."""
    inserted = context.store.runs.insert(rows, now)
    for row, found in zip(rows, inserted, strict=True):
        if found is None:
            skipped(context, row, 1)
    return [found or row for row, found in zip(rows, inserted, strict=True)]


def _stop_own_runs(context: Context, backfill: Backfill, now: int) -> tuple[RunId, ...]:
    """Stop the live runs of a cancelled backfill; return those that are under way, which were asked to stop.

    Only its own runs are read, whose number is bounded: many other runs may lie within its range. Raises
    UnavailableError.
    """
    runs = context.store.runs.read(_possible_runs(context, backfill))
    live = [run for run in runs if run is not None and not run.is_terminal]
    stopped = _stop(context, live, Reason.BACKFILL_CANCELLED, now)
    if not all(one.done for one in stopped):
        raise UnavailableError(f"the runs of backfill {backfill.key.name} kept changing")
    return tuple(one.row.id for one in stopped if one.row is not None and one.row.state is RunState.RUNNING)


def _possible_runs(context: Context, backfill: Backfill) -> list[RunId]:
    """Return the runs that a backfill may have by now, in all jobs of its cycles. Raises UnavailableError."""
    roots = possible_runs(backfill)
    (job,) = context.store.jobs.read([backfill.key.job]) if backfill.graph else (None,)
    members = [] if job is None else read_descendants(context, job)[0]
    return [*roots, *(run_of(member, root.cycle) for root in roots for member in members)]


def _stop(context: Context, runs: Sequence[Run], reason: Reason, now: int) -> list[Swapped[Run]]:
    """End waiting runs, and ask running ones to stop; return them as they then stand."""

    def stopped(_: int, run: Run) -> Run | None:
        if run.is_terminal or run.cancel_requested:
            return None
        if run.state is RunState.RUNNING:
            return asked_to_stop(run, reason)
        return ended(run, RunState.CANCELLED, now, Guarantor.OWNER if run.root is None else Guarantor.SCAN, reason)

    return compare_and_swap(context.store.runs.swap, runs, stopped, now)


def _free_slots(context: Context, tenants: Iterable[str]) -> None:
    """Pass the slots of ended backfills on. If that fails, the next check of a waiting backfill does it."""
    try:
        _share_out(context, set(tenants), [])
    except UnavailableError as unavailable:
        log.info("slots not given on yet: %s", unavailable)


def _share_out(context: Context, tenants: set[str], asking: Sequence[Backfill]) -> list[BackfillKey]:
    """Share out slots: ① read the rows and the backfills they name ② swap the rows ③ wake backfills that got one.

    Returns those of the `asking` backfills that hold a slot.
    """
    now = context.clock.now()
    rows = read_or_insert(context.store.slots, sorted(tenants), BackfillSlots, now)
    quotas = read_quotas(context, sorted(tenants))
    found: dict[BackfillKey, Backfill | None] = {one.key: one for one in asking}

    def read_named(rows: Sequence[BackfillSlots]) -> None:
        keys = [key for row in rows for key in row.named if key not in found]
        found.update(zip(keys, context.store.backfills.read(keys), strict=True))

    def most_of(row: BackfillSlots) -> int:
        return quotas[row.tenant].running_backfills or 1

    def shared_out(_: int, row: BackfillSlots) -> BackfillSlots | None:
        read_named([row])
        standing = {key for key, one in found.items() if one is not None and one.is_open}
        askers = [one.key for one in asking if one.key.job.tenant == row.tenant]
        after = allot(row, standing, askers, most_of(row))
        return None if after == row else after

    read_named(rows)  # all rows at once; a row that refuses its swap may then name other backfills
    shared = compare_and_swap(context.store.slots.swap, rows, shared_out, now)
    held = [key for one in shared if one.row is not None for key in holders(one.row, most_of(one.row))]
    own = {one.key for one in asking}
    _wake(context, [found.get(key) for key in held if key not in own], now)
    return [key for key in held if key in own]


def _wake(context: Context, backfills: Sequence[Backfill | None], now: int) -> None:
    swaps = [
        Swap(one, evolve(one, due_at=now))
        for one in backfills
        if one is not None and one.status is BackfillStatus.WAITING and (one.due_at or 0) > now
    ]
    if swaps:
        context.store.backfills.swap(swaps, now)
