"""Faults of what tenants share: scans, and the slots of backfills."""

from collections.abc import Mapping, Sequence

import timeball.api.http.quotas as api_quotas
from tests.simulation.faults.hands import Fault, instead
from timeball.domain.backfill import Backfill
from timeball.domain.backfill_slots import BackfillSlots, allot
from timeball.domain.model.ids import BackfillKey
from timeball.domain.sharing.fairness import in_turns
from timeball.engine.quotas import reserve

_Standing = Mapping[BackfillKey, Backfill]


def _whoever_asks_gets_a_slot(
    slots: BackfillSlots, standing: _Standing, asking: Sequence[BackfillKey], _: int
) -> BackfillSlots:
    return allot(slots, standing, asking, 1_000)


def _who_is_over_keeps_its_slot(
    slots: BackfillSlots, standing: _Standing, asking: Sequence[BackfillKey], most: int
) -> BackfillSlots:
    return allot(slots, {**dict.fromkeys(slots.held), **standing}, asking, most)  # type: ignore[dict-item]


FAULTS = {
    "jobs are created without a count": Fault(
        instead(reserve, lambda *_: None, within=api_quotas), "no tenant has many more jobs than may", 14
    ),
    "moves on backfills without the bound": Fault(
        instead(allot, _whoever_asks_gets_a_slot), "no more backfills run than may", 138
    ),
    "a slot is kept by a backfill that is over": Fault(
        instead(allot, _who_is_over_keeps_its_slot), "nothing is stuck", 96
    ),
    "serves tenants in the order of the index": Fault(
        instead(in_turns, lambda items, *_: list(items)),
        "nobody waits for a hundred of another",
        meeting="a scan that breaks off among the jobs of many",
    ),
}
