"""Execute a batch of messages, and what else waits in their queue while calls last: a call that hangs holds a place.

Lambda hands an invocation one batch, and no other before its slowest run has ended. So one target that hangs would hold
a whole executor, and as many as there are executors all of them. Instead an executor has a hundred places, and takes
more from its queue itself while a call lasts, by turns that leave room for who holds less (`sharing/places.py`). It
does so, too, while its runs wait for their instants, if executors seem too few for what is due then.
When it is too old for that, its successor does (`sharing/succession.py`).

Invariant: each batch has an owner of its own, as if it had an invocation of its own: no claim is taken for another's.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from timeball.domain.sharing.places import PLACES, placed, room_for_alike, room_for_others
from timeball.domain.sharing.succession import Part, needs_successor, part_of
from timeball.engine.context import MARGIN_SECONDS, Context
from timeball.engine.execution.acknowledge import Messages
from timeball.engine.execution.batch import Batch
from timeball.engine.execution.hands import Hands
from timeball.engine.execution.invocation import UNENDING, Term
from timeball.engine.execution.offload import Offload
from timeball.ports.queue import Delivery, Inbox, by_message
from timeball.ports.successor import Successor
from timeball.ports.target import Caller

log = logging.getLogger(__name__)

LOOK_EVERY_MS = 500
"""How long a call lasts before its executor takes more, and how often it then looks: most calls cost no request."""

_AT_ONCE = 10
_WORTHWHILE = 3
"""Messages for which an executor has room, if it asks ahead: what comes is hidden, read and claimed by itself."""


async def execute(
    context: Context,
    inbox: Inbox,
    caller: Caller,
    deliveries: Sequence[Delivery],
    owner: str,
    offload: Offload = asyncio.to_thread,
    term: Term = UNENDING,
) -> list[Delivery]:
    """Work through the deliveries, and what is taken meanwhile; return those of the deliveries not acknowledged.

    The messages of the others are to be removed by whom they were handed by, as Lambda does when this returns; before
    that they are removed here only where other batches last longer. `owner` names this invocation and no other, which
    has its `term`. Never raises for a message, a target or an unavailable store.
    """
    is_full = len(by_message(deliveries)) >= _AT_ONCE
    taking = _Taking(context, inbox, offload, term, term.successor, began_full=is_full, came_full=is_full)
    clock, hands = context.clock, Hands()
    first = Batch(context, inbox, caller, offload, deliveries, owner, hands, term.deadline_at, removes=False)
    given = asyncio.create_task(first.work())
    at_work: dict[asyncio.Task[Any], Batch] = {given: first}
    look_at = clock.now() + (0 if term.stays_until else LOOK_EVERY_MS)
    are_left = True
    try:
        while at_work or taking.stays():
            look = asyncio.create_task(clock.sleep_until(look_at))
            await asyncio.wait({look, *at_work}, return_when=asyncio.FIRST_COMPLETED)
            is_time = look.done()
            look.cancel()
            taking.learn(at_work.values())
            while is_time and (taken := await taking.take(at_work.values())):
                batch = Batch(
                    context, inbox, caller, offload, taken, f"{owner}+{taking.times}", hands, term.deadline_at
                )
                at_work[asyncio.create_task(batch.work())] = batch
                is_time = taking.asked > 1
            if clock.now() >= look_at:  # and not anew whenever a batch ends: they may end again and again
                look_at = clock.now() + LOOK_EVERY_MS
            at_work = {task: batch for task, batch in at_work.items() if not task.done()}
            if at_work and given.done() and are_left:  # Lambda removes them only when all of this returns
                at_work[asyncio.create_task(first.remove())], are_left = first, False
    finally:
        for task in at_work:
            task.cancel()
    return given.result()


@dataclass
class _Taking:
    """What an executor takes itself. `times` counts how often; `asked` is how many it asked for the last time.

    `successor` is the one that is not started yet. `began_full`: the batch that it was handed was as large as one can
    be; `came_full`: what came last was as much as could come.
    """

    context: Context
    inbox: Inbox
    offload: Offload
    term: Term
    successor: Successor | None
    began_full: bool
    came_full: bool
    times: int = 0
    asked: int = 0
    _at_once: int = _AT_ONCE
    _starting: asyncio.Task[None] | None = None

    def stays(self) -> bool:
        """Say whether this is a successor whose predecessor may still be there."""
        return self.context.clock.now() < self.term.stays_until and self._part() is not Part.RESTS

    async def take(self, batches: Iterable[Batch]) -> list[Delivery]:
        """Take what waits into places that are free, if that is needed; send back what is not to have one here.

        What goes back comes after all that waits by then, and may be late for it: so no more is asked for than will
        find a place, and one message at the least. A message stays if one of its runs has a place.
        """
        held = Counter(tenant for batch in batches for tenant in batch.tenants())
        self.asked = self._wanted(batches, held)
        if not self.asked:
            return []
        try:
            hidden_seconds = self.context.rules.lease_seconds + MARGIN_SECONDS
            found = await self.offload(self.inbox.receive, self.asked, hidden_seconds)
        except Exception:
            log.exception("nothing was taken")
            return []
        self.came_full = len(by_message(found)) == self.asked
        if found and self.successor is not None and needs_successor(self._left_ms()):
            self._starting = asyncio.create_task(self._start(self.successor))
            self.successor = None
        places = PLACES if self._part() is Part.TAKES else 0
        has_place = placed(held, [delivery.run.job.tenant for delivery in found], places)
        staying = {delivery.receipt for delivery, has in zip(found, has_place, strict=True) if has}
        await self._send_back([delivery for delivery in found if delivery.receipt not in staying])
        self.times += 1
        return [delivery for delivery in found if delivery.receipt in staying]

    def learn(self, batches: Iterable[Batch]) -> None:
        """After one went back, ask for one, and once: it would come again at once, but for that of quiet tenants."""
        for batch in batches:
            if batch.messages.has_sent_back():
                self._at_once = 1

    def _wanted(self, batches: Iterable[Batch], held: Mapping[str, int]) -> int:
        """Return for how many messages to ask: while a call lasts; or ahead, if that is worth a request."""
        of_a_message, lasts_since = self.context.rules.runs_per_message, self.context.clock.now() - LOOK_EVERY_MS
        if self._part() is Part.RESTS or PLACES - sum(held.values()) < of_a_message:
            return 0
        if self.stays() or any(batch.has_called_by(lasts_since) for batch in batches):
            return min(self._at_once, max(1, room_for_others(held) // of_a_message))
        ahead = min(self._at_once, room_for_alike(held) // of_a_message)
        return ahead if ahead >= _WORTHWHILE and self._are_too_few(batches) else 0

    def _are_too_few(self, batches: Iterable[Batch]) -> bool:
        """Say whether executors may be too few for what is due, while runs wait here for their instants.

        They may be while as much comes as was asked for. And who was handed a full batch looks once more just before
        it claims: what is still in the queue then, nobody else has taken.
        """
        soon = self.context.clock.now() + LOOK_EVERY_MS
        return any(
            (self.came_full and batch.waiting) or (self.began_full and batch.claims_by(soon)) for batch in batches
        )

    async def _send_back(self, deliveries: Sequence[Delivery]) -> None:
        self._at_once = 1 if deliveries else _AT_ONCE
        messages = Messages(self.context, self.inbox, self.offload)
        try:
            await messages.send_back(deliveries)
            await messages.remove_acknowledged()
        except Exception:
            log.exception("what has no place here comes again")

    async def _start(self, successor: Successor) -> None:
        """Start the successor; if that fails, it is tried again when something is found again."""
        try:
            await self.offload(successor.start, self.term.ends_at)
        except Exception:
            log.exception("no successor was started")
            self.successor = successor

    def _part(self) -> Part:
        return part_of(self._left_ms(), may_start_successor=self.successor is not None)

    def _left_ms(self) -> int:
        return self.term.ends_at - self.context.clock.now()
