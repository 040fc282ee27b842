"""The messages of one invocation: hidden while their runs are processed, acknowledged when that is done.

Invariant: a delivery is acknowledged only when its run's finish and effects are written, when the claim has found them
so, or when a message of that run alone is sent. A message is removed when all of its deliveries are acknowledged.
"""

from collections.abc import Sequence
from dataclasses import replace

from timeball.domain.sharing.succession import unfit_seconds
from timeball.domain.time.instants import SECOND_MS
from timeball.engine.context import MARGIN_SECONDS, Context
from timeball.engine.execution.offload import Offload
from timeball.ports.queue import Delivery, Inbox, by_message, one_of_each_message

_LONGEST_HIDE_SECONDS = 900


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
