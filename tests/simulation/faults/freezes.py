"""Faults of limiters and quotas of runs: which are asked before a run begins, what is noted, which run is admitted."""

from collections.abc import Sequence

import timeball.engine.execution.claim as claiming
from tests.simulation.faults.hands import Fault, answered, given, instead, without
from timeball.domain.model.evolve import evolve
from timeball.domain.model.runs.limiter import Begun, Limiter
from timeball.domain.model.runs.run import Permit, Run, RunState
from timeball.domain.model.runs.transitions import claimed
from timeball.domain.sharing.slots_and_tokens import LimiterDecision, acquire, has_slot, left_in_line, room_for
from timeball.domain.sharing.stated_limits import Ask
from timeball.domain.time.instants import LATEST
from timeball.engine.execution.gates import any_run
from timeball.engine.runs.waiting_lines import expect
from timeball.ports.queue import Delivery
from timeball.testing.memory_queue import MemoryInbox


def _notes_no_child(
    limiter: Limiter, run: Run, ask: Ask, at: int, now: int, lease_ms: int
) -> tuple[Limiter, LimiterDecision]:
    after, passed = acquire(limiter, run, ask, at, now, lease_ms)
    return evolve(after, begun=limiter.begun, tokens=limiter.tokens), passed


def _only_visible_rows(limiter: Limiter, begun: Begun, row: Run | None, now: int) -> bool:
    return has_slot(limiter, evolve(begun, revision=0), row, now)


def by_its_lease(limiter: Limiter, begun: Begun, row: Run | None, now: int) -> bool:
    is_out = row is not None and row.state is RunState.RUNNING and now >= (row.lease_until or 0)
    return not is_out and has_slot(limiter, begun, row, now)


def _all_named_runs(_: Limiter, __: Begun, row: Run | None, ___: int) -> bool:
    return row is not None and row.state is not RunState.SKIPPED


def _no_run_is_sent_in_vain(limiter: Limiter, left: Sequence[Permit], now: int, *, some_admitted: bool) -> Limiter:
    return left_in_line(limiter, left, now, some_admitted=some_admitted and bool(left))


def _nothing_due(limiter: Limiter, left: Sequence[Permit], now: int, *, some_admitted: bool) -> Limiter:
    return evolve(left_in_line(limiter, left, now, some_admitted=some_admitted), due_at=None)


def _no_run_without_room(limiter: Limiter, left: Sequence[Permit], now: int, *, some_admitted: bool) -> Limiter:
    seen = [part for part in left if part in limiter.lines or room_for(limiter, part, now) > 0]
    return left_in_line(limiter, seen, now, some_admitted=some_admitted)


def _no_room_for_turns(limiter: Limiter, part: Permit, now: int) -> int:
    return room_for(limiter, part, now) if part is Permit.SLOT else 0


def _in_any_state(limiter: Limiter, begun: Begun, row: Run | None, now: int) -> bool:
    return has_slot(limiter, evolve(begun, revision=LATEST, until=LATEST), row, now)


def _still_in_line(run: Run, owner: str, now: int, lease_ms: int) -> Run:
    return evolve(claimed(run, owner, now, lease_ms), waiting=run.waiting)


def _as_taken(inbox: MemoryInbox, deliveries: Sequence[Delivery], seconds: int = 0) -> list[bool]:
    inbox.queue.send_again(inbox.priority, deliveries, seconds)
    return [True] * len(deliveries)


AT_ONCE, A_SECOND = "no more runs are under way than may", "no more runs begin in a second than may"
STUCK = "nothing is stuck"

FAULTS = {
    "a claim ignores quotas": Fault(
        without(claiming, "GATES", any_run), AT_ONCE, meeting="three executions of a tenant that may have two at once"
    ),
    "a claim ignores limits": Fault(
        without(claiming, "GATES", any_run),
        AT_ONCE,
        meeting="three executions of one instant, under a limiter with one slot",
    ),
    "a limiter does not name a run that begins": Fault(
        instead(acquire, _notes_no_child), AT_ONCE, meeting="three executions of a tenant that may have two at once"
    ),
    "a limiter with a name does not name a run that begins": Fault(
        instead(acquire, _notes_no_child),
        AT_ONCE,
        meeting="three executions of one instant, under a limiter with one slot",
    ),
    "a turn is given twice": Fault(
        instead(acquire, _notes_no_child), A_SECOND, meeting="three executions of a tenant that may have one a second"
    ),
    "a turn of a key is given twice": Fault(
        instead(acquire, _notes_no_child),
        A_SECOND,
        meeting="three executions of one instant, under a limiter of one a second",
    ),
    "a limiter drops a holder that is not yet claimed": Fault(
        instead(has_slot, _only_visible_rows),
        AT_ONCE,
        meeting="three executions of one instant, under a limiter with one slot",
    ),
    "a run that is over keeps its slot": Fault(
        instead(has_slot, _all_named_runs),
        "no slot stays free while a run waits for it",
        scene="lines in front of a limiter",
    ),
    "a run that its target took over loses its slot": Fault(
        instead(has_slot, by_its_lease), AT_ONCE, scene="a limiter of runs that outlive their executor"
    ),
    "a slot is free when a lease is out": Fault(
        instead(has_slot, by_its_lease),
        AT_ONCE,
        meeting="an execution that sleeps longer than its lease, while others wait for its slot",
    ),
    "a slot is reserved for a run that is over": Fault(
        instead(has_slot, _in_any_state),
        "no slot stays free while a run waits for it",
        scene="lines in front of a limiter",
    ),
    "a limiter admits no run from its line": Fault(
        instead(room_for, _no_room_for_turns),
        "turns are given while a run waits for one",
        scene="lines in front of a limiter",
    ),
    "a run that lines up late is not expected": Fault(
        instead(expect, lambda *_, **__: None, within=claiming),
        STUCK,
        meeting="an execution that takes long to put a run in line, behind a run that is soon over",
    ),
    "the last in a line are called first": Fault(
        answered("runs.in_line", lambda ids: ids[::-1]), "a line is served in its order", scene="runs under limiters"
    ),
    "a claim keeps its place in a line": Fault(
        instead(claimed, _still_in_line),
        "no run that is under way or over stands in a line",
        meeting="three executions of one instant, under a limiter with one slot",
    ),
    "a delivery is acknowledged though its new message was refused": Fault(
        given(MemoryInbox, "send_again", _as_taken), STUCK, 415
    ),
    "a line counts as empty while its limit is full": Fault(
        instead(left_in_line, _no_run_without_room),
        STUCK,
        meeting="three executions of one instant, under a limiter with one slot",
    ),
    "a limiter does not check whether a run that it sent has begun": Fault(
        instead(left_in_line, _no_run_is_sent_in_vain), STUCK, 219
    ),
    "a limiter that others wait for is not due": Fault(
        instead(left_in_line, _nothing_due),
        STUCK,
        meeting="three executions of one instant, under a limiter with one slot",
    ),
}
