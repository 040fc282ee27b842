"""Faults of quotas of runs: of who is asked before a run begins, and of what is noted of who does."""

from collections.abc import Sequence

import timeball.engine.execution.claim as claiming
from tests.simulation.faults.hands import Fault, instead
from timeball.domain.model.ids import RunId
from timeball.domain.model.quotas import Quotas
from timeball.domain.model.run import Run, RunState
from timeball.domain.policy.circuit_breaker import Admission
from timeball.domain.policy.pace import Begun, Pace, admit, is_under_way
from timeball.engine.context import Context
from timeball.engine.quotas.pace import pass_quotas


def _everybody_may(_: Context, __: Sequence[Run], ___: int) -> dict[RunId, Admission]:
    return {}


def _nobody_is_noted(pace: Pace, run: Run, quotas: Quotas, now: int, lease_ms: int) -> tuple[Pace, Admission]:
    return pace, admit(pace, run, quotas, now, lease_ms)[1]


def _only_who_is_seen(begun: Begun, row: Run | None, now: int) -> bool:
    is_seen = row is not None and row.attempt >= begun.attempt
    return is_seen and is_under_way(begun, row, now)


def _whoever_was_named(_: Begun, row: Run | None, __: int) -> bool:
    return row is not None and row.state is not RunState.SKIPPED


AT_ONCE, A_SECOND = "no more runs are under way than may", "no more runs begin in a second than may"

FAULTS = {
    "a claim asks nobody about quotas": Fault(instead(pass_quotas, _everybody_may, within=claiming), AT_ONCE, 14),
    "who begins is not named": Fault(instead(admit, _nobody_is_noted), AT_ONCE, 14),
    "a turn is given twice": Fault(instead(admit, _nobody_is_noted), A_SECOND, 4),
    "who is named and not yet claimed is dropped": Fault(instead(is_under_way, _only_who_is_seen), AT_ONCE, 229),
    "who is over keeps its place": Fault(instead(is_under_way, _whoever_was_named), "nothing is stuck", 19),
}
