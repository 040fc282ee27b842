"""Faults of repeated work: a key names two jobs, a trigger is in no run or two, a run starts despite a newer one."""

from typing import Any

import timeball.engine.execution.claim as claiming
from tests.simulation.faults.hands import Fault, answered, instead, lost, swapped, without
from timeball.domain.model.evolve import evolve
from timeball.domain.model.runs.run import Run
from timeball.domain.planning.collecting import may_collect, request_in, stands_for
from timeball.engine.execution.gates import may_be_replaced
from timeball.ports.rows import Swap

_ONCE = "an acknowledged trigger is in its run once"


def _collects(swap: Swap[Any]) -> bool:
    before, after = swap.before, swap.after
    is_one_more = isinstance(after, Run) and after.collected is not None and after.collected != before.collected
    return is_one_more and before.attempt == 0


def _as_soon_as_before(swap: Swap[Any]) -> Any:
    before = swap.before
    kept = {"not_before": before.not_before, "moved_to": before.moved_to, "due_at": before.due_at}
    return evolve(swap.after, **kept) if _collects(swap) else swap.after


FAULTS = {
    "a unique key names each job that asks for it": Fault(
        answered("uniques.insert", lambda standing: [None] * len(standing)),
        "a job with a unique key is the one that it names",
        meeting="a submission of which a call fails, between two others under its key",
    ),
    "a unique key is given back at once": Fault(
        instead(stands_for, lambda *_: False),
        "a key names another job only when the one before has given it back",
        meeting="a submission of which a call fails, between two others under its key",
    ),
    "a trigger is acknowledged and not collected": Fault(
        lost("runs.swap", _collects),
        _ONCE,
        meeting="a trigger of which a call fails, between two others that are collected",
    ),
    "a submit is acknowledged and not collected": Fault(
        lost("runs.swap", _collects),
        "a submit is in the job that answers it",
        meeting="a submission of which a call fails, between two others under its key",
    ),
    "a repeated trigger counts as another one": Fault(
        instead(request_in, lambda *_: None), _ONCE, scene="repeated triggers and submits"
    ),
    "a run that has begun takes a trigger in": Fault(
        instead(may_collect, lambda run: not run.is_terminal),
        "a run collects until it begins",
        scene="repeated triggers and submits",
    ),
    "a trigger does not postpone the start": Fault(
        swapped("runs.swap", _as_soon_as_before),
        "a run waits while it collects triggers",
        meeting="a trigger of which a call fails, between two others that are collected",
    ),
    "a run looks for no newer one": Fault(
        without(claiming, "GATES", may_be_replaced),
        "no run starts after it found a newer run",
        scene="repeated triggers and submits",
    ),
}
