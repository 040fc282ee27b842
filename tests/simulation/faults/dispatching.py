"""Faults of the plan's way into the store, and of runs that are inserted elsewhere."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import timeball.engine.runs.due_runs as resending
import timeball.engine.runs.trigger as triggering
import timeball.engine.scanning.scan as scanning
import timeball.engine.scheduling.dispatch as dispatching
from tests.simulation.faults.patching import Fault, Patch, overwrite_job
from timeball.domain.model.job import Job, advanced, looked_at, with_spec
from timeball.domain.model.run import Run, RunState
from timeball.domain.policy.ledger import met, planned_row
from timeball.domain.policy.planner import SkippedRange
from timeball.domain.time.instants import SECOND_MS
from timeball.engine.context import Context
from timeball.ports.queue import Dispatch
from timeball.ports.rows import Swap


def _advance_before_send(patch: Patch) -> None:
    send, advance = dispatching._send, dispatching._advance

    def swapped(context: Context, writings: Any, now: int) -> None:
        advance(context, writings, now)
        send(context, writings, now)

    patch.setattr(dispatching, "_send", swapped)
    patch.setattr(dispatching, "_advance", lambda *_: None)


def _advance_before_insert(patch: Patch) -> None:
    insert, advance = dispatching._insert, dispatching._advance

    def late(context: Context, planned: Sequence[Any], now: int) -> list[Any]:
        rows = [planned_row(job, one, now, now + context.rules.lookahead_ms) for job, one in planned]
        advance(context, [dispatching._Writing(job, row) for (job, _), row in zip(planned, rows, strict=True)], now)
        return insert(context, planned, now)

    patch.setattr(dispatching, "_insert", late)
    patch.setattr(dispatching, "_advance", lambda *_: None)


def _advancing_where(may_advance: Callable[[Job, Job], bool]) -> Callable[[Patch], None]:
    """Advance a job as it stands if that may be, by what was read of it.

    The engine's condition is the row's revision, which is stronger than what the design asks for.
    """

    def apply(patch: Patch) -> None:
        def advance(context: Context, writings: Sequence[Any], now: int) -> None:
            for writing in writings:
                if writing.row is None:
                    continue
                read = writing.job
                moved = advanced(read, writing.row, now)

                def after(standing: Job, read: Job = read, moved: Job = moved) -> Job | None:
                    if not may_advance(standing, read):
                        return None
                    return replace(standing, next_fire_at=moved.next_fire_at, due_at=moved.due_at)

                row = overwrite_job(context, read.key, after, now)
                writing.has_moved = row is not None
                writing.job = read if row is None else with_spec(row, work=read.spec.work)

        patch.setattr(dispatching, "_advance", advance)

    return apply


def _a_refused_insert_is_not_sent_again(patch: Patch) -> None:
    send = dispatching._send

    def sending(context: Context, writings: Sequence[Any], now: int) -> None:
        send(context, [one for one in writings if one.row is not None and one.row.created_at == now], now)

    patch.setattr(dispatching, "_send", sending)


def _a_plan_goes_on_behind_its_own_row(patch: Patch) -> None:
    """Whatever stands there: it counts what it planned, and ends where it planned to."""
    insert = dispatching._insert

    def blindly(context: Context, planned: Sequence[Any], now: int) -> list[Any]:
        writings = insert(context, planned, now)
        for writing, (job, one) in zip(writings, planned, strict=True):
            if writing.row is not None and writing.row.is_terminal and isinstance(one, SkippedRange):
                writing.row = planned_row(job, one, now, now)
        return writings

    patch.setattr(dispatching, "_insert", blindly)


def _a_range_is_laid_over_rows_that_stand(patch: Patch) -> None:
    patch.setattr(dispatching, "_row", lambda _, job, planned, now: planned_row(job, planned, now, now + 5 * SECOND_MS))


def _an_old_plan_revives_what_a_newer_version_superseded(patch: Patch) -> None:
    patch.setattr(
        dispatching,
        "met",
        lambda row, planned, now: met(replace(row, stamp=min(row.stamp, planned.stamp)), planned, now),
    )


def _no_plan_revives_a_run(patch: Patch) -> None:
    def dead(standing: Run, planned: Run, now: int) -> Run:
        return standing if standing.is_superseded else met(standing, planned, now)

    def going_on(context: Context, planned: Sequence[Any], now: int) -> list[Any]:
        writings = insert(context, planned, now)
        for writing, (job, one) in zip(writings, planned, strict=True):
            writing.row = writing.row or planned_row(job, one, now, 0)
        return writings

    insert = dispatching._insert
    patch.setattr(dispatching, "met", dead)
    patch.setattr(dispatching, "_insert", going_on)


def _a_run_by_hand_is_inserted_without_a_due_key(patch: Patch) -> None:
    made = triggering._manual_run
    patch.setattr(triggering, "_manual_run", lambda *args: replace(made(*args), due_at=None))


def _a_retry_leaves_the_index_before_it_is_sent(patch: Patch) -> None:
    def swapped(context: Context, runs: Sequence[Run]) -> int:
        now = context.clock.now()
        waiting = [run for run in runs if run.state in (RunState.RETRYING, RunState.QUEUED)]
        others = [run for run in runs if run not in waiting]
        done = context.store.runs.swap([Swap(run, resending._after_send(run)) for run in waiting], now)
        dispatches = [Dispatch(run.id, run.priority, run.not_before) for run in waiting]
        if dispatches:
            context.queue.send(dispatches, now)
        return len(done) + (resending.resend(context, others) if others else 0)

    patch.setattr(scanning, "resend", swapped)


def _a_job_is_not_looked_at_again(patch: Patch) -> None:
    """Its final run is taken for one that was claimed as such."""

    patch.setattr(dispatching, "looked_at", lambda job, now: replace(looked_at(job, now), due_at=None))
    patch.setattr(
        dispatching,
        "advanced",
        lambda job, row, now, **_: replace(after := advanced(job, row, now), due_at=after.next_fire_at),
    )


def _a_scan_has_a_count_of_its_own(patch: Patch) -> None:
    patch.setattr(scanning, "shards_of", lambda partition, _, shards: range(partition, shards, 2))


FAULTS = {
    "a job is not looked at again until its final run is over": Fault(
        _a_job_is_not_looked_at_again,
        "a job ends with its final run",
        meeting="an execution, and a schedule of which it is the final one",
    ),
    "a scan counts the partitions itself": Fault(_a_scan_has_a_count_of_its_own, "nothing is stuck", 2),
    "advance before insert": Fault(_advance_before_insert, "each due instant has one row"),
    "advance before send": Fault(_advance_before_send, "nothing is stuck", 5),
    "advance unconditionally": Fault(
        _advancing_where(lambda *_: True),
        "each due instant has one row",
        meeting="a scan, and a schedule with the same next fire",
    ),
    "advance without schedule_version": Fault(
        _advancing_where(lambda standing, read: standing.next_fire_at == read.next_fire_at),
        "each due instant has one row",
        meeting="a scan, and a schedule with the same next fire that breaks off",
    ),
    "a refused insert of a queued run is not sent again": Fault(
        _a_refused_insert_is_not_sent_again, "nothing is stuck", 1
    ),
    "a plan goes on behind its own row": Fault(
        _a_plan_goes_on_behind_its_own_row,
        "each due instant has one row",
        meeting="a scan that breaks off after an outage",
    ),
    "a range is laid over rows that stand": Fault(
        _a_range_is_laid_over_rows_that_stand,
        "each due instant has one row",
        meeting="a resume after an outage, under another schedule",
    ),
    "an old plan revives what a newer version superseded": Fault(
        _an_old_plan_revives_what_a_newer_version_superseded,
        "what is superseded is decided about by no older version",
        meeting="a scan, and another schedule",
    ),
    "no plan revives a run": Fault(_no_plan_revives_a_run, "what stays superseded is no fire any more"),
    "a run is inserted outside dispatch without a due key": Fault(
        _a_run_by_hand_is_inserted_without_a_due_key, "nothing is stuck", 3
    ),
    "a retry is queued before it is sent": Fault(_a_retry_leaves_the_index_before_it_is_sent, "nothing is stuck"),
}
