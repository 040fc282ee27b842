"""The messages of one invocation: hidden while their runs are worked on, acknowledged when that work is done.

Invariant: a message is acknowledged only when its run's finish and effects are written, or the claim has found them so.
"""

from collections.abc import Sequence
from dataclasses import replace

from timeball.domain.policy.succession import unfit_seconds
from timeball.domain.time.instants import SECOND_MS
from timeball.engine.context import MARGIN_SECONDS, Context
from timeball.engine.execution.offload import Offload
from timeball.ports.queue import Delivery, Inbox

_LONGEST_HIDE_SECONDS = 900


class Messages:
    """What an invocation was handed. `acknowledged` ones may be removed; `removed` ones are gone."""

    def __init__(self, context: Context, inbox: Inbox, offload: Offload) -> None:
        self._context, self._inbox, self._offload = context, inbox, offload
        self.acknowledged: list[Delivery] = []
        self.removed: list[Delivery] = []
        self._has_sent_back = False

    async def hide(self, deliveries: Sequence[Delivery], wait_ms: int = 0) -> None:
        """Keep messages from other executors until runs may be taken over that are claimed after so long."""
        rules = self._context.rules
        wait_seconds = -(-wait_ms // SECOND_MS)
        await self._offload(self._inbox.hide, deliveries, wait_seconds + rules.lease_seconds + MARGIN_SECONDS)

    async def put_off(self, delivery: Delivery, wait_until: int | None) -> None:
        """Let a message come again at an instant (ms), or as late as its queue can."""
        wait_ms = (wait_until or 0) - self._context.clock.now()
        seconds = min(max(-(-wait_ms // SECOND_MS), 1), _LONGEST_HIDE_SECONDS)
        await self._offload(self._inbox.hide, [delivery], seconds)

    async def send_back(self, deliveries: Sequence[Delivery]) -> None:
        """Let messages come again at once as new ones: there was no room for them, which is no delivery in vain.

        The new message is sent before the old one may go. One whose fate is unknown stays hidden, and comes again.
        """
        if deliveries:
            await self._send_again(deliveries, deliveries, 0)

    async def send_back_unfit(self, delivery: Delivery) -> None:
        """Let a message come again as a new one, the later the oftener: what fits nowhere is in nobody's way."""
        counted = replace(delivery, unfit=delivery.unfit + 1)
        await self._send_again([delivery], [counted], unfit_seconds(delivery.unfit))

    async def _send_again(self, deliveries: Sequence[Delivery], anew: Sequence[Delivery], seconds: int) -> None:
        self._has_sent_back |= seconds == 0
        sent = await self._offload(self._inbox.send_again, anew, seconds)
        self.acknowledged += [delivery for delivery, is_sent in zip(deliveries, sent, strict=True) if is_sent]

    def has_sent_back(self) -> bool:
        """Say whether some were sent back since this was asked before, and come again at once."""
        has_sent_back, self._has_sent_back = self._has_sent_back, False
        return has_sent_back

    async def remove_acknowledged(self) -> None:
        """Remove the messages that have done their work."""
        gone = [delivery for delivery in self.acknowledged if delivery not in self.removed]
        if gone:
            await self._offload(self._inbox.delete, gone)
            self.removed += gone
