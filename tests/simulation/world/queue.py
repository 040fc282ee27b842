"""A queue that delivers messages twice, late and out of order, gives up on some, and notes which process deletes each.

In some stories it refuses some messages of a batch, and accepts the others.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import TypeVar

from tests.simulation.world.process import acting_name
from timeball.domain.model.ids import RunId
from timeball.domain.model.runs.run import Run
from timeball.domain.time.instants import LATEST, SECOND_MS
from timeball.ports.queue import Delivery, Lead, Watch
from timeball.testing.memory_queue import MAX_RECEIVES, MemoryQueue
from timeball.testing.virtual_clock import VirtualClock

_Item = TypeVar("_Item")

_REFUSED = 0.1
"""The share of messages that are refused, in stories with refusals."""


@dataclass(frozen=True)
class Deletion:
    """A message of a run was deleted at a true time (ms), by the process of that name; `others` were left."""

    at: int
    by: str
    run: RunId
    others: int


class UnrulyQueue(MemoryQueue):
    """A queue that now and then delivers a message twice, late, out of order, or gives up on it.

    `uncarried` is the share of runs on whose messages it gives up every time. `refusals` draws what it refuses.
    `watched_at` is when each watch was accepted, `dropped_at` when watches were deleted.
    """

    def __init__(
        self,
        clock: VirtualClock,
        random: Random,
        lead: Lead,
        runs_per_message: int,
        refusals: Random | None = None,
    ) -> None:
        super().__init__(clock.now, lead, runs_per_message)
        self.unruly = True
        self._refusals = refusals
        self.uncarried = 0.0
        self._uncarried: set[RunId] = set()
        self._purged: set[RunId] = set()
        self._clock, self._random = clock, random
        self.deletions: list[Deletion] = []
        self.watched_at: dict[Watch, int] = {}
        self.dropped_at: list[int] = []
        self._watches: list[tuple[int, asyncio.Future[None]]] = []

    def send(self, runs: Sequence[Run], now: int) -> list[bool]:
        """Send each message, some twice, and refuse some."""
        return self._taking(runs, [run.id for run in runs], lambda taken: self._send(taken, now))

    def _send(self, runs: Sequence[Run], now: int) -> list[bool]:
        if self.unruly and self.uncarried:
            self._uncarried |= {one.id for one in runs if self._random.random() < self.uncarried}
        doubled = [one for one in runs if self.unruly and self._random.random() < 0.1]
        super().send(doubled, now)
        sent = super().send(runs, now)
        if sent:
            self._wake(self._clock.now())
        return sent

    def watch(self, watches: Sequence[Watch]) -> list[bool]:
        """Keep each watch until its instant, and refuse some."""
        return self._taking(watches, watches, self._watch)

    def _watch(self, watches: Sequence[Watch]) -> list[bool]:
        self.watched_at |= dict.fromkeys(watches, self._clock.now())
        return super().watch(watches)

    def drop_watch(self, watch: Watch) -> None:
        """Delete a watch, and note when."""
        self.watches.remove(watch)
        self.dropped_at.append(self._clock.now())

    def send_again(self, priority: str, deliveries: Sequence[Delivery], seconds: int) -> list[bool]:
        """Send new messages, and refuse some. Deliveries with the same receipt stay together."""
        again = super().send_again
        receipts = [delivery.receipt for delivery in deliveries]
        sent = self._taking(deliveries, receipts, lambda taken: again(priority, taken, seconds))
        self._wake(self._clock.now() + seconds * SECOND_MS)
        return sent

    def _taking(
        self, items: Sequence[_Item], messages: Sequence[object], send: Callable[[list[_Item]], list[bool]]
    ) -> list[bool]:
        """Send items, each in its message, except those of refused messages. Return for each whether it was sent."""
        if self._refusals is None or not self.unruly:
            return send([*items])
        draw = self._refusals.random
        refused = {message for message in dict.fromkeys(messages) if draw() < _REFUSED}
        taken = iter(send([item for item, message in zip(items, messages, strict=True) if message not in refused]))
        return [message not in refused and next(taken) for message in messages]

    def receive(self, priority: str, limit: int = 10, visibility_seconds: int = 900) -> list[Delivery]:
        """Deliver some of the visible messages, in any order."""
        if self.unruly:
            messages = self._messages.get(priority, [])
            self._random.shuffle(messages)
            limit = self._random.randrange(1, limit + 1)
            for message in messages:
                given_up = not self._uncarried.isdisjoint(message.runs) or self._random.random() < 0.02
                if given_up and message.visible_at <= self._clock.now():
                    message.receives = MAX_RECEIVES
        return super().receive(priority, limit, visibility_seconds)

    def hide_one(self, priority: str, receipt: str, seconds: int) -> None:
        """Set from when a received message is visible again."""
        super().hide_one(priority, receipt, seconds)
        self._wake(self._clock.now() + seconds * SECOND_MS)

    def delete_one(self, priority: str, receipt: str) -> None:
        """Delete a received message, and note the messages that its run has left."""
        message = self.newest(receipt)
        super().delete_one(priority, receipt)
        if message is not None:
            for run in message.runs:
                others = sum(run in one.runs for one in self._messages.get(priority, ())) + self.dead.count(run)
                if run not in self._purged:  # otherwise the message that the deletion relied on may be gone
                    self.deletions.append(Deletion(self._clock.now(), acting_name(), run, others))

    def purge(self) -> None:
        """Lose all messages to executors."""
        self._purged |= {run for messages in self._messages.values() for message in messages for run in message.runs}
        super().purge()

    async def arrivals(self) -> list[str]:
        """Return the priorities of which a message may be received, as soon as there is one."""
        while True:
            now = self._clock.now()
            first = {name: min(one.visible_at for one in queue) for name, queue in self._messages.items() if queue}
            arrived = [name for name, visible_at in first.items() if visible_at <= now]
            if arrived:
                return arrived
            visible_at = min(first.values(), default=LATEST)
            watch = self._clock.alarm(visible_at)
            self._watches.append((visible_at, watch))
            await watch

    def _wake(self, at: int) -> None:
        """Wake the waiters whose instant is later, so that they check again."""
        for watched_at, watch in self._watches:
            if watched_at > at and not watch.done():
                watch.set_result(None)
        self._watches = [one for one in self._watches if not one[1].done()]
