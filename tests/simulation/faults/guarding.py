"""Faults of the overlap guard."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import timeball.engine.changes.reconcile as settling
import timeball.engine.runs.on_run_end as ending
import timeball.engine.runs.overlap_lock as guarding
from tests.simulation.faults.patching import Fault, Patch, Through, overwrite_job
from timeball.domain.model.ids import RunId
from timeball.domain.model.job import Job, locked
from timeball.domain.model.run import Run
from timeball.domain.policy.effects import Effect, Release, effects
from timeball.engine.context import Context
from timeball.ports.queue import Dispatch
from timeball.ports.rows import Swap, Swapped


def _the_guard_is_released_before_the_send(patch: Patch) -> None:
    release = guarding.release

    def releasing(context: Context, runs: Sequence[RunId]) -> None:
        waiting: list[Dispatch] = []

        def later(dispatches: Sequence[Dispatch], now: int) -> list[bool]:  # noqa: ARG001
            waiting.extend(dispatches)
            return [True] * len(dispatches)

        release(replace(context, queue=cast("Any", Through(context.queue, send=later))), runs)
        if waiting:
            context.queue.send(waiting, context.clock.now())

    patch.setattr(ending, "release", releasing)
    patch.setattr(settling, "release", releasing)


def _parks_whoever_holds(patch: Patch) -> None:
    """The holder condition is the revision of the job's row: a run is parked on the row as it stands."""
    admit = guarding._admit_one_each

    def admitting(context: Context, *args: Any) -> None:
        def swapping(swaps: Sequence[Swap[Job]], now: int) -> list[Swapped[Job]]:
            answers = context.store.jobs.swap(swaps, now)
            return [
                _parked_anyway(context, swap, now) if not answer.done and _parks(swap) else answer
                for swap, answer in zip(swaps, answers, strict=True)
            ]

        jobs = cast("Any", Through(context.store.jobs, swap=swapping))
        admit(replace(context, store=replace(context.store, jobs=jobs)), *args)

    patch.setattr(guarding, "_admit_one_each", admitting)


def _parks(swap: Swap[Job]) -> bool:
    return swap.after.holder == swap.before.holder and swap.after.parked not in (None, swap.before.parked)


def _parked_anyway(context: Context, swap: Swap[Job], now: int) -> Swapped[Job]:
    row = overwrite_job(context, swap.before.key, lambda job: locked(job, job.holder, swap.after.parked), now)
    return Swapped(row is not None, row)


def _an_end_forgets_the_guard(patch: Patch) -> None:
    def but_the_guard(run: Run, job: Job | None, now: int) -> list[Effect]:
        return [effect for effect in effects(run, job, now) if not isinstance(effect, Release)]

    patch.setattr(ending, "effects", but_the_guard)


FAULTS = {
    "an end forgets the guard": Fault(_an_end_forgets_the_guard, "nobody is parked behind a run that is over", 1),
    "parked without the holder condition": Fault(_parks_whoever_holds, "whose last message goes is found again", 1),
    "the guard is released before the parked run is sent": Fault(
        _the_guard_is_released_before_the_send,
        "nothing is stuck",
        meeting="an execution that breaks off, and who is parked behind it",
    ),
}
