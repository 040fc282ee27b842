"""The messages of one batch: when the executor claims their runs, how long they stay hidden, and when they are removed.

Messages come seconds ahead, so that an executor that starts cold is in time. A claim must not: a claimed run can no
longer be cancelled or paused by a write alone, and takes its job's overlap lock from the runs before it. So runs are
claimed in waves, shortly before the instants that their messages hint at.

Invariant: a delivery is acknowledged only when its run's finish and effects are written, when the claim has found them
so, or when a message of that run alone is sent. A message is removed when all of its deliveries are acknowledged.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from timeball.domain.attempts.claim import CLAIM_AHEAD_MS, EARLIEST_CLAIM_MS
from timeball.domain.model.ids import RunId
from timeball.domain.sharing.executors import unfit_seconds
from timeball.domain.time.instants import LATEST, SECOND_MS
from timeball.engine.context import MARGIN_SECONDS, Context, Rules
from timeball.engine.execution.invocation import Offload
from timeball.ports.queue import Delivery, Inbox, by_message, one_of_each_message

_LONGEST_HIDE_SECONDS = 900

TOGETHER_MS = EARLIEST_CLAIM_MS - CLAIM_AHEAD_MS
"""How much earlier a run may be claimed, together with others: a claim of ten costs little more than a claim of one."""


class Messages:
    """The messages that an invocation received, and the deliveries that are `acknowledged`."""

    def __init__(self, context: Context, inbox: Inbox, offload: Offload) -> None:
        self._context, self._inbox, self._offload = context, inbox, offload
        self.acknowledged: list[Delivery] = []
        self._removed: set[str] = set()
        self._has_sent_back = False

    async def hide(self, deliveries: Sequence[Delivery], wait_ms: int = 0) -> None:
        """Hide messages from other executors until runs that are claimed after `wait_ms` may be taken over."""
        rules = self._context.rules
        wait_seconds = -(-wait_ms // SECOND_MS)
        messages = one_of_each_message(deliveries)
        await self._offload(self._inbox.hide, messages, wait_seconds + rules.lease_seconds + MARGIN_SECONDS)

    async def put_off(self, delivery: Delivery, wait_until: int | None) -> None:
        """Let a run come again at an instant (ms), or as late as its queue can; alone, if its message names others."""
        wait_ms = (wait_until or 0) - self._context.clock.now()
        seconds = min(max(-(-wait_ms // SECOND_MS), 1), _LONGEST_HIDE_SECONDS)
        if delivery.together > 1:
            await self._send_again([delivery], [delivery], seconds)
        else:
            await self._offload(self._inbox.hide, [delivery], seconds)

    async def send_back(self, deliveries: Sequence[Delivery]) -> None:
        """Send runs again at once in new messages: there was no room for them, which is no failed delivery."""
        if deliveries:
            await self._send_again(deliveries, deliveries, 0)

    async def send_back_unfit(self, deliveries: Sequence[Delivery]) -> None:
        """Send the runs of a message again, with a delay that grows: runs that fit nowhere must not block others."""
        counted = [replace(delivery, unfit=delivery.unfit + 1) for delivery in deliveries]
        await self._send_again(deliveries, counted, unfit_seconds(deliveries[0].unfit))

    async def _send_again(self, deliveries: Sequence[Delivery], anew: Sequence[Delivery], seconds: int) -> None:
        """Send new messages before the old ones may go. Runs whose send is unknown come again."""
        self._has_sent_back |= seconds == 0
        sent = await self._offload(self._inbox.send_again, anew, seconds)
        self.acknowledged += [delivery for delivery, is_sent in zip(deliveries, sent, strict=True) if is_sent]

    def has_sent_back(self) -> bool:
        """Return whether some were sent back since the last call, and come again at once."""
        has_sent_back, self._has_sent_back = self._has_sent_back, False
        return has_sent_back

    def done(self) -> list[Delivery]:
        """Return one delivery of each message that is done: all of its runs are acknowledged."""
        acknowledged = by_message(dict.fromkeys(self.acknowledged))
        return [ones[0] for ones in acknowledged if len(ones) == ones[0].together]

    async def remove_acknowledged(self) -> None:
        """Remove the messages that are done."""
        gone = [delivery for delivery in self.done() if delivery.receipt not in self._removed]
        if gone:
            await self._offload(self._inbox.delete, gone)
            self._removed.update(delivery.receipt for delivery in gone)


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
