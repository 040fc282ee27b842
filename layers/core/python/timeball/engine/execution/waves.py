"""When an executor claims the runs of its messages: shortly before the instant that each hints at, and many at a time.

Messages come seconds ahead, so that an executor that starts cold is in time. A claim must not: a claimed run can no
longer be cancelled or paused by a write alone, and takes its job's overlap lock from the runs before it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from timeball.domain.attempts.claim import CLAIM_AHEAD_MS, EARLIEST_CLAIM_MS
from timeball.domain.model.ids import RunId
from timeball.domain.time.instants import LATEST
from timeball.engine.context import Rules
from timeball.ports.queue import Delivery

TOGETHER_MS = EARLIEST_CLAIM_MS - CLAIM_AHEAD_MS
"""How much earlier a run may be claimed, together with others: a claim of ten costs little more than a claim of one."""


@dataclass(frozen=True)
class Wave:
    """Deliveries whose runs are claimed together, and when (ms)."""

    claim_at: int
    deliveries: tuple[Delivery, ...]


def waves_of(deliveries: Sequence[Delivery], now: int, rules: Rules) -> tuple[list[Wave], list[tuple[Delivery, int]]]:
    """Return the waves, the earliest first, and the deliveries that came too early, with when they must come again.

    All deliveries of a run are in one wave. A delivery without a hint is claimed at once.
    """
    hints: dict[RunId, int] = {}
    for delivery in deliveries:
        hints[delivery.run] = min(hints.get(delivery.run, LATEST), delivery.not_before or now)

    def claim_at(delivery: Delivery) -> int:
        return max(now, hints[delivery.run] - CLAIM_AHEAD_MS)

    waves: list[Wave] = []
    too_early: list[tuple[Delivery, int]] = []
    for delivery in sorted(deliveries, key=claim_at):
        if hints[delivery.run] > now + rules.early_ms:
            too_early.append((delivery, hints[delivery.run] - rules.lead_ms))
        elif waves and claim_at(delivery) <= waves[-1].claim_at + TOGETHER_MS:
            waves[-1] = replace(waves[-1], deliveries=(*waves[-1].deliveries, delivery))
        else:
            waves.append(Wave(claim_at(delivery), (delivery,)))
    return waves, too_early
