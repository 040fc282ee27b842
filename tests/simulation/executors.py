"""Executors of one queue as they contend for its messages: how many, how long they live, whose calls they hold.

Of an executor this knows what it takes and sends back, by the engine's own rule of places, and how long a call lasts;
not what a claim reads and writes. Lambda starts one for each batch, up to a bound, and ends it after 15 minutes.
Beside that bound an executor starts its successor, by the engine's own rule.
"""

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from timeball.domain.sharing.places import PLACES, placed, room_for_others
from timeball.domain.sharing.succession import Part, needs_successor, part_of, unfit_seconds
from timeball.domain.time.instants import SECOND_MS
from timeball.engine.execution import execute
from timeball.ports.queue import Delivery
from timeball.testing.memory_queue import MemoryQueue

LIVES_MS = 900 * SECOND_MS
"""How long an executor lives at the most."""

CALLS_MS = 880 * SECOND_MS
"""How long it may call: then it needs to write what came of its calls."""

SUCCESSORS = 10
"""About how many of the executors of a queue have a successor (infra/executors.py)."""

COLD_START_MS = 2 * SECOND_MS
"""How long a successor takes to come."""

_AT_ONCE = 10

_DEFERRED_MS = 5 * SECOND_MS
"""After how long a run over a quota is sent again; its row brings it back, and no message."""


Rule = Callable[[Mapping[str, int], Sequence[str], int], list[bool]]
"""Who gets a place."""


@dataclass(frozen=True)
class Calls:
    """Of each tenant: how long its calls last (ms, 200 if nothing is said), and may last (ms, 300 s)."""

    last_ms: dict[str, int] = field(default_factory=dict)
    may_last_ms: dict[str, int] = field(default_factory=dict)


@dataclass
class _Executor:
    born_at: int
    held: list[tuple[int, int, Delivery]] = field(default_factory=list)
    looks_at: int = 0
    stays_until: int = 0
    may_start_successor: bool = False
    at_once: int = _AT_ONCE
    asked: int = 0

    def left_ms(self, now: int) -> int:
        return self.born_at + LIVES_MS - now

    def is_there(self, now: int) -> bool:
        part = part_of(self.left_ms(now), may_start_successor=self.may_start_successor)
        return bool(self.held) or (now < self.stays_until and part is not Part.RESTS)


@dataclass
class Executors:
    """Those of one queue. `began` is told of each call that begins, and when; `quotas` of runs at once, by tenant.

    Without `takes_more` each has the ten runs that it was handed, and no others before all of those are over. By its
    `rule` it gives places to what it takes. About so many of them have `successors`, drawn at random.
    """

    queue: MemoryQueue
    priority: str
    most: int
    calls: Calls
    quotas: dict[str, int]
    began: Callable[[Delivery, int], None]
    takes_more: bool = True
    places: int = PLACES
    rule: Rule = placed
    successors: int = SUCCESSORS
    most_at_work: int = 0
    runs_per_message: int = 1
    at_work: list[_Executor] = field(default_factory=list)
    coming: list[_Executor] = field(default_factory=list)
    deferred: list[tuple[int, Delivery]] = field(default_factory=list)
    left: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._random = random.Random(self.priority)

    def work(self, now: int) -> None:
        """End what is over, start executors for what waits, and take more where a call lasts."""
        inbox = self.queue.inbox(self.priority)
        inbox.send_again([delivery for at, delivery in self.deferred if at <= now], 0)
        self.deferred = [one for one in self.deferred if one[0] > now]
        for one in self.at_work:
            over = [delivery for _, ends_at, delivery in one.held if ends_at <= now]
            if over:
                self._acknowledge(over)
                one.held = [call for call in one.held if call[1] > now]
        self.at_work = [one for one in self.at_work if one.is_there(now)]
        handed = sum(not one.stays_until for one in self.at_work)
        while handed < self.most and (deliveries := self.queue.receive(self.priority)):
            one = _Executor(now, looks_at=now + execute.LOOK_EVERY_MS)
            one.may_start_successor = self._random.random() * self.most < self.successors
            self._begin(one, deliveries, now)
            self.at_work += [one] if one.held else []
            handed += bool(one.held)
        self.at_work += [one for one in self.coming if one.born_at <= now]
        self.coming = [one for one in self.coming if one.born_at > now]
        self.most_at_work = max(self.most_at_work, len(self.at_work))
        for one in self._random.sample(self.at_work, len(self.at_work)):  # nobody is always the first to look
            if self.takes_more and one.looks_at <= now:
                one.looks_at = now + execute.LOOK_EVERY_MS
                while self._takes(one, now) and one.asked > 1:
                    pass

    def _takes(self, one: _Executor, now: int) -> bool:
        """Take what waits into free places; say whether something came to stay."""
        part = part_of(one.left_ms(now), may_start_successor=one.may_start_successor)
        held = Counter(_tenant(delivery) for _, _, delivery in one.held)
        has_room = self.places - len(one.held) >= self.runs_per_message
        room = room_for_others(held, self.places) // self.runs_per_message
        one.asked = min(one.at_once, max(1, room)) if has_room else 0
        lasts = any(called_at <= now - execute.LOOK_EVERY_MS for called_at, _, _ in one.held)
        if part is Part.RESTS or not one.asked or not (lasts or now < one.stays_until):
            return False
        found = self.queue.receive(self.priority, one.asked)
        if found and one.may_start_successor and needs_successor(one.left_ms(now)):
            one.may_start_successor = False
            self.coming.append(_Executor(now + COLD_START_MS, stays_until=one.born_at + LIVES_MS))
        places = self.places if part is Part.TAKES else 0
        has_place = self.rule(held, [*map(_tenant, found)], places)
        staying = {delivery.receipt for delivery, has in zip(found, has_place, strict=True) if has}
        back = [delivery for delivery in found if delivery.receipt not in staying]
        stay = [delivery for delivery in found if delivery.receipt in staying]
        self._send_back(back)
        returned = self._begin(one, stay, now)
        one.at_once = 1 if back or returned else _AT_ONCE
        return bool(stay)

    def _begin(self, one: _Executor, deliveries: Sequence[Delivery], now: int) -> int:
        """Begin the calls that fit into what is left of an executor, and into a quota; count what went back at once."""
        under_way = Counter(_tenant(delivery) for other in self.at_work for _, _, delivery in other.held)
        returned = 0
        for delivery in deliveries:
            tenant, at = _tenant(delivery), max(now, delivery.not_before or 0)
            may_last_ms = self.calls.may_last_ms.get(tenant, 300 * SECOND_MS)
            if at + may_last_ms > one.born_at + CALLS_MS:
                seconds = unfit_seconds(delivery.unfit)
                returned += seconds == 0
                self._send_back([replace(delivery, unfit=delivery.unfit + 1)], seconds)
                continue
            if under_way[tenant] >= self.quotas.get(tenant, 10**9):
                self._acknowledge([delivery])
                self.deferred.append((now + _DEFERRED_MS, delivery))
                continue
            under_way[tenant] += 1
            one.held.append((at, at + self.calls.last_ms.get(tenant, 200), delivery))
            self.began(delivery, at)
        return returned

    def _send_back(self, deliveries: Sequence[Delivery], seconds: int = 0) -> None:
        self.queue.inbox(self.priority).send_again(deliveries, seconds)
        self._acknowledge(deliveries)

    def _acknowledge(self, deliveries: Sequence[Delivery]) -> None:
        """Remove the messages of which these deliveries are the last."""
        for delivery in deliveries:
            self.left[delivery.receipt] = self.left.get(delivery.receipt, delivery.together) - 1
            if not self.left[delivery.receipt]:
                self.queue.inbox(self.priority).delete([delivery])


def _tenant(delivery: Delivery) -> str:
    return delivery.run.job.tenant
