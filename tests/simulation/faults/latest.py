"""Faults of jobs that are judged by the latest cycles of their parents: when, by which cycle, and what wakes them."""

from collections.abc import Mapping, Sequence

from tests.simulation.faults.hands import Fault, instead
from timeball.domain.dependencies.evaluation import is_early
from timeball.domain.dependencies.trigger_rule import is_latest_cycle
from timeball.domain.model.ids import JobKey
from timeball.domain.model.runs.run import Run
from timeball.engine.context import Context
from timeball.engine.dependencies.evaluate import wake_newest_of
from timeball.engine.dependencies.latest import read_latest_cycles
from timeball.ports.collections import LedgerQuery


def _oldest_cycles(context: Context, jobs: Sequence[JobKey]) -> Mapping[JobKey, Run]:
    pages = [context.store.runs.ledger(LedgerQuery(key, 100, oldest_first=True)) for key in jobs]
    firsts = [next(filter(is_latest_cycle, page.runs), None) for page in pages]
    return {key: run for key, run in zip(jobs, firsts, strict=True) if run is not None}


FAULTS = {
    "a run is judged before its start": Fault(
        instead(is_early, lambda *_: False),
        "a run is judged by the latest cycles from its start on",
        scene="judged by latest cycles",
    ),
    "a run is judged by the first cycle of its parent": Fault(
        instead(read_latest_cycles, _oldest_cycles), "a run is judged by the latest cycles from its start on", 36
    ),
    "an end of a latest cycle wakes no run": Fault(
        instead(wake_newest_of, lambda *_: None),
        "each end of a latest cycle reaches the runs that wait for it",
        scene="judged by latest cycles",
    ),
}
