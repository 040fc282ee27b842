"""Queues in memory, on a virtual clock: delays, visibility, repeated deliveries, dead messages; and watches.

When an executor returns, `handed_out` removes the messages that are done, as Lambda does.
"""

from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from timeball.domain.model.ids import RunId
from timeball.domain.model.runs.run import Run
from timeball.domain.time.instants import SECOND_MS
from timeball.engine.execution.invocation import Offload
from timeball.ports.errors import UnavailableError
from timeball.ports.queue import (
    NO_LEAD,
    Delivery,
    Depth,
    Inbox,
    Lead,
    Watch,
    by_message,
    in_messages,
    one_of_each_message,
)

MAX_RECEIVES = 10
LONGEST_DELAY_SECONDS = 900
NOISY_MESSAGES, NOISY_SHARE = 30, 0.1
"""A tenant is noisy from this number of messages in flight, and from this share of all, on."""


@dataclass(eq=False)
class _Message:
    runs: tuple[RunId, ...]
    not_before: int
    visible_at: int
    unfit: int = 0
    receives: int = 0
    receipt: str | None = None


class MemoryQueue:
    """The queues of all priorities. Senders use `send`; an executor uses the `inbox` of one priority.

    A message comes at least its lead before its runs' instant, and names `runs_per_message` of them at the most. A
    queue that `is_fair` delivers the messages of quiet tenants first.
    """

    def __init__(
        self, now: Callable[[], int], lead: Lead = NO_LEAD, runs_per_message: int = 1, *, is_fair: bool = True
    ) -> None:
        self._now, self._lead, self._runs_per_message, self._is_fair = now, lead, runs_per_message, is_fair
        self._messages: dict[str, list[_Message]] = {}
        self.received: dict[str, _Message] = {}
        self.dead: list[RunId] = []
        self.sent: list[Run] = []
        self.watches: list[Watch] = []

    def send(self, runs: Sequence[Run], now: int) -> list[bool]:  # noqa: ARG002 - a delay counts from the moment of sending
        """Send messages, visible after the whole seconds until their lead, or after the longest delay of a queue."""
        sent_at, lead_ms = self._now(), self._lead.of(len(runs))
        for positions in in_messages(runs, self._runs_per_message):
            first = runs[positions[0]]
            seconds = min(max(0, (first.not_before - lead_ms - sent_at) // SECOND_MS), LONGEST_DELAY_SECONDS)
            named = tuple(runs[position].id for position in positions)
            self._messages.setdefault(first.priority, []).append(
                _Message(named, first.not_before, sent_at + seconds * SECOND_MS)
            )
        self.sent += runs
        return [True] * len(runs)

    def watch(self, watches: Sequence[Watch]) -> list[bool]:
        """Keep each watch until its instant."""
        self.watches += watches
        return [True] * len(watches)

    def due_watches(self) -> list[Watch]:
        """Return the watches whose instant has come; each stays until it is removed from `watches`."""
        return [watch for watch in self.watches if watch.at <= self._now()]

    def depth(self, priority: str) -> Depth:
        """Count the messages: visible, in flight, and delayed."""
        hidden = [one for one in self._messages.get(priority, []) if one.visible_at > self._now()]
        in_flight = sum(one.receives > 0 for one in hidden)
        visible = len(self._messages.get(priority, [])) - len(hidden)
        return Depth(visible, in_flight, len(hidden) - in_flight)

    def purge(self) -> None:
        """Lose all messages to executors, received or not."""
        for messages in self._messages.values():
            messages.clear()

    def inbox(self, priority: str) -> "MemoryInbox":
        """Return the executor's side of one priority's queue."""
        return MemoryInbox(self, priority)

    def receive(self, priority: str, limit: int = 10, visibility_seconds: int = 900) -> list[Delivery]:
        """Deliver up to `limit` visible messages; a message that was received too often becomes dead instead.

        The messages of a tenant that keeps executors busy come last, as AWS documents it for fair queues.
        """
        now = self._now()
        messages = self._messages.get(priority, [])
        deliveries: list[Delivery] = []
        received = 0
        visible = [one for one in messages if one.visible_at <= now]
        for message in self._fairly(messages, now) if self._is_fair else visible:
            if received == limit:
                break
            if message.receives >= MAX_RECEIVES:
                messages.remove(message)
                self.dead += message.runs
                continue
            received += 1
            message.receives += 1
            message.receipt = f"receipt-{len(self.received) + 1}"
            message.visible_at = now + visibility_seconds * SECOND_MS
            self.received[message.receipt] = message
            deliveries += [
                Delivery(run, message.receipt, message.not_before, message.unfit, len(message.runs))
                for run in message.runs
            ]
        return deliveries

    @staticmethod
    def _fairly(messages: Sequence[_Message], now: int) -> list[_Message]:
        """Return the visible messages: first those of quiet tenants, then by how few of a tenant are in flight."""
        in_flight = Counter(one.runs[0].job.tenant for one in messages if one.visible_at > now and one.receives)
        noisy = {
            tenant: count
            for tenant, count in in_flight.items()
            if count >= NOISY_MESSAGES and count > NOISY_SHARE * in_flight.total()
        }
        visible = [one for one in messages if one.visible_at <= now]
        return sorted(visible, key=lambda one: noisy.get(one.runs[0].job.tenant, 0)) if noisy else visible

    def send_again(self, priority: str, deliveries: Sequence[Delivery], seconds: int) -> list[bool]:
        """Send new messages, visible in `seconds`: one for the deliveries of each receipt."""
        messages, visible_at = self._messages.setdefault(priority, []), self._now() + seconds * SECOND_MS
        messages += [
            _Message(tuple(one.run for one in ones), ones[0].not_before or 0, visible_at, ones[0].unfit)
            for ones in by_message(deliveries)
        ]
        return [True] * len(deliveries)

    def give_up(self, run: RunId) -> None:
        """Give up on the messages of a run, received or not, as if they had come back too often."""
        for messages in self._messages.values():
            self.dead += [named for message in messages if run in message.runs for named in message.runs]
            messages[:] = [message for message in messages if run not in message.runs]

    def waiting(self, priority: str) -> list[tuple[RunId, int]]:
        """Return the runs of each message that is not deleted, and when it becomes visible."""
        return [(run, message.visible_at) for message in self._messages.get(priority, []) for run in message.runs]

    def hide_one(self, priority: str, receipt: str, seconds: int) -> None:  # noqa: ARG002 - a receipt is of one queue
        """Set when a received message becomes visible again; a receipt that is no longer the newest does nothing."""
        message = self.newest(receipt)
        if message is not None:
            message.visible_at = self._now() + seconds * SECOND_MS

    def delete_one(self, priority: str, receipt: str) -> None:
        """Remove a received message."""
        message, messages = self.newest(receipt), self._messages.get(priority, [])
        if message in messages:
            messages.remove(message)

    def newest(self, receipt: str) -> _Message | None:
        """Return the message of a receipt, unless it was received again since."""
        message = self.received.get(receipt)
        return message if message is not None and message.receipt == receipt else None


@dataclass(frozen=True)
class MemoryInbox:
    """The executor's side of one queue in memory."""

    queue: MemoryQueue
    priority: str

    def receive(self, limit: int, seconds: int) -> list[Delivery]:
        """Receive up to `limit` visible messages, and hide each for `seconds`."""
        return self.queue.receive(self.priority, limit, seconds)

    def hide(self, deliveries: Sequence[Delivery], seconds: int) -> None:
        """Hide each message for `seconds` from now."""
        for delivery in deliveries:
            self.queue.hide_one(self.priority, delivery.receipt, seconds)

    def send_again(self, deliveries: Sequence[Delivery], seconds: int = 0) -> list[bool]:
        """Send new messages, visible in `seconds`: one for the deliveries of each receipt."""
        return self.queue.send_again(self.priority, deliveries, seconds)

    def delete(self, deliveries: Sequence[Delivery]) -> None:
        """Remove each message."""
        for delivery in deliveries:
            self.queue.delete_one(self.priority, delivery.receipt)


async def handed_out(
    inbox: Inbox,
    deliveries: Sequence[Delivery],
    work: Coroutine[Any, Any, list[Delivery]],
    offload: Offload | None = None,
) -> list[Delivery]:
    """Let an executor process deliveries; remove the messages of those that it does not return. Return the others."""
    returned = await work
    kept = {one.receipt for one in returned}
    done = one_of_each_message(one for one in deliveries if one.receipt not in kept)
    with suppress(UnavailableError):  # they come again
        if done and offload is not None:
            await offload(inbox.delete, done)
        elif done:
            inbox.delete(done)
    return returned
