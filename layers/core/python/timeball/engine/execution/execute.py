"""Execute a batch of messages, and more messages of the queue while calls last.

Lambda hands an invocation one batch, and no other before its slowest run has ended. So one target that hangs would
block a whole executor, and as many such targets as there are executors would block all of them. Instead an executor has
capacity for a hundred runs, which its tenants and priorities share (`sharing/capacity.py`), and a call that hangs
occupies only its own. While a call lasts, the executor takes more messages itself: from its queue, and from the queues
of higher priorities, to which it lends idle capacity. A message that gets no capacity is kept for a moment
(`capacity.py`). The executor also takes more while its runs wait for their instants, if executors seem too few for what
is due. When it is too old for that, its successor does so (`sharing/succession.py`).

Invariant: each batch has an owner of its own, as if it had an invocation of its own, so no batch mistakes another's
claim for its own.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from timeball.engine.context import Context
from timeball.engine.execution.batch import Batch
from timeball.engine.execution.capacity import Capacity
from timeball.engine.execution.in_flight import Hands
from timeball.engine.execution.invocation import UNENDING, Offload, Term
from timeball.engine.execution.more_messages import AT_ONCE, LOOK_EVERY_MS, Taker
from timeball.ports.queue import Delivery, Inbox, by_message
from timeball.ports.target import Caller


async def execute(
    context: Context,
    inbox: Inbox,
    caller: Caller,
    deliveries: Sequence[Delivery],
    owner: str,
    offload: Offload = asyncio.to_thread,
    term: Term = UNENDING,
) -> list[Delivery]:
    """Process the deliveries, and messages taken meanwhile; return the deliveries that are not acknowledged.

    The caller removes the messages of the other deliveries, as Lambda does when this returns. They are removed here
    only if other batches last longer. `owner` names this invocation and no other; the invocation has its `term`. Never
    raises for a message, a target or an unavailable store.
    """
    executor = _Executor(context, caller, deliveries, owner, offload, term, (*term.above, inbox))
    return await executor.work()


class _Executor:
    """An invocation: its running batches, the capacity that they share, and the messages that it takes itself."""

    def __init__(
        self,
        context: Context,
        caller: Caller,
        deliveries: Sequence[Delivery],
        owner: str,
        offload: Offload,
        term: Term,
        inboxes: Sequence[Inbox],
    ) -> None:
        self._context, self._caller, self._owner, self._offload = context, caller, owner, offload
        self._deadline_at, self._inboxes, self._hands = term.deadline_at, inboxes, Hands()
        self._slots = Capacity(context, offload)
        is_full = len(by_message(deliveries)) >= AT_ONCE
        self._taking = Taker(context, inboxes, offload, term, self._slots, term.successor, is_full, is_full)
        self._first = self._batch(deliveries, len(inboxes) - 1, owner, is_first=True)
        self._slots.batches = [self._first]
        self._at_work: dict[asyncio.Task[Any], Batch] = {}
        self._begun, self._done = 0, set[str]()
        self._look_at = context.clock.now() + (0 if term.stays_until else LOOK_EVERY_MS)

    async def work(self) -> list[Delivery]:
        """Work until nothing is left; return the deliveries of the first batch that are not acknowledged."""
        while taken := await self._taking.take_above([self._first, *self._at_work.values()]):
            self._begin(taken)
        given = asyncio.create_task(self._first.work())
        self._at_work[given] = self._first
        self._slots.batches = [*self._at_work.values()]
        are_left = True
        try:
            while self._at_work or self._slots.kept or self._taking.stays():
                await self._go_on()
                if self._at_work and given.done() and are_left:  # Lambda removes them only when all of this returns
                    self._at_work[asyncio.create_task(self._first.remove())], are_left = self._first, False
        finally:
            for task in self._at_work:
                task.cancel()
        return [one for one in given.result() if one.receipt not in self._done | self._taking.gone]

    async def _go_on(self) -> None:
        """Wait, then take what there is capacity for, give back what was kept for too long, and drop ended batches."""
        is_time = await self._wait()
        self._taking.learn(self._at_work.values())
        self._begin(await self._taking.refill(), has_slots=True)
        if is_time:
            await self._take()
        await self._taking.give_back()  # and take nothing before the next check: others may have room for it
        if self._context.clock.now() >= self._look_at:  # not after each batch that ends: there may be many
            self._look_at = self._context.clock.now() + LOOK_EVERY_MS
        self._end()

    async def _wait(self) -> bool:
        """Wait for the next check, the end of a batch, or free capacity for kept messages; return if a check is due."""
        look = asyncio.create_task(self._context.clock.sleep_until(self._look_at))
        freed = asyncio.create_task(self._slots.changed.wait()) if self._slots.kept else look
        await asyncio.wait({look, freed, *self._at_work}, return_when=asyncio.FIRST_COMPLETED)
        is_time = look.done()
        look.cancel()
        freed.cancel()
        self._slots.changed.clear()
        return is_time

    async def _take(self) -> None:
        rounds = 0
        while taken := await self._taking.take(self._at_work.values(), rounds):
            self._begin(taken)
            rounds += 1
            if self._taking.asked <= 1:
                return

    def _begin(self, taken: Mapping[int, Sequence[Delivery]], *, has_slots: bool = False) -> None:
        """Begin a batch of the messages that were taken of each priority, by its rank."""
        for rank, deliveries in taken.items():
            self._begun += 1
            one = self._batch(deliveries, rank, f"{self._owner}+{self._begun}", has_slots=has_slots)
            self._at_work[asyncio.create_task(one.work())] = one
        self._slots.batches = [*self._at_work.values()]

    def _end(self) -> None:
        ended = [task for task in self._at_work if task.done()]
        self._done |= {one.receipt for task in ended for one in self._at_work[task].messages.done()}
        for task in ended:
            del self._at_work[task]
        self._slots.batches = [*self._at_work.values()]

    def _batch(
        self, deliveries: Sequence[Delivery], rank: int, owner: str, *, is_first: bool = False, has_slots: bool = False
    ) -> Batch:
        return Batch(
            self._context,
            self._inboxes[rank],
            self._caller,
            self._offload,
            deliveries,
            owner,
            self._hands,
            self._slots,
            rank,
            self._deadline_at,
            removes=not is_first,
            has_slots=has_slots,
        )
