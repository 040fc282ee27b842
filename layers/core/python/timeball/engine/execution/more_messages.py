"""Messages that an executor takes from queues itself, beyond its own batch, and messages that it sends back."""

import asyncio
import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from timeball.domain.sharing.capacity import LOWEST, MINIMUMS, room_for_alike, room_for_any, room_for_others
from timeball.domain.sharing.executors import Phase, needs_successor, phase_of
from timeball.domain.time.instants import SECOND_MS
from timeball.engine.context import MARGIN_SECONDS, Context
from timeball.engine.execution.acknowledge import Messages
from timeball.engine.execution.batch import Batch
from timeball.engine.execution.capacity import MOST_KEPT, Capacity, Kept
from timeball.engine.execution.invocation import Offload, Term
from timeball.ports.executors import Successor
from timeball.ports.queue import Delivery, Inbox, by_message

log = logging.getLogger(__name__)

LOOK_EVERY_MS = 500
"""How long a call lasts before its executor takes more, and how often it checks then: most calls cost no request."""

AT_ONCE = 10

WORTHWHILE = 3
"""For how many messages an executor must have room to ask ahead: each batch is hidden, read and claimed by itself."""

ABOVE_AHEAD_MS = 1_500
"""How long before its claims an executor asks the higher queues."""

ABOVE_EVERY_MS = 2 * SECOND_MS
"""How long an executor asks no higher queue after it found nothing there and no run is known to be late."""

ROUNDS = 3
"""How often in one check an executor asks its queue for messages that it can only keep: others may have room for
them."""


@dataclass
class Taker:
    """The messages that an executor takes itself. `asked`: for how many it asked one queue at most, the last time.

    `inboxes` are those of the priorities, the highest first and its own last. `successor` is not started yet.
    `began_full`: the batch that it was handed had the maximal size; `came_full`: the last request returned as many
    messages as it asked for. `gone` are the messages that were sent anew.
    """

    context: Context
    inboxes: Sequence[Inbox]
    offload: Offload
    term: Term
    slots: Capacity
    successor: Successor | None
    began_full: bool
    came_full: bool
    asked: int = 0
    gone: set[str] = field(default_factory=set)
    _at_once: int = AT_ONCE
    _asks_above_at: int = 0
    _starting: asyncio.Task[None] | None = None

    def stays(self) -> bool:
        """Return whether this is a successor whose predecessor may still be there."""
        return self.context.clock.now() < self.term.stays_until and self._part() is not Phase.RESTS

    async def take(self, batches: Iterable[Batch], rounds: int = 0) -> dict[int, list[Delivery]]:
        """Take waiting messages, if needed, by the rank of their priority. An executor that is too old keeps none.

        All queues are asked at once, because a request to an empty queue takes a second.
        """
        return await self._take(await self._asks([*batches], rounds))

    async def take_above(self, batches: Iterable[Batch]) -> dict[int, list[Delivery]]:
        """Take messages of higher priorities before the runs that are due by now are claimed."""
        return await self._take({rank: many for rank, many in self._above([*batches], lasts=False).items() if many})

    async def _take(self, asks: Mapping[int, int]) -> dict[int, list[Delivery]]:
        self.asked = max(asks.values(), default=0)
        found = dict(zip(asks, await asyncio.gather(*map(self._receive, asks, asks.values())), strict=True))
        are_any = any(found.values())
        self._learn_of(found, asks)
        if are_any and self.successor is not None and needs_successor(self._left_ms()):
            self._starting = asyncio.create_task(self._start(self.successor))
            self.successor = None
        takes = self._part() is Phase.TAKES
        if asks:
            self._at_once = AT_ONCE if takes or not are_any else 1
        if takes:
            return {rank: taken for rank, taken in found.items() if taken}
        await asyncio.gather(*map(self._send_back, found, found.values()))
        return {}

    def _learn_of(self, found: Mapping[int, list[Delivery]], asks: Mapping[int, int]) -> None:
        """Note what queues that were asked have: whether runs wait too long there, and whether there are more."""
        own = len(self.inboxes) - 1
        above = {rank: deliveries for rank, deliveries in found.items() if rank < own}
        for rank, deliveries in above.items():
            self.slots.find(rank, deliveries, is_all=len(by_message(deliveries)) < asks[rank])
        if above and not any(above.values()) and not self.slots.is_late(above):
            self._asks_above_at = self.context.clock.now() + ABOVE_EVERY_MS
        if own in asks:
            self.came_full = self.slots.has_more = len(by_message(found[own])) == asks[own]

    async def refill(self) -> dict[int, list[Delivery]]:
        """Return the kept messages that have capacity now, by rank."""
        takes = self._part() is Phase.TAKES
        return _by_rank(await self.slots.refill()) if takes and self.slots.kept else {}

    async def give_back(self) -> None:
        """Send back messages that were kept long enough."""
        gone = _by_rank(self.slots.let_go(everything=self._part() is not Phase.TAKES))
        await asyncio.gather(
            *(self._send_back(rank, [replace(one, unfit=one.unfit + 1) for one in ones]) for rank, ones in gone.items())
        )

    def learn(self, batches: Iterable[Batch]) -> None:
        """Ask for one message, once, after one was sent back: it comes again at once if no quiet tenant's waits."""
        for batch in batches:
            if batch.messages.has_sent_back():
                self._at_once = 1

    async def _receive(self, rank: int, limit: int) -> list[Delivery]:
        try:
            hidden_seconds = self.context.rules.lease_seconds + MARGIN_SECONDS
            return await self.offload(self.inboxes[rank].receive, limit, hidden_seconds)
        except Exception:
            log.exception("no messages were taken")
            return []

    async def _asks(self, batches: Sequence[Batch], rounds: int) -> dict[int, int]:
        """Return for how many messages to ask each queue: while a call lasts; or ahead, if that is worthwhile."""
        if self._part() is Phase.RESTS:
            return {}
        held, wanted = _held(batches), 0
        lasts_since, soon = self.context.clock.now() - LOOK_EVERY_MS, self.context.clock.now() + LOOK_EVERY_MS
        lasts = self.stays() or any(batch.has_called_by(lasts_since) for batch in batches)
        if lasts:
            wanted = self._wanted(held, rounds)
        elif self._are_too_few(batches, soon):
            wanted = await self._wanted_ahead(held)
        asks = {len(self.inboxes) - 1: wanted} | self._above(batches, lasts=lasts)
        return {rank: limit for rank, limit in asks.items() if limit}

    async def _wanted_ahead(self, held: Counter[str]) -> int:
        """Return for how many messages to ask the own queue ahead: for none if there is too little room."""
        of_a_message = self.context.rules.runs_per_message
        ahead = room_for_alike(held) // of_a_message
        if ahead < WORTHWHILE and len(held) > 1 and self.came_full:
            await self.slots.read_weights(held)
            ahead = room_for_alike(held, self.slots.weights) // of_a_message
        return min(self._at_once, ahead) if ahead >= WORTHWHILE else 0

    def _above(self, batches: Sequence[Batch], *, lasts: bool) -> dict[int, int]:
        """Return for how many messages to ask higher queues, while a call lasts or before `low` exceeds its minimum.

        It asks only for messages that get capacity here, whichever tenant owns them: other executors may be idle. Runs
        that wait here beyond the minimum of their priority have no capacity yet. `normal` does not ask ahead: that
        would be a request for each batch of every burst.
        """
        own, now = len(self.inboxes) - 1, self.context.clock.now()
        if now < self._asks_above_at or self._part() is not Phase.TAKES:
            return {}
        waiting = sum((batch.ahead() for batch in batches if batch.rank == own), Counter[str]())
        beyond = max(0, waiting.total() - MINIMUMS[own])
        if not lasts and not (beyond and own == LOWEST and _claims_by(batches, now + ABOVE_AHEAD_MS)):
            return {}
        free = room_for_any(_held(batches) - _part(waiting, beyond), self.slots.weights)
        room = free // self.context.rules.runs_per_message
        if room == 0:
            self.slots.stay_late(range(own), now + ABOVE_EVERY_MS)
        return {rank: min(self._at_once, room) for rank in range(own) if not self.slots.keeps(rank)}

    def _wanted(self, held: Mapping[str, int], rounds: int) -> int:
        """Return for how many messages to ask the own queue: for those that get capacity, or for all if some are kept.

        So messages after the kept ones are found.
        """
        if not self.slots.keeps(len(self.inboxes) - 1):
            return min(self._at_once, max(1, room_for_others(held) // self.context.rules.runs_per_message))
        return (self._at_once if len(self.slots.kept) < MOST_KEPT else 1) if rounds < ROUNDS else 0

    def _are_too_few(self, batches: Iterable[Batch], soon: int) -> bool:
        """Return whether executors may be too few for what is due, while runs wait here for their instants.

        They may be as long as each request returns as many messages as it asked for. An executor that was handed a full
        batch asks once more just before it claims: no other executor has taken what is still in the queue then.
        """
        return any(
            (self.came_full and batch.waiting) or (self.began_full and batch.claims_by(soon)) for batch in batches
        )

    async def _send_back(self, rank: int, deliveries: Sequence[Delivery]) -> None:
        messages = Messages(self.context, self.inboxes[rank], self.offload)
        try:
            await messages.send_back(deliveries)
            await messages.remove_acknowledged()
        except Exception:
            log.exception("messages without capacity here come again")
        self.gone |= {one.receipt for one in messages.done()}

    async def _start(self, successor: Successor) -> None:
        """Start the successor. If that fails, try again when more messages are found."""
        try:
            await self.offload(successor.start, self.term.ends_at)
        except Exception:
            log.exception("no successor was started")
            self.successor = successor

    def _part(self) -> Phase:
        return phase_of(self._left_ms(), may_start_successor=self.successor is not None)

    def _left_ms(self) -> int:
        return self.term.ends_at - self.context.clock.now()


def _held(batches: Iterable[Batch]) -> Counter[str]:
    """Return how many runs of each tenant hold capacity here, or wait for their instants."""
    return sum((batch.held() + batch.ahead() for batch in batches), Counter[str]())


def _claims_by(batches: Iterable[Batch], at: int) -> bool:
    """Return whether runs wait here that must be claimed by an instant (ms)."""
    return any(batch.claims_by(at) for batch in batches)


def _part(waiting: Counter[str], runs: int) -> Counter[str]:
    """Return `runs` of the waiting runs."""
    return Counter([*waiting.elements()][:runs])


def _by_rank(kept: Iterable[Kept]) -> dict[int, list[Delivery]]:
    found: dict[int, list[Delivery]] = {}
    for one in kept:
        found.setdefault(one.rank, []).extend(one.deliveries)
    return found
