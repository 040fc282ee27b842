"""Backfills: made, moved on by the scan, cancelled. The live schedule of the job is never touched.

A backfill stands in the due index until its last fire has a row, and is advanced last: a repeat of any step ends in the
same rows. A cancelled one stands there until its runs are stopped, and what a slow scan may still insert has rows that
refuse it.
"""

import logging
from collections.abc import Sequence

from timeball.domain.backfill import (
    Backfill,
    BackfillPlan,
    BackfillStatus,
    backfill_run,
    cancelled_backfill,
    passed_over,
    plan_backfill,
    refused_runs,
    settled_backfill,
    skipped_backfill_run,
    started,
)
from timeball.domain.ids import BackfillKey, JobKey, RunId
from timeball.domain.job import JobStatus
from timeball.domain.overlap import OverlapPolicy
from timeball.domain.reason import Reason
from timeball.domain.run import Run, RunState, asked_to_stop, ended
from timeball.engine.notice import skipped
from timeball.engine.send import send
from timeball.engine.world import World
from timeball.ports import Dispatch, Swap, UnavailableError

log = logging.getLogger(__name__)

_TRIES = 5


def create_backfills(world: World, backfills: Sequence[Backfill]) -> list[Backfill]:
    """Store each backfill, and start it; return what stands under its name, which may be an earlier one.

    Raises UnavailableError if it is unknown whether it was stored; it may then be repeated.
    """
    now = world.clock.now()
    standing = world.store.create_backfills(backfills, now)
    created = [backfill for backfill, found in zip(backfills, standing, strict=True) if found is None]
    move_on(world, created)
    return [found or backfill for backfill, found in zip(backfills, standing, strict=True)]


def move_on(world: World, backfills: Sequence[Backfill]) -> int:
    """Move each due backfill on; return how many were. One that cannot be moved now is found again."""
    done = 0
    for backfill in backfills:
        try:
            done += _move_on(world, backfill)
        except Exception:
            log.exception(
                "backfill not moved on", extra={"job_id": backfill.key.job.job_id, "backfill": backfill.key.name}
            )
    return done


def cancel_backfill(world: World, key: BackfillKey) -> tuple[Backfill | None, tuple[RunId, ...]]:
    """Cancel a backfill; return it as it stands, None if there is none, and its runs that were asked to stop.

    One that is completed stays so; its live runs are stopped all the same. Raises UnavailableError.
    """
    for _ in range(_TRIES):
        backfill = world.store.read_backfills([key])[0]
        if backfill is None:
            return None, ()
        now = world.clock.now()
        if backfill.status is BackfillStatus.RUNNING:
            swapped = world.store.swap_backfills([Swap(backfill, cancelled_backfill(backfill, now))], now)[0]
            if not swapped.done or swapped.row is None:
                continue
            backfill = swapped.row
        return _settle(world, backfill)
    raise UnavailableError(f"backfill {key.name} kept changing; cancel it again")


def cancel_backfills(world: World, job: JobKey) -> tuple[RunId, ...]:
    """Cancel all backfills of a job; return the runs that were asked to stop. Raises UnavailableError."""
    stopped: tuple[RunId, ...] = ()
    for backfill in world.store.backfills_of(job):
        stopped += cancel_backfill(world, backfill.key)[1]
    return stopped


def _move_on(world: World, backfill: Backfill) -> bool:
    if backfill.status is BackfillStatus.CANCELLED:
        _settle(world, backfill)
        return True
    job = world.store.read_jobs([backfill.key.job])[0]
    if job is None or job.status is JobStatus.CANCELLED:
        cancel_backfill(world, backfill.key)
        return True
    now = world.clock.now()
    plan = plan_backfill(backfill, _last_run(world, backfill), now)
    if plan.skip is not None and not _is_skipped(world, backfill, plan.skip, now):
        plan = started(backfill, plan.skip, now)  # by an earlier plan, which may have died before its send
    rows = _write(world, backfill, plan, now)
    if len(rows) == 1 and rows[0].reason is Reason.OVERLAP:
        plan = passed_over(backfill, rows[0].id.fire_at, now)  # by an earlier plan, which died before it moved on
    return plan.after is not None and world.store.swap_backfills([Swap(backfill, plan.after)], now)[0].done


def _last_run(world: World, backfill: Backfill) -> Run | None:
    """Read the run whose end a backfill may have to wait for."""
    if backfill.overlap is OverlapPolicy.ALLOW or backfill.last_run is None:
        return None
    return world.store.read_runs([backfill.last_run])[0]


def _is_skipped(world: World, backfill: Backfill, fire_at: int, now: int) -> bool:
    """Skip a fire, and say whether that is what its row says then."""
    standing = world.store.insert_runs([skipped_backfill_run(backfill, fire_at, now)], now)[0]
    if standing is None:
        skipped(world, backfill.key.job, Reason.OVERLAP, 1, fire_at)
    return standing is None or standing.state is RunState.SKIPPED


def _write(world: World, backfill: Backfill, plan: BackfillPlan, now: int) -> list[Run]:
    """Stop, insert and send what a plan says; return the rows of its starts as they stand."""
    if plan.stop_last:
        _stop(world, [run for run in [_last_run(world, backfill)] if run is not None], Reason.OVERTAKEN, now)
    runs = [backfill_run(backfill, fire_at, now) for fire_at in plan.starts]
    standing = world.store.insert_runs(runs, now) if runs else []
    rows = [found or run for run, found in zip(runs, standing, strict=True)]
    queued = [row for row in rows if row.state is RunState.QUEUED]
    dispatches = [Dispatch(row.id, row.priority, row.not_before) for row in queued]
    if dispatches and not all(send(world, dispatches, now)):
        raise UnavailableError(f"messages of backfill {backfill.key.name} are not sent yet")
    return rows


def _settle(world: World, backfill: Backfill) -> tuple[Backfill, tuple[RunId, ...]]:
    """Stop the live runs of a backfill that goes no further, then take it out of the due index."""
    if backfill.due_at is not None and backfill.status is BackfillStatus.CANCELLED:
        _refuse_late_inserts(world, backfill)
    for _ in range(_TRIES):
        now = world.clock.now()
        live = world.store.live_runs(backfill.key.job, backfill.first_at, backfill.last_at)
        own = [run for run in live if run.id.backfill == backfill.key]
        if not _stop(world, own, Reason.BACKFILL_CANCELLED, now):
            continue
        if backfill.due_at is not None and backfill.status is BackfillStatus.CANCELLED:
            swapped = world.store.swap_backfills([Swap(backfill, settled_backfill(backfill))], now)[0]
            backfill = swapped.row or backfill
        return backfill, tuple(run.id for run in own if run.state is RunState.RUNNING)
    raise UnavailableError(f"the runs of backfill {backfill.key.name} kept changing")


def _refuse_late_inserts(world: World, backfill: Backfill) -> None:
    now = world.clock.now()
    rows = refused_runs(backfill, now)
    for row, standing in zip(rows, world.store.insert_runs(rows, now) if rows else [], strict=True):
        if standing is None:
            skipped(world, backfill.key.job, Reason.BACKFILL_CANCELLED, 1, row.id.fire_at)


def _stop(world: World, runs: Sequence[Run], reason: Reason, now: int) -> bool:
    """End runs that wait, ask running ones to stop; say whether all of it is written."""
    swaps = [
        Swap(
            run,
            asked_to_stop(run, reason)
            if run.state is RunState.RUNNING
            else ended(run, RunState.CANCELLED, now, reason),
        )
        for run in runs
        if not run.is_terminal and not run.cancel_requested
    ]
    return not swaps or all(swapped.done for swapped in world.store.swap_runs(swaps, now))
