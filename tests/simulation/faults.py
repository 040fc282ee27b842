"""Deliberate faults, each of which breaks a rule of the write order. A check that finds none of them checks nothing.

Rules that two conditions keep are not here, for without one the other holds: the stamp of a run beside its revision,
the attempt fence beside an executor's own deadline.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, cast

import pytest

import timeball.engine.claim as claims
import timeball.engine.dispatch as dispatching
import timeball.engine.finish as finishing
import timeball.engine.follow_up as following
import timeball.engine.guard as guarding
import timeball.engine.resend as resending
import timeball.engine.settle as settling
from timeball.domain.claim import Action, Decision, decide_claim
from timeball.domain.run import RunState
from timeball.ports import Dispatch, Swap

Patch = pytest.MonkeyPatch


def _advancing_before(step: str) -> Callable[[Patch], None]:
    def apply(patch: Patch) -> None:
        late, advance = getattr(dispatching, step), dispatching._advance

        def swapped(world: Any, writings: Any, now: int) -> None:
            advance(world, writings, now)
            late(world, writings, now)

        patch.setattr(dispatching, step, swapped)
        patch.setattr(dispatching, "_advance", lambda *_: None)

    return apply


def _a_refused_insert_is_not_sent_again(patch: Patch) -> None:
    renewed = dispatching._renewed

    def silent(world: Any, planned: Any, standing: Sequence[Any], now: int) -> list[Any]:
        rows = renewed(world, planned, standing, now)
        return [
            row if row is None or found is None else replace(row, due_at=1)
            for row, found in zip(rows, standing, strict=True)
        ]

    patch.setattr(dispatching, "_renewed", silent)


def _deciding(change: Callable[[Any, Decision], Decision]) -> Callable[[Patch], None]:
    def apply(patch: Patch) -> None:
        decide = decide_claim

        def changed(run: Any, job: Any, now: int, rules: Any) -> Decision:
            return change(run, decide(run, job, now, rules))

        patch.setattr(claims, "decide_claim", changed)

    return apply


def _claims_what_is_running(run: Any, decided: Decision) -> Decision:
    running = run is not None and run.state is RunState.RUNNING
    return Decision(Action.CLAIM) if running and decided.action is Action.WAIT else decided


def _drops_what_is_running(run: Any, decided: Decision) -> Decision:
    running = run is not None and run.state is RunState.RUNNING
    return Decision(Action.DROP) if running and decided.action is Action.WAIT else decided


def _no_fence_against_late_inserts(patch: Patch) -> None:
    patch.setattr(settling, "_refuse_late_inserts", lambda *_: None)


def _live_runs_are_not_settled(patch: Patch) -> None:
    patch.setattr(settling, "_align", lambda *_: ())


def _follow_ups_are_left_out(patch: Patch) -> None:
    patch.setattr(finishing, "follow_up", lambda *_: None)
    patch.setattr(claims, "follow_up", lambda *_: None)
    patch.setattr(resending, "follow_up", lambda *_: None)


def _the_guard_is_released_before_the_parked_run_is_sent(patch: Patch) -> None:
    class Silent:
        def __init__(self, world: Any) -> None:
            self._world = world

        def __getattr__(self, name: str) -> Any:
            return getattr(self._world, name)

        @property
        def queue(self) -> Any:
            return self

        def send(self, dispatches: Sequence[Any], now: int) -> list[bool]:
            del now
            return [True] * len(dispatches)

    release = guarding.release
    patch.setattr(following, "release", lambda world, runs: release(cast("Any", Silent(world)), runs))


def _a_retry_leaves_the_index_before_it_is_sent(patch: Patch) -> None:
    def swapped(world: Any, runs: Sequence[Any]) -> int:
        now = world.clock.now()
        waiting = [run for run in runs if run.state in (RunState.RETRYING, RunState.QUEUED)]
        others = [run for run in runs if run not in waiting]
        done = world.store.swap_runs([Swap(run, resending._after_send(run)) for run in waiting], now)
        dispatches = [Dispatch(run.id, run.priority, run.not_before) for run in waiting]
        if dispatches:
            world.queue.send(dispatches, now)
        return len(done) + (resend(world, others) if others else 0)

    resend = resending._resend
    patch.setattr(resending, "_resend", swapped)


FAULTS: dict[str, tuple[Callable[[Patch], None], int]] = {
    "advance before insert": (_advancing_before("_insert"), 1),
    "advance before send": (_advancing_before("_send"), 0),
    "a refused insert of a queued run is not sent again": (_a_refused_insert_is_not_sent_again, 1),
    "an unexpired running run is claimed": (_deciding(_claims_what_is_running), 18),
    "a message is deleted that meets a live running run": (_deciding(_drops_what_is_running), 9),
    "no fence against late inserts": (_no_fence_against_late_inserts, 5),
    "live runs are not settled": (_live_runs_are_not_settled, 37),
    "follow-ups are left out": (_follow_ups_are_left_out, 0),
    "the parked run is not sent at the release": (_the_guard_is_released_before_the_parked_run_is_sent, 1),
    "a retry is queued before it is sent": (_a_retry_leaves_the_index_before_it_is_sent, 1),
}
"""Each fault, and a seed whose story found it when this was written."""
