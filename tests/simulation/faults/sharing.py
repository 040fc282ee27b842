"""Faults of what tenants share: scans, and the slots of backfills."""

from collections.abc import Container, Sequence

import timeball.api.http.quotas as api_quotas
from tests.simulation.faults.hands import Fault, instead
from timeball.domain.backfill_slots import BackfillSlots, allot, holders
from timeball.domain.model.ids import BackfillKey
from timeball.domain.sharing.fairness import in_turns
from timeball.engine.quotas import reserve


def _ended_runs_keep_slots(
    slots: BackfillSlots, standing: Container[BackfillKey], asking: Sequence[BackfillKey], most: int
) -> BackfillSlots:
    open_ones = {key for key in asking if key in standing}
    return allot(slots, {*slots.named, *open_ones}, asking, most)


FAULTS = {
    "jobs are created without a count": Fault(
        instead(reserve, lambda *_: None, within=api_quotas),
        "no tenant has many more jobs than may",
        scene="more jobs than a tenant may have",
    ),
    "moves on backfills without the bound": Fault(
        instead(holders, lambda slots, _: slots.named),
        "no more backfills run than may",
        scene="backfills that share slots",
    ),
    "a slot is kept by a backfill that is over": Fault(
        instead(allot, _ended_runs_keep_slots), "nothing is stuck", scene="backfills that share slots"
    ),
    "serves tenants in the order of the index": Fault(
        instead(in_turns, lambda items, *_: list(items)),
        "no job waits for a hundred of another tenant",
        meeting="a scan that breaks off among the jobs of many",
    ),
}
