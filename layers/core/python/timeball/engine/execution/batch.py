"""Process a batch of messages: wait, claim, hold to the millisecond, call, finish; a message is removed last.

All its runs are processed at once, and each is claimed shortly before its instant. Leases are renewed for all of them
in one write, finishes that come together are written together, and one bad message, row or target delays no other.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from timeball.domain.attempts.claim import CLAIM_AHEAD_MS, ClaimAction
from timeball.domain.model.ids import RunId
from timeball.domain.model.runs.values import Spent
from timeball.domain.time.instants import SECOND_MS
from timeball.engine.batches import bisect
from timeball.engine.context import Context
from timeball.engine.execution.acknowledge import Messages, Wave, waves_of
from timeball.engine.execution.capacity import Capacity
from timeball.engine.execution.claim import Claim, claim
from timeball.engine.execution.finish import Finishes
from timeball.engine.execution.in_flight import Hands, InFlight, call_of, renew_leases
from timeball.engine.execution.invocation import Offload, last_call_at, last_write_at
from timeball.ports.queue import Delivery, Inbox, by_message
from timeball.ports.target import Answer, Caller

log = logging.getLogger(__name__)


@dataclass
class Batch:
    """The messages of one batch, and their live runs.

    `owner` names this batch and no other. Its invocation, which shares its time in `hands`, ends at `deadline_at` (ms;
    None: never). With `removes` the batch removes its messages at its end. Its runs get capacity of the invocation from
    `slots` when they are claimed, by the `rank` of its priority; with `has_slots` they have it from the beginning.
    `waiting` are deliveries that are not claimed yet; `claiming` have capacity for that.

    Order of writes of hold and call:

    1. Wait until `not_before`; meanwhile fetch what the call needs: keys, tokens, clients, addresses.
    2. Check whether the run was asked to stop.
    3. Call.

    Safe: no call and no retry is early.
    """

    context: Context
    inbox: Inbox
    caller: Caller
    offload: Offload
    deliveries: Sequence[Delivery]
    owner: str
    hands: Hands
    slots: Capacity
    rank: int = 0
    deadline_at: int | None = None
    removes: bool = True
    has_slots: bool = False
    live: list[InFlight] = field(default_factory=list)
    tried: dict[RunId, Claim] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.waiting = set(self.deliveries)
        self.claiming: set[Delivery] = set()
        if self.has_slots:
            self.claiming, self.waiting = self.waiting, self.claiming
        self._came_at_ms = self.hands.take(len(self.deliveries), self.context.clock.now())
        self.last_call_at = last_call_at(self.deadline_at)
        self.messages = Messages(self.context, self.inbox, self.offload)
        self.finishes = Finishes(self.context, self.offload, last_write_at(self.deadline_at), self._is_calling)

    async def work(self) -> list[Delivery]:
        """Process the deliveries; return those whose messages are not done, for the queue to deliver again.

        Never raises for a message, a target or an unavailable store.
        """
        try:
            await self._work()
        except Exception:
            log.exception("deliveries that are not acknowledged are given back", extra={"owner": self.owner})
        if self.removes:
            await self.remove()
        self.waiting.clear()
        self.claiming.clear()
        self.slots.changed.set()
        done = {delivery.receipt for delivery in self.messages.done()}
        return [delivery for delivery in self.deliveries if delivery.receipt not in done]

    async def remove(self) -> None:
        """Remove the messages that are done."""
        try:
            await self.messages.remove_acknowledged()
        except Exception:
            log.exception("messages of ended runs come again", extra={"owner": self.owner})

    def held(self) -> Counter[str]:
        """Return how many of each tenant's runs hold capacity here: live runs, and runs that are being claimed."""
        live = [flight.run.id for flight in self.live if not flight.is_over]
        return Counter(run.job.tenant for run in (*live, *(delivery.run for delivery in self.claiming)))

    def ahead(self) -> Counter[str]:
        """Return how many runs of each tenant wait here for their instants."""
        return Counter(delivery.run.job.tenant for delivery in self.waiting)

    def due_by(self, at: int) -> list[Delivery]:
        """Return the deliveries that wait here to be claimed by an instant (ms)."""
        return [one for one in self.deliveries if one in self.waiting and _claim_at(one) <= at]

    def claims_by(self, at: int) -> bool:
        """Return whether runs wait here that must be claimed by an instant (ms)."""
        return any(_claim_at(one) <= at for one in self.waiting)

    def has_called_by(self, at: int) -> bool:
        """Return whether a call that began by an instant (ms) still lasts."""
        return any(one.called_at is not None and one.called_at <= at for one in self.live if not one.is_over)

    def _is_calling(self) -> bool:
        return any(flight.is_calling for flight in self.live)

    async def _work(self) -> None:
        """Hide the messages, claim and call wave by wave, and renew and finish meanwhile, until no run is live.

        The messages stay hidden until the last wave's claims may be taken over: no other executor claims what waits
        here.
        """
        now = self.context.clock.now()
        waves, too_early = waves_of(self.deliveries, now, self.context.rules)
        for delivery, _ in too_early:
            self.waiting.discard(delivery)
            self.claiming.discard(delivery)
            self._leave(now)
        longest_wait_ms = waves[-1].claim_at - now if waves else 0
        await self.messages.hide([one for wave in waves for one in wave.deliveries], longest_wait_ms)
        keeping = asyncio.create_task(self._keep())
        try:
            await _all(
                *map(self._claim_and_call, waves),
                *(self.messages.put_off(delivery, comes_at) for delivery, comes_at in too_early),
            )
        finally:
            keeping.cancel()
            await asyncio.gather(keeping, return_exceptions=True)

    async def _claim_and_call(self, wave: Wave) -> None:
        """Claim the runs of a wave at its time, call the claimed ones, and put off the ones that other executors hold.

        A run that cannot be claimed keeps its message, and so does a second message of a claimed run. A run that is put
        off by less than a second is claimed again here: a queue counts in seconds.
        """
        await self.context.clock.sleep_until(wave.claim_at)
        wave = replace(wave, deliveries=await self._with_slots(wave.deliveries))
        if not wave.deliveries:
            return
        claims = await self.offload(self.claim_runs, list({delivery.run: None for delivery in wave.deliveries}))
        self.claiming.difference_update(wave.deliveries)
        await _all(*self._after_claims(wave.deliveries, claims))

    def _after_claims(self, deliveries: Sequence[Delivery], claims: Mapping[RunId, Claim]) -> list[Awaitable[None]]:
        """Return what is left to do for each delivery, as its claim says."""
        now = self.context.clock.now()
        begun: set[RunId] = set()
        work: list[Awaitable[None]] = []
        soon: dict[int, list[Delivery]] = {}
        returning: list[Delivery] = []
        for delivery in deliveries:
            one = claims.get(delivery.run)
            if one is None or delivery.run in begun:
                self._leave(now)
            elif one.is_mine and one.run is not None and one.job is not None:
                begun.add(delivery.run)
                self.live.append(InFlight(delivery, one.run, one.job, one.is_watched))
                work.append(self._work_on(self.live[-1]))
            elif one.waits_briefly(now):
                soon.setdefault(one.decision.wait_until or now, []).append(delivery)
                self.claiming.add(delivery)
            else:
                self._leave(now)
                if one.is_done:
                    self.messages.acknowledged.append(delivery)
                elif one.decision.action is ClaimAction.RETURN:
                    returning.append(delivery)
                else:
                    work.append(self.messages.put_off(delivery, one.decision.wait_until))
        work += map(self.messages.send_back_unfit, by_message(returning))
        return work + [self._claim_and_call(Wave(at, tuple(again))) for at, again in soon.items()]

    async def _with_slots(self, deliveries: Sequence[Delivery]) -> tuple[Delivery, ...]:
        """Return the deliveries that get capacity; the others are kept elsewhere, and leave."""
        asking = [delivery for delivery in deliveries if delivery in self.waiting]
        admitted = await self.slots.admit(self, asking) if asking else []
        self.waiting.difference_update(asking)
        self.claiming.update(admitted)
        now = self.context.clock.now()
        for _ in range(len(asking) - len(admitted)):
            self._leave(now)
        return tuple(delivery for delivery in deliveries if delivery in self.claiming)

    def claim_runs(self, runs: Sequence[RunId]) -> dict[RunId, Claim]:
        """Claim each run. A failed claim stops no other, and is repeated once: the run may be claimed already."""
        stop_at = self.context.clock.now() + self.context.rules.margin_ms

        def work(part: Sequence[RunId]) -> dict[RunId, Claim]:
            claims = claim(self.context, part, self.owner, self.last_call_at, self.tried)
            return dict(zip(part, claims, strict=True))

        parts, failed = bisect(work, runs, self.context.clock, stop_at)
        more, _ = bisect(work, [run for part, _ in failed for run in part], self.context.clock, stop_at)
        return {run: one for part in parts + more for run, one in part.items()}

    async def _work_on(self, flight: InFlight) -> None:
        watch = asyncio.create_task(self._cut_in_time(flight))
        try:
            answer = await flight.answered(asyncio.create_task(self._hold_and_call(flight)))
            watch.cancel()
            had_ms = self._leave(self.context.clock.now())
            flight.took = Spent(batches=round(1_000 / len(self.deliveries)), executor_ms=had_ms)
            if answer is not None and await self.finishes.finish(flight, answer):
                self.messages.acknowledged.append(flight.delivery)
        finally:
            watch.cancel()
            flight.is_over = True
            self.slots.changed.set()

    async def _hold_and_call(self, flight: InFlight) -> Answer | None:
        """Hold the run until its instant, then call it, unless the call is no longer allowed.

        Keys, tokens, clients and addresses for the call are fetched first, so that nothing delays it at the instant.
        """
        call = call_of(flight.run, flight.job)
        await self.caller.prepare(call)
        await self.context.clock.sleep_until(flight.run.not_before)
        now = self.context.clock.now()
        if now >= self._stop_at(flight):
            return self._instead(flight)
        if flight.run.cancel_requested:
            return flight.given_up(now, "It was asked to stop before the call.")
        flight.called_at = now
        return await self.caller.call(call)

    async def _cut_in_time(self, flight: InFlight) -> None:
        """Cut the call at the end of its lease, which renewals extend, or at the end of this invocation's time."""
        while self.context.clock.now() < self._stop_at(flight):
            await self.context.clock.sleep_until(self._stop_at(flight))
        flight.cut(self._instead(flight))

    def _leave(self, now: int) -> int:
        self.slots.changed.set()
        return self.hands.leave(self._came_at_ms, now)

    def _stop_at(self, flight: InFlight) -> int:
        return min(flight.stop_at(self.context.rules), self.last_call_at)

    def _instead(self, flight: InFlight) -> Answer | None:
        """Return the answer for a call whose time is up; None if its lease expired: another may have the run."""
        now = self.context.clock.now()
        if now >= flight.stop_at(self.context.rules):
            log.warning(
                "lease ran out; the run is given back",
                extra={"run_id": str(flight.run.id), "attempt": flight.run.attempt},
            )
            return None
        so_far = "before it could be called" if flight.called_at is None else "before the target had answered"
        error = f"Its executor's own time was up {so_far}."
        return flight.given_up(now, error, timed_out=True)

    async def _keep(self) -> None:
        """Renew leases at each heartbeat, until the answers are written, and keep the messages hidden.

        No renewal waits for a queue.
        """
        clock, heartbeat_ms = self.context.clock, self.context.rules.heartbeat_seconds * SECOND_MS
        next_at = clock.now()
        async with asyncio.TaskGroup() as keepers:
            while True:
                next_at = max(next_at + heartbeat_ms, clock.now())
                while clock.now() < next_at:
                    await clock.sleep_until(min(clock.now() + SECOND_MS, next_at))
                    await self._note_lasting()
                live = [flight for flight in self.live if not flight.is_over]
                renewed = await renew_leases(self.context, live, self.offload)
                keepers.create_task(self._keep_messages(renewed))

    async def _note_lasting(self) -> None:
        """Renew the leases of calls that have lasted for some seconds, so that their rows say so."""
        now = self.context.clock.now()
        if lasting := [flight for flight in self.live if not flight.is_over and flight.is_lasting(now)]:
            await renew_leases(self.context, lasting, self.offload)

    async def _keep_messages(self, renewed: Sequence[InFlight]) -> None:
        """Hide messages anew, and remove acknowledged ones: a fast run does not wait for a slow one."""
        try:
            await self.messages.hide([flight.delivery for flight in renewed if not flight.is_over])
            await self.messages.remove_acknowledged()
        except Exception:
            log.exception("messages not kept")


def _claim_at(delivery: Delivery) -> int:
    return (delivery.not_before or 0) - CLAIM_AHEAD_MS


async def _all(*pieces: Awaitable[object]) -> None:
    """Do all pieces of work at once; a piece that fails stops no other."""
    for outcome in await asyncio.gather(*pieces, return_exceptions=True):
        if isinstance(outcome, BaseException):
            log.error("a run was given back", exc_info=outcome)
