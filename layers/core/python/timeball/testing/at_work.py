"""Timeball at work on a virtual clock: scans on whole seconds, executors side by side, watches, reconciled messages.

Seconds in which nothing can happen are leapt over: the next moment is the earliest for which the due index, a queue, a
watch, an executor or a caller of `at` waits.
"""

import asyncio
from collections.abc import Callable, Coroutine
from heapq import heappop, heappush
from itertools import count
from typing import Any, ParamSpec, TypeVar

from timeball.domain.model.jobs.job import Priority
from timeball.domain.time.instants import HOUR_MS, SECOND_MS
from timeball.engine.context import Context
from timeball.engine.execution.execute import execute
from timeball.engine.runs.watch import recheck, reconcile_messages
from timeball.engine.scanning.buckets import Sweeps
from timeball.engine.scanning.scan import scan
from timeball.ports.due_index import Owner
from timeball.ports.target import Caller
from timeball.testing.memory_queue import MemoryQueue, handed_out
from timeball.testing.memory_store import MemoryStore
from timeball.testing.virtual_clock import VirtualClock

OWNER = Owner("2026", "a")
"""The one loop that ticks."""

_P = ParamSpec("_P")
_T = TypeVar("_T")


async def inline(work: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
    """Do blocking work inline: under a virtual clock it takes no time."""
    return work(*args, **kwargs)


class AtWork:
    """Scans, executors and watches over a store and queues in memory; each can be switched off.

    `context_of` returns the context of the next invocation, `caller_of` what calls targets. `at_each_step` is called
    whenever something may have happened; an error that it raises ends the work there.
    """

    def __init__(
        self,
        context_of: Callable[[], Context],
        store: MemoryStore,
        queue: MemoryQueue,
        clock: VirtualClock,
        caller_of: Callable[[], Caller],
        at_each_step: Callable[[], None] = lambda: None,
    ) -> None:
        self.is_scanning = self.is_executing = True
        self.is_watching = False
        self._context_of, self._caller_of, self._at_each_step = context_of, caller_of, at_each_step
        self._store, self._queue, self._clock = store, queue, clock
        self._runner = clock.runner()
        self._executors: set[asyncio.Task[object]] = set()
        self._asked: list[tuple[int, int, Callable[[], None]]] = []
        self._order = count()
        self._sweeps = Sweeps()
        self._scanned_at = 0
        self._invocations = 0

    def close(self) -> None:
        """End all executors."""
        self._runner.close()

    def until(self, at: int) -> None:
        """Work until an instant (ms); what is due at that very instant may be left."""
        self._runner.run(self._work(at))

    def through(self, at: int) -> None:
        """Work until an instant (ms), and do all that is due at that instant."""
        self._runner.run(self._work_through(at))

    def run(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Run a coroutine to its end, and everything else meanwhile that has begun already."""
        return self._runner.run(work)

    def at(self, at: int, act: Callable[[], None]) -> None:
        """Call a function when an instant (ms) comes while this works."""
        heappush(self._asked, (at, next(self._order), act))

    def kill_executors(self) -> None:
        """End all executors in the middle of their work: they write nothing more, and their messages come again."""
        for executor in self._executors:
            executor.cancel()

    async def _work(self, until: int) -> None:
        while True:
            self._step()
            await asyncio.sleep(0)
            if self._clock.now() >= until:
                return
            await self._clock.sleep_until(min(self._next_moment(), until))

    async def _work_through(self, until: int) -> None:
        await self._work(until)
        while self._step() or not self._clock.pass_to(self._clock.now()):
            await asyncio.sleep(0)

    def _step(self) -> bool:
        """Do what can be done now; return whether anything was begun."""
        self._at_each_step()
        begun = self._invocations
        has_acted = self._act()
        now = self._clock.now()
        if self.is_scanning and now // SECOND_MS > self._scanned_at and now >= self._next_scan_at():
            has_acted, self._scanned_at = True, now // SECOND_MS
            while scan(self._context_of(), 0, OWNER, self._sweeps).backlog:
                pass
        self._hand_out()
        return has_acted or self._invocations > begun

    def _act(self) -> bool:
        has_acted = False
        while self._asked and self._asked[0][0] <= self._clock.now():
            has_acted = True
            heappop(self._asked)[2]()
        return has_acted

    def _hand_out(self) -> None:
        """Start an executor for each batch of messages that can be received; process the watches that are due."""
        for priority in Priority if self.is_executing else ():
            while deliveries := self._queue.receive(priority):
                self._invocations += 1
                owner, inbox = f"executor-{self._invocations}", self._queue.inbox(priority)
                work = execute(self._context_of(), inbox, self._caller_of(), deliveries, owner, inline)
                handing_out = handed_out(inbox, deliveries, work)
                task: asyncio.Task[object] = asyncio.get_running_loop().create_task(handing_out)
                self._executors.add(task)
                task.add_done_callback(self._executors.discard)
        if self.is_watching:
            watch(self._context_of(), self._queue)
        if self._queue.dead:
            dead, self._queue.dead = self._queue.dead, []
            if not all(reconcile_messages(self._context_of(), dead)):
                raise AssertionError("a message that the queue gave up on was not reconciled")

    def _next_moment(self) -> int:
        now = self._clock.now()
        moments = [now + SECOND_MS - now % SECOND_MS] if self._executors else []
        moments += [self._asked[0][0]] if self._asked else []
        if self.is_scanning:
            moments.append(max(self._next_scan_at(), (self._scanned_at + 1) * SECOND_MS))
        if self.is_executing:
            moments += [seen_at for priority in Priority for _, seen_at in self._queue.waiting(priority)]
        if self.is_watching:
            moments += [one.at for one in self._queue.watches]
        return max(min(moments, default=now + HOUR_MS), now + 1)

    def _next_scan_at(self) -> int:
        """Return the first whole second at which a scan has work: an earlier scan would find nothing."""
        due_at = min((at for _, _, at in self._store.waiting().values()), default=None)
        if due_at is None:
            return self._clock.now() + HOUR_MS
        return -(-(due_at - self._context_of().rules.lookahead_ms) // SECOND_MS) * SECOND_MS


def watch(context: Context, queue: MemoryQueue) -> int:
    """Process the watches that are due, and return how many runs were sent again."""
    due, sent = queue.due_watches(), len(queue.sent)
    if not due:
        return 0
    for one, gone in zip(due, recheck(context, due), strict=True):
        if gone:
            queue.watches.remove(one)
    return len(queue.sent) - sent
