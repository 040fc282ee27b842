"""The capacity of one executor, and the messages that wait for it. Both are known here, so the order is decided here.

A message that gets no capacity is kept for a moment: its runs begin as soon as capacity is free, and meanwhile it does
not delay others in its queue. Then it is sent back, because another executor may have room. Each time it is kept twice
as long, up to 8 s: a message whose tenant has its share everywhere costs few requests.
"""

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from timeball.domain.sharing.capacity import LOWEST, Asking, Holder, granted
from timeball.domain.sharing.executors import kept_ms
from timeball.domain.time.instants import MINUTE_MS, SECOND_MS
from timeball.engine.context import Context
from timeball.engine.execution.invocation import Offload
from timeball.engine.metrics import slots_in_use
from timeball.ports.queue import Delivery, by_message

MOST_KEPT = 200
"""How many messages without capacity an executor keeps: a queue has 120,000 in flight at the most."""

LATE_MS = 8 * SECOND_MS
"""How long runs of a higher priority are assumed to wait, after a full answer of their queue, a late run in it, or a
message that had to be kept: for so long another executor may keep the others."""

RECORDED_MS = 10 * SECOND_MS
"""How often an executor records how full it is."""


class Holding(Protocol):
    """A batch of one priority: `rank` 0 is `high`."""

    rank: int

    def held(self) -> Counter[str]:
        """Return how many of each tenant's runs hold capacity in it."""

    def due_by(self, at: int) -> list[Delivery]:
        """Return the deliveries that wait in it to be claimed by an instant (ms)."""


@dataclass(frozen=True)
class Kept:
    """The deliveries of one message that waits for capacity, and until when (ms) it is kept."""

    deliveries: tuple[Delivery, ...]
    rank: int
    until: int

    @property
    def asking(self) -> Asking:
        """Return what it asks for."""
        return Asking(self.deliveries[0].run.job.tenant, self.rank, len(self.deliveries))


class Capacity:
    """The capacity of an executor: `batches` hold it, `kept` messages wait for it. `changed`: some may be free.

    `has_more`: more messages wait in its queue than have come.
    """

    def __init__(self, context: Context, offload: Offload) -> None:
        self._context, self._offload = context, offload
        self.batches: list[Holding] = []
        self.kept: dict[str, Kept] = {}
        self.changed = asyncio.Event()
        self.weights: dict[str, int] = {}
        self.has_more = False
        self._weighed_at: int | None = None
        self._late_until: dict[int, int] = {}
        self._fullest, self._record_at = 0, 0

    async def admit(self, batch: Holding, deliveries: Sequence[Delivery]) -> list[Delivery]:
        """Return the deliveries whose runs get capacity now, and keep the messages of the others.

        Messages that are kept, and runs of other batches that will be claimed at the same time, compete for the
        capacity.
        """
        now = self._context.clock.now()
        asks = [self._kept(ones, batch.rank, number) for number, ones in enumerate(by_message(deliveries))]
        rivals = [
            self._kept(ones, other.rank, 0)
            for other in self.batches
            if other is not batch
            for ones in by_message(other.due_by(now + SECOND_MS))
        ]
        await self._weigh([*asks, *self.kept.values(), *rivals])
        chosen = {one.deliveries[0].receipt for one in self._placed([*asks, *self.kept.values(), *rivals])}
        refused = [one for one in asks if one.deliveries[0].receipt not in chosen]
        self.kept |= {one.deliveries[0].receipt: one for one in refused}
        if refused:
            self._late_until[batch.rank] = now + LATE_MS
        admitted = [delivery for delivery in deliveries if delivery.receipt in chosen]
        self._record(now, len(admitted))
        return admitted

    def _record(self, now: int, admitted: int) -> None:
        """Record from time to time how full this executor has been."""
        self._fullest = max(self._fullest, sum(self._held().values()) + admitted)
        if now >= self._record_at:
            slots_in_use(self._context, self._fullest)
            self._fullest, self._record_at = 0, now + RECORDED_MS

    async def refill(self) -> list[Kept]:
        """Remove and return the kept messages that get capacity now."""
        await self._weigh([*self.kept.values()])
        chosen = self._placed([*self.kept.values()])
        for one in chosen:
            del self.kept[one.deliveries[0].receipt]
        return chosen

    def let_go(self, *, everything: bool) -> list[Kept]:
        """Remove and return the kept messages that have waited long enough, and the latest ones beyond MOST_KEPT."""
        now = self._context.clock.now()
        most = 0 if everything else MOST_KEPT
        gone = [one for number, one in enumerate(self.kept.values()) if number >= most or one.until <= now]
        for one in gone:
            del self.kept[one.deliveries[0].receipt]
        return gone

    def find(self, rank: int, deliveries: Sequence[Delivery], *, is_all: bool) -> None:
        """Note what was found in the queue of a priority: some of it may be late, or more may wait there."""
        now = self._context.clock.now()
        if not is_all or any((one.not_before or now) < now for one in deliveries):
            self._late_until[rank] = now + LATE_MS

    def stay_late(self, ranks: Iterable[int], until: int) -> None:
        """Treat late priorities as late until an instant (ms): without room here, their queues were not asked."""
        for rank in ranks:
            if self.is_late([rank]):
                self._late_until[rank] = max(self._late_until[rank], until)

    def is_late(self, ranks: Iterable[int]) -> bool:
        """Return whether runs of one of these priorities are known to wait for too long."""
        return any(self._late_until.get(rank, 0) > self._context.clock.now() for rank in ranks)

    def keeps(self, rank: int) -> int:
        """Return how many messages of a priority wait here."""
        return sum(one.rank == rank for one in self.kept.values())

    def _held(self) -> Counter[Holder]:
        held = Counter[Holder]()
        for batch in self.batches:
            held.update({(tenant, batch.rank): count for tenant, count in batch.held().items()})
        return held

    def _placed(self, asks: Sequence[Kept]) -> list[Kept]:
        late = min(
            (rank for rank, until in self._late_until.items() if until > self._context.clock.now()), default=LOWEST
        )
        answers = granted(self._held(), [one.asking for one in asks], self.weights, late=late, more=self.has_more)
        return [one for one, is_granted in zip(asks, answers, strict=True) if is_granted]

    async def _weigh(self, asks: Sequence[Kept]) -> None:
        """Read the weights if tenants compete: there are several, and a message must wait, here or in the queue."""
        tenants = {tenant for tenant, _ in self._held()} | {one.asking.tenant for one in asks}
        if len(tenants) > 1 and (self.has_more or len(self._placed(asks)) < len(asks)):
            await self.read_weights(tenants)

    async def read_weights(self, tenants: Iterable[str]) -> None:
        """Read the weights of tenants, unless that was done within a minute."""
        now, wanted = self._context.clock.now(), sorted(tenants)
        is_known = self._weighed_at is not None and now < self._weighed_at + MINUTE_MS
        if not is_known or not self.weights.keys() >= {*wanted}:
            self._weighed_at = now
            found = await self._offload(self._context.weights_of, wanted)
            self.weights = dict.fromkeys(wanted, 1) | dict(found)

    def _kept(self, deliveries: Sequence[Delivery], rank: int, number: int) -> Kept:
        # A message that has come early is kept from its instant on: short calls of that instant end only then.
        due_at = max(self._context.clock.now(), deliveries[0].not_before or 0)
        return Kept(tuple(deliveries), rank, due_at + kept_ms(deliveries[0].unfit, len(self.kept) + number))
