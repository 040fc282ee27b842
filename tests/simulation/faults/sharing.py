"""Faults of what tenants share: scans, and the slots of backfills."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import timeball.engine.backfills.slots as sharing
import timeball.engine.scanning.scan as scanning
from tests.simulation.faults.patching import Fault, Patch
from timeball.domain.backfills.backfill import Backfill
from timeball.domain.backfills.slots import Slots, allot
from timeball.domain.model.ids import BackfillKey


def _whoever_asks_gets_a_slot(patch: Patch) -> None:
    def unbounded(
        slots: Slots, standing: Mapping[BackfillKey, Backfill], asking: Sequence[BackfillKey], _: int
    ) -> Slots:
        return allot(slots, standing, asking, 1_000)

    patch.setattr(sharing, "allot", unbounded)


def _a_slot_is_kept_by_who_is_over(patch: Patch) -> None:
    def keeping(
        slots: Slots, standing: Mapping[BackfillKey, Backfill], asking: Sequence[BackfillKey], most: int
    ) -> Slots:
        return allot(slots, {**dict.fromkeys(slots.held), **standing}, asking, most)  # type: ignore[dict-item]

    patch.setattr(sharing, "allot", keeping)


def _in_the_order_of_the_index(patch: Patch) -> None:
    def as_given(items: Iterable[Any], _: object) -> list[Any]:
        return list(items)

    patch.setattr(scanning, "in_turns", as_given)


FAULTS = {
    "moves on backfills without the bound": Fault(_whoever_asks_gets_a_slot, "no more backfills run than may", 160),
    "a slot is kept by a backfill that is over": Fault(_a_slot_is_kept_by_who_is_over, "nothing is stuck"),
    "serves tenants in the order of the index": Fault(
        _in_the_order_of_the_index,
        "nobody waits for a hundred of another",
        meeting="a scan that breaks off among the jobs of many",
    ),
}
