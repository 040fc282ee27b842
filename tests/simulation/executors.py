"""A model of one queue's executors that contend for messages: how many there are, how long they live, and their calls.

The model knows which messages an executor takes and sends back, by the engine's own rule of capacity, and how long a
call lasts. It does not know what a claim reads and writes. Lambda starts one executor for each batch, up to a bound,
and ends it after 15 minutes. Beyond that bound an executor starts its successor, by the engine's own rule.
"""

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from timeball.domain.attempts.claim import CLAIM_AHEAD_MS
from timeball.domain.sharing.capacity import (
    CAPACITY,
    LOWEST,
    MINIMUMS,
    Asking,
    Holder,
    granted,
    room_for_alike,
    room_for_any,
    room_for_others,
)
from timeball.domain.sharing.executors import Phase, kept_ms, needs_successor, phase_of, unfit_seconds
from timeball.domain.time.instants import SECOND_MS
from timeball.engine.execution.capacity import LATE_MS, MOST_KEPT
from timeball.engine.execution.more_messages import (
    ABOVE_AHEAD_MS,
    ABOVE_EVERY_MS,
    AT_ONCE,
    LOOK_EVERY_MS,
    ROUNDS,
    WORTHWHILE,
)
from timeball.ports.queue import Delivery, by_message
from timeball.testing.memory_queue import MemoryQueue

NAMES = ("high", "normal", "low")
RANKS = {name: rank for rank, name in enumerate(NAMES)}
"""The priorities, in the order in which they get capacity."""

LIVES_MS = 900 * SECOND_MS
"""How long an executor lives at most."""

CALLS_MS = 880 * SECOND_MS
"""How long an executor may call: afterwards it needs the time to write the results of its calls."""

SUCCESSORS = 10
"""About how many of the executors of a queue have a successor (infra/executors.py)."""

COLD_START_MS = 2 * SECOND_MS
"""How long a successor takes to start."""

_DEFERRED_MS = 5 * SECOND_MS
"""After how long a run over a quota is sent again: by its row, and not by a message."""


Rule = Callable[..., list[bool]]
"""Decides which asking runs get capacity."""


@dataclass(frozen=True)
class Calls:
    """For each tenant: how long its calls last (ms, by default 200), and may last (ms, by default 300 s)."""

    last_ms: dict[str, int] = field(default_factory=dict)
    may_last_ms: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class _Message:
    """A message that has no capacity in its executor yet: from when it may be claimed, and until when it is kept."""

    deliveries: tuple[Delivery, ...]
    rank: int
    claim_at: int
    until: int = 0

    @property
    def asking(self) -> Asking:
        return Asking(_tenant(self.deliveries[0]), self.rank, len(self.deliveries))


@dataclass
class _Executor:
    born_at: int
    held: list[tuple[int, int, Delivery, int]] = field(default_factory=list)
    ahead: list[_Message] = field(default_factory=list)
    kept: list[_Message] = field(default_factory=list)
    looks_at: int = 0
    stays_until: int = 0
    may_start_successor: bool = False
    at_once: int = AT_ONCE
    asked: int = 0
    late_until: dict[int, int] = field(default_factory=dict)
    asks_above_at: int = 0
    began_full: bool = False
    has_more: bool = False
    came_full: bool = False

    def left_ms(self, now: int) -> int:
        return self.born_at + LIVES_MS - now

    def part(self, now: int) -> Phase:
        return phase_of(self.left_ms(now), may_start_successor=self.may_start_successor)

    def is_there(self, now: int) -> bool:
        holds = bool(self.held or self.ahead or self.kept)
        return holds or (now < self.stays_until and self.part(now) is not Phase.RESTS)

    def holders(self) -> Counter[Holder]:
        return Counter((_tenant(delivery), rank) for _, _, delivery, rank in self.held)

    def keeps(self, rank: int) -> bool:
        return any(message.rank == rank for message in self.kept)

    def tenants(self) -> Counter[str]:
        ahead = [delivery for message in self.ahead for delivery in message.deliveries]
        return Counter(_tenant(delivery) for delivery in (*(one[2] for one in self.held), *ahead))


@dataclass
class Executors:
    """The executors of one queue. `began` is called when a call begins, with its time; `quotas` bound parallel runs.

    Without `takes_more` each executor has the ten runs that it was invoked with, and no others before all of them are
    over. By its `rule` and the tenants' `weights` it gives capacity to the messages that it takes. About `successors`
    of the executors, drawn at random, have a successor. They take from their queue and those `above`, the highest
    first.
    """

    queue: MemoryQueue
    priority: str
    above: Sequence[str]
    most: int
    calls: Calls
    quotas: dict[str, int]
    began: Callable[[Delivery, int], None]
    takes_more: bool = True
    slots: int = CAPACITY
    rule: Rule = granted
    weights: Mapping[str, int] = field(default_factory=dict)
    successors: int = SUCCESSORS
    most_at_work: int = 0
    runs_per_message: int = 1
    at_work: list[_Executor] = field(default_factory=list)
    coming: list[_Executor] = field(default_factory=list)
    deferred: list[tuple[int, Delivery]] = field(default_factory=list)
    left: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._random = random.Random(self.priority)
        self._names = (*self.above, self.priority)
        self._own = RANKS[self.priority]
        self._inboxes = {RANKS[name]: self.queue.inbox(name) for name in self._names}

    def work(self, now: int) -> None:
        """End calls that are over, start executors for waiting messages, and take more messages during calls."""
        self._inboxes[self._own].send_again([delivery for at, delivery in self.deferred if at <= now], 0)
        self.deferred = [one for one in self.deferred if one[0] > now]
        for one in self.at_work:
            if over := [(delivery, rank) for _, ends_at, delivery, rank in one.held if ends_at <= now]:
                for delivery, rank in over:
                    self._acknowledge([delivery], rank)
                one.held = [call for call in one.held if call[1] > now]
        self.at_work = [one for one in self.at_work if one.is_there(now)]
        handed = sum(not one.stays_until for one in self.at_work)
        while handed < self.most and (deliveries := self.queue.receive(self.priority)):
            one = _Executor(now, looks_at=now + LOOK_EVERY_MS)
            one.may_start_successor = self._random.random() * self.most < self.successors
            one.began_full = one.came_full = len(by_message(deliveries)) >= AT_ONCE
            self._come(one, deliveries, self._own, now)
            while self._takes_above(one, now):
                pass
            self.at_work.append(one)
            handed += 1
        self.at_work += [one for one in self.coming if one.born_at <= now]
        self.coming = [one for one in self.coming if one.born_at > now]
        self.most_at_work = max(self.most_at_work, len(self.at_work))
        for one in self._random.sample(self.at_work, len(self.at_work)):  # no executor is always the first to poll
            if self.takes_more and one.looks_at <= now:
                one.looks_at = now + LOOK_EVERY_MS
                rounds = 0
                while self._takes(one, now, rounds) and one.asked > 1:
                    rounds += 1
            self._give_places(one, now)

    def _takes(self, one: _Executor, now: int, rounds: int) -> bool:
        """Take waiting messages from this queue and those above. Return whether any was kept."""
        asks = self._asks(one, now, rounds)
        one.asked = max(asks.values(), default=0)
        found = {rank: self.queue.receive(NAMES[rank], limit) for rank, limit in asks.items()}
        if self._own in asks:
            one.came_full = one.has_more = len(by_message(found[self._own])) == asks[self._own]
        if any(found.values()) and one.may_start_successor and needs_successor(one.left_ms(now)):
            one.may_start_successor = False
            self.coming.append(_Executor(now + COLD_START_MS, stays_until=one.born_at + LIVES_MS))
        takes = one.part(now) is Phase.TAKES
        if asks:
            one.at_once = AT_ONCE if takes or not any(found.values()) else 1
        self._find(one, {rank: deliveries for rank, deliveries in found.items() if rank < self._own}, asks, now)
        for rank, deliveries in found.items():
            if takes:
                self._come(one, deliveries, rank, now)
            else:
                self._send_back(deliveries, rank)
        return takes and any(found.values())

    def _asks(self, one: _Executor, now: int, rounds: int) -> dict[int, int]:
        """Return how many messages to request from each queue, as `engine/execution/more_messages.py` does."""
        if one.part(now) is Phase.RESTS:
            return {}
        tenants = one.tenants()
        lasts = now < one.stays_until or any(at <= now - LOOK_EVERY_MS for at, *_ in one.held)
        claims_soon = one.began_full and any(_is_soon(message, now) for message in one.ahead)
        asks: dict[int, int] = {}
        if lasts:
            asks[self._own] = self._wanted(one, tenants, rounds)
        elif (one.came_full and one.ahead) or claims_soon:
            room = room_for_alike(tenants, self.weights, self.slots) // self.runs_per_message
            asks[self._own] = min(one.at_once, room) if room >= WORTHWHILE else 0
        asks |= self._above(one, now, lasts=lasts)
        return {rank: limit for rank, limit in asks.items() if limit}

    def _takes_above(self, one: _Executor, now: int) -> bool:
        """Take waiting messages from above, before the runs due by now are claimed. Return whether any came."""
        asks = self._above(one, now, lasts=False)
        found = {rank: self.queue.receive(NAMES[rank], limit) for rank, limit in asks.items() if limit}
        self._find(one, found, asks, now)
        for rank, deliveries in found.items():
            self._come(one, deliveries, rank, now)
        return any(found.values())

    @staticmethod
    def _find(one: _Executor, found: Mapping[int, list[Delivery]], asks: Mapping[int, int], now: int) -> None:
        """Note what was found above: some messages may be late, or more may wait there."""
        for rank, deliveries in found.items():
            is_all = len(by_message(deliveries)) < asks[rank]
            if not is_all or any((delivery.not_before or now) < now for delivery in deliveries):
                one.late_until[rank] = now + LATE_MS
        if found and not any(found.values()) and not any(one.late_until.get(rank, 0) > now for rank in found):
            one.asks_above_at = now + ABOVE_EVERY_MS

    def _above(self, one: _Executor, now: int, *, lasts: bool) -> dict[int, int]:
        """Return how many messages to request from the queues above, as `engine/execution/more_messages.py` does."""
        if now < one.asks_above_at or one.part(now) is not Phase.TAKES:
            return {}
        own = [message for message in one.ahead if message.rank == self._own]
        waiting = [_tenant(delivery) for message in own for delivery in message.deliveries]
        beyond = waiting[MINIMUMS[self._own] :]
        is_soon = any(message.claim_at <= now + ABOVE_AHEAD_MS for message in one.ahead)
        if not lasts and not (beyond and is_soon and self._own == LOWEST):
            return {}
        room = room_for_any(one.tenants() - Counter(beyond), self.weights, self.slots) // self.runs_per_message
        limit = min(one.at_once, room)
        if not room:
            late = {rank: until for rank, until in one.late_until.items() if until > now and rank != self._own}
            one.late_until |= {rank: max(until, now + ABOVE_EVERY_MS) for rank, until in late.items()}
        return {RANKS[name]: limit for name in self.above if not one.keeps(RANKS[name])}

    def _wanted(self, one: _Executor, tenants: Mapping[str, int], rounds: int) -> int:
        if not one.keeps(self._own):
            return min(one.at_once, max(1, room_for_others(tenants, self.slots) // self.runs_per_message))
        return (one.at_once if len(one.kept) < MOST_KEPT else 1) if rounds < ROUNDS else 0

    def _come(self, one: _Executor, deliveries: Sequence[Delivery], rank: int, now: int) -> None:
        for ones in by_message(deliveries):
            claim_at = max(now, (ones[0].not_before or 0) - CLAIM_AHEAD_MS)
            one.ahead.append(_Message(tuple(ones), rank, claim_at))

    def _give_places(self, one: _Executor, now: int) -> None:
        """Give capacity to messages that may be claimed. Keep the others for a while, and then send them back."""
        due = [
            replace(message, until=_due_at(message, now) + kept_ms(message.deliveries[0].unfit, len(one.kept) + number))
            for number, message in enumerate(one.ahead)
            if message.claim_at <= now
        ]
        one.ahead = [message for message in one.ahead if message.claim_at > now]
        if due or one.kept:
            asking = [*one.kept, *due]
            late = min((rank for rank, until in one.late_until.items() if until > now), default=LOWEST)
            asks = [message.asking for message in asking]
            has_slot = self.rule(one.holders(), asks, self.weights, self.slots, late, more=one.has_more)
            one.kept = []
            for message, has in zip(asking, has_slot, strict=True):
                if has:
                    if self._begin(one, message.deliveries, message.rank, now):
                        one.at_once = 1
                elif message.until <= now or len(one.kept) >= MOST_KEPT or one.part(now) is not Phase.TAKES:
                    self._send_back([replace(one, unfit=one.unfit + 1) for one in message.deliveries], message.rank)
                else:
                    one.kept.append(message)
                    if message in due:
                        one.late_until[message.rank] = now + LATE_MS

    def _begin(self, one: _Executor, deliveries: Sequence[Delivery], rank: int, now: int) -> int:
        """Begin the calls that fit into an executor's time and a quota. Return how many were sent back at once."""
        returned = 0
        for delivery in deliveries:
            tenant, at = _tenant(delivery), max(now, delivery.not_before or 0)
            may_last_ms = self.calls.may_last_ms.get(tenant, 300 * SECOND_MS)
            if at + may_last_ms > one.born_at + CALLS_MS:
                seconds = unfit_seconds(delivery.unfit)
                returned += seconds == 0
                self._send_back([replace(delivery, unfit=delivery.unfit + 1)], rank, seconds)
                continue
            under_way = sum(_tenant(held) == tenant for other in self.at_work for _, _, held, _ in other.held)
            if tenant in self.quotas and under_way >= self.quotas[tenant]:
                self._acknowledge([delivery], rank)
                self.deferred.append((now + _DEFERRED_MS, delivery))
                continue
            one.held.append((at, at + self.calls.last_ms.get(tenant, 200), delivery, rank))
            self.began(delivery, at)
        return returned

    def _send_back(self, deliveries: Sequence[Delivery], rank: int, seconds: int = 0) -> None:
        self._inboxes[rank].send_again(deliveries, seconds)
        self._acknowledge(deliveries, rank)

    def _acknowledge(self, deliveries: Sequence[Delivery], rank: int) -> None:
        """Delete the messages of which these deliveries are the last."""
        for delivery in deliveries:
            self.left[delivery.receipt] = self.left.get(delivery.receipt, delivery.together) - 1
            if not self.left[delivery.receipt]:
                self._inboxes[rank].delete([delivery])


def _due_at(message: _Message, now: int) -> int:
    return max(now, message.deliveries[0].not_before or 0)


def _is_soon(message: _Message, now: int) -> bool:
    return message.claim_at <= now + LOOK_EVERY_MS


def _tenant(delivery: Delivery) -> str:
    return delivery.run.job.tenant
