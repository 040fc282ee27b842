"""Faults of runs with items: which items they are, and when the whole is over."""

from collections.abc import Sequence
from typing import Any

from tests.simulation.faults.hands import Fault, instead, lost
from timeball.domain.dependencies.fan_out import (
    NamedItems,
    answered_items,
    concluded,
    healed,
    is_of_before,
    item_run,
)
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import RunId
from timeball.domain.model.runs.run import Run
from timeball.domain.model.runs.values import FanOut
from timeball.engine.context import Context
from timeball.engine.runs.fan_out import save_named
from timeball.ports.rows import Swap


def _shifted(head: Run, job: Any, number: int, digest: str, now: int) -> Run:
    return item_run(head, job, number + 1, digest, now)


def _with_half(head: Run, fan: FanOut, items: Sequence[Run | None], now: int) -> Run:
    """Conclude by the first item alone."""
    return concluded(head, fan, [*items[:1]] * len(items), now)


def _with_the_newest_alone(context: Context, run_id: RunId, named: NamedItems, now: int) -> str:
    return save_named(context, run_id, evolve(named, items=named.items[-1:]), now)


def _names(swap: Swap[Any]) -> bool:
    return isinstance(swap.after, Run) and swap.after.named != swap.before.named and swap.after.named is not None


FAULTS = {
    "items that a target names during its call are lost": Fault(
        lost("runs.swap", _names), "acknowledged items are among the items", 61
    ),
    "later items replace earlier ones": Fault(
        instead(save_named, _with_the_newest_alone), "items that an attempt names are kept", scene="a graph with items"
    ),
    "an answer names nothing": Fault(
        instead(answered_items, lambda _: []), "the items are those that the target named", scene="a graph with items"
    ),
    "items have the numbers of others": Fault(
        instead(item_run, _shifted), "a run of an item is called with that item", scene="a graph with items"
    ),
    "a run with items ends as its first item does": Fault(
        instead(concluded, _with_half), "a run with items ends as these do", 26
    ),
    "a cycle that runs again leaves its items as they were": Fault(
        instead(is_of_before, lambda *_: False),
        "a cycle that runs again runs its items again",
        scene="a graph with items",
    ),
    "a mended item does not mend its head run": Fault(
        instead(healed, lambda *_: None),
        "a head run that failed with an item is mended with it",
        scene="a graph with items",
    ),
}
