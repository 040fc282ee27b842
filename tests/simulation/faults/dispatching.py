"""Faults of the plan's way into the store, and of runs that are inserted elsewhere."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import timeball.engine.dispatch as dispatching
import timeball.engine.resend as resending
import timeball.engine.scan as scanning
import timeball.engine.trigger as triggering
from tests.simulation.faults.patching import Fault, Patch, overwrite_job
from timeball.domain.job import Job, advanced
from timeball.domain.run import Run, RunState
from timeball.engine.world import World
from timeball.ports.queue import Dispatch
from timeball.ports.rows import Swap


def _advancing_before(step: str) -> Callable[[Patch], None]:
    def apply(patch: Patch) -> None:
        late, advance = getattr(dispatching, step), dispatching._advance

        def swapped(world: World, writings: Any, now: int) -> None:
            advance(world, writings, now)
            late(world, writings, now)

        patch.setattr(dispatching, step, swapped)
        patch.setattr(dispatching, "_advance", lambda *_: None)

    return apply


def _advancing_where(may_advance: Callable[[Job, Job], bool]) -> Callable[[Patch], None]:
    """Advance a job as it stands if that may be, by what was read of it.

    The engine's condition is the row's revision, which is stronger than what the design asks for.
    """

    def apply(patch: Patch) -> None:
        def advance(world: World, writings: Sequence[Any], now: int) -> None:
            for writing in writings:
                if not writing.whole:
                    continue
                read, plan = writing.job, writing.plan
                moved = advanced(read, plan.next_fire_at, len(plan.starts), now)

                def after(standing: Job, read: Job = read, moved: Job = moved) -> Job | None:
                    if not may_advance(standing, read):
                        return None
                    return replace(standing, next_fire_at=moved.next_fire_at, due_at=moved.due_at, skip_through=None)

                row = overwrite_job(world, read.key, after, now)
                writing.whole = row is not None
                writing.job = read if row is None else replace(row, work=read.work)

        patch.setattr(dispatching, "_advance", advance)

    return apply


def _a_refused_insert_is_not_sent_again(patch: Patch) -> None:
    renewed = dispatching._renewed

    def silent(world: World, planned: Any, standing: Sequence[Any], now: int) -> list[Any]:
        rows = renewed(world, planned, standing, now)
        return [
            row if row is None or found is None else replace(row, due_at=1)
            for row, found in zip(rows, standing, strict=True)
        ]

    patch.setattr(dispatching, "_renewed", silent)


def _a_run_by_hand_is_inserted_without_a_due_key(patch: Patch) -> None:
    made = triggering._manual_run
    patch.setattr(triggering, "_manual_run", lambda *args: replace(made(*args), due_at=None))


def _a_retry_leaves_the_index_before_it_is_sent(patch: Patch) -> None:
    def swapped(world: World, runs: Sequence[Run]) -> int:
        now = world.clock.now()
        waiting = [run for run in runs if run.state in (RunState.RETRYING, RunState.QUEUED)]
        others = [run for run in runs if run not in waiting]
        done = world.store.runs.swap([Swap(run, resending._after_send(run)) for run in waiting], now)
        dispatches = [Dispatch(run.id, run.priority, run.not_before) for run in waiting]
        if dispatches:
            world.queue.send(dispatches, now)
        return len(done) + (resending.resend(world, others) if others else 0)

    patch.setattr(scanning, "resend", swapped)


def _a_job_is_not_looked_at_again(patch: Patch) -> None:
    """Its final run is taken for one that was claimed as such."""

    def leaving(job: Job, next_fire_at: int | None, runs_planned: int, now: int, **_: Any) -> Job:
        after = advanced(job, next_fire_at, runs_planned, now)
        return replace(after, due_at=next_fire_at) if job.next_fire_at is None else after

    patch.setattr(dispatching, "advanced", leaving)


def _a_scan_has_a_count_of_its_own(patch: Patch) -> None:
    patch.setattr(scanning, "shards_of", lambda partition, _, shards: range(partition, shards, 2))


FAULTS = {
    "a job is not looked at again until its final run is over": Fault(
        _a_job_is_not_looked_at_again,
        "a job ends with its final run",
        meeting="an execution, and a schedule of which it is the final one",
    ),
    "a scan counts the partitions itself": Fault(_a_scan_has_a_count_of_its_own, "nothing is stuck", 2),
    "advance before insert": Fault(_advancing_before("_insert"), "each due instant has one row"),
    "advance before send": Fault(_advancing_before("_send"), "nothing is stuck", 5),
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
    "a run is inserted outside dispatch without a due key": Fault(
        _a_run_by_hand_is_inserted_without_a_due_key, "nothing is stuck", 3
    ),
    "a retry is queued before it is sent": Fault(_a_retry_leaves_the_index_before_it_is_sent, "nothing is stuck"),
}
