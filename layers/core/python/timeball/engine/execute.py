"""Execute a batch of messages: claim, hold to the millisecond, call, finish; a message is removed last.

One invocation works on all its runs at once. Leases are renewed for all of them in one write, finishes that come
together are written together, and one bad message or dead target holds up no other.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ParamSpec, Protocol, TypeVar

from timeball.domain.instants import SECOND_MS
from timeball.domain.job import Job
from timeball.domain.run import Run
from timeball.engine.claim import Claim, claim
from timeball.engine.finish import Result, finish
from timeball.engine.renew import renew
from timeball.engine.world import World
from timeball.ports import Answer, Call, Caller, Delivery, Inbox

log = logging.getLogger(__name__)

_P = ParamSpec("_P")
_T = TypeVar("_T")

_LONGEST_HIDE_SECONDS = 900


class Offload(Protocol):
    """How blocking calls leave the event loop: a thread in production, nothing at all under a virtual clock."""

    async def __call__(self, work: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Run the work and return what it returns."""


@dataclass(frozen=True)
class _Cut:
    """Why a call was cut, and the answer that stands for it; None if the attempt is no longer ours to finish."""

    answer: Answer | None


@dataclass
class _Held:
    """A run of this batch: its message, its row as last written, the call in flight, and why that was cut."""

    delivery: Delivery
    run: Run
    job: Job
    call: asyncio.Task[Answer] | None = None
    cut: _Cut | None = None


async def execute(
    world: World,
    inbox: Inbox,
    caller: Caller,
    deliveries: Sequence[Delivery],
    owner: str,
    offload: Offload = asyncio.to_thread,
) -> list[Delivery]:
    """Work through the deliveries; return those that are not settled, for the queue to deliver again.

    `owner` names this invocation and no other. Never raises for a message, a target or an unavailable store.
    """
    batch = _Batch(world, inbox, caller, owner, offload)
    try:
        await batch.claim(deliveries)
        await batch.work()
    except Exception:
        log.exception("batch given back", extra={"owner": owner})
    await batch.delete_settled()
    return [delivery for delivery in deliveries if delivery not in batch.deleted]


class _Batch:
    """The live runs of one invocation. `settled` messages wait for their removal; `deleted` ones are gone."""

    def __init__(self, world: World, inbox: Inbox, caller: Caller, owner: str, offload: Offload) -> None:
        self.world, self.inbox, self.caller, self.owner, self.offload = world, inbox, caller, owner, offload
        self.live: list[_Held] = []
        self.answered: asyncio.Queue[tuple[_Held, Answer, asyncio.Future[bool]]] = asyncio.Queue()
        self.settled: list[Delivery] = []
        self.deleted: list[Delivery] = []

    async def claim(self, deliveries: Sequence[Delivery]) -> None:
        """Hide the messages for a lease, then claim what they name; those of others wait as long as the claim says."""
        rules = self.world.rules
        await self.offload(self.inbox.hide, deliveries, rules.lease_seconds + rules.lease_margin_seconds)
        claims = await self.offload(claim, self.world, [delivery.run for delivery in deliveries], self.owner)
        for delivery, one in zip(deliveries, claims, strict=True):
            if one.is_mine and one.run is not None and one.job is not None:
                self.live.append(_Held(delivery, one.run, one.job))
            elif one.is_done:
                self.settled.append(delivery)
            else:
                await self._put_off(delivery, one)

    async def _put_off(self, delivery: Delivery, one: Claim) -> None:
        wait_ms = (one.wait_until or 0) - self.world.clock.now()
        seconds = min(max(-(-wait_ms // SECOND_MS), 1), _LONGEST_HIDE_SECONDS)
        await self.offload(self.inbox.hide, [delivery], seconds)

    async def work(self) -> None:
        """Call every target when its time comes, renewing and finishing meanwhile, until no run is live."""
        if not self.live:
            return
        helpers = [asyncio.create_task(self._finish_answered()), asyncio.create_task(self._keep_leases())]
        try:
            for outcome in await asyncio.gather(*map(self._work_on, self.live), return_exceptions=True):
                if isinstance(outcome, BaseException):
                    log.error("a run was given back", exc_info=outcome, extra={"owner": self.owner})
        finally:
            for helper in helpers:
                helper.cancel()
            await asyncio.gather(*helpers, return_exceptions=True)

    async def _work_on(self, held: _Held) -> None:
        held.call = asyncio.create_task(self._hold_and_call(held))
        answer: Answer | None
        try:
            answer = await held.call
        except asyncio.CancelledError:
            if held.cut is None:
                raise
            answer = held.cut.answer
        if answer is not None:
            finished: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
            self.answered.put_nowait((held, answer, finished))
            if await finished:
                self.settled.append(held.delivery)

    async def _hold_and_call(self, held: _Held) -> Answer:
        """Hold the run until its instant, then call it; one that was asked to stop meanwhile is not called."""
        await self.world.clock.sleep_until(held.run.not_before)
        if held.run.cancel_requested:
            return Answer(None, self.world.clock.now(), error="It was cancelled before the call.")
        if held.job.work is None:
            raise ValueError(f"job {held.job.key.job_id} was read without its work")
        return await self.caller.call(Call(held.run.id, held.run.attempt, held.job.work, held.job.timeout_seconds))

    async def _finish_answered(self) -> None:
        """Write the finishes that came in while the last ones were written, all in one go."""
        while True:
            together = [await self.answered.get()]
            while not self.answered.empty():
                together.append(self.answered.get_nowait())
            try:
                results = [Result(held.run, held.job, answer) for held, answer, _ in together]
                may_go = await self.offload(finish, self.world, results)
            except Exception:
                log.exception("finishes given back", extra={"owner": self.owner})
                may_go = [False] * len(together)
            for (_, _, finished), gone in zip(together, may_go, strict=True):
                finished.set_result(gone)

    async def _keep_leases(self) -> None:
        """Renew at each heartbeat, remove settled messages, and stop what is no longer ours or was asked to stop."""
        rules, clock = self.world.rules, self.world.clock
        while True:
            await clock.sleep_until(clock.now() + rules.heartbeat_seconds * SECOND_MS)
            calling = [held for held in self.live if held.call is not None and not held.call.done()]
            rows: list[Run | None] = [held.run for held in calling]
            try:
                await self.delete_settled()
                rows = await self.offload(renew, self.world, [held.run for held in calling])
                kept = [held.delivery for held, row in zip(calling, rows, strict=True) if row is not None]
                await self.offload(self.inbox.hide, kept, rules.lease_seconds + rules.lease_margin_seconds)
            except Exception:
                log.exception("leases not renewed", extra={"owner": self.owner})
            for held, row in zip(calling, rows, strict=True):
                self._heed(held, row)

    def _heed(self, held: _Held, row: Run | None) -> None:
        """Cut a call that lost its lease, or would before the next heartbeat, or that was asked to stop."""
        if held.call is None or held.call.done():
            return
        rules, now = self.world.rules, self.world.clock.now()
        next_look_at = now + rules.heartbeat_seconds * SECOND_MS
        if row is None or (row.lease_until or 0) - rules.margin_ms < next_look_at:
            log.warning("lease lost; the call is cut", extra={"run_id": str(held.run.id), "attempt": held.run.attempt})
            held.cut = _Cut(None)
            held.call.cancel()
            return
        held.run = row
        if row.cancel_requested:
            held.cut = _Cut(Answer(None, now, error="It was cancelled while it ran."))
            held.call.cancel()

    async def delete_settled(self) -> None:
        """Remove the messages that have done their work."""
        if self.settled:
            gone, self.settled = self.settled, []
            await self.offload(self.inbox.delete, gone)
            self.deleted += gone
