"""A clock that moves only when nothing else can: waits cost nothing, and every test is replayable.

`VirtualClock.run` drives a coroutine on an event loop whose time is this clock's, so that `asyncio.sleep`, timeouts and
the clock agree. It does not see work outside the loop (threads, sockets).
"""

import asyncio
import math
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import Context
from heapq import heappop, heappush
from itertools import count
from typing import Any, TypeVar, TypeVarTuple

_T = TypeVar("_T")
_Ts = TypeVarTuple("_Ts")


class StuckError(Exception):
    """Every task waits for something that no passing of time will bring."""


class VirtualClock:
    """A clock that stands at an instant (ms) until it is moved."""

    def __init__(self, at: int) -> None:
        self._at = at
        self._loop: _VirtualLoop | None = None

    def now(self) -> int:
        """Return the instant at which the clock stands."""
        return self._at

    def advance(self, milliseconds: int) -> None:
        """Move the clock forward."""
        if milliseconds < 0:
            raise ValueError("A clock does not go back.")
        self._at += milliseconds

    async def sleep_until(self, at: int) -> None:
        """Return when the clock has reached an instant."""
        while self._at < at and not self.pass_to(at):
            if self._loop is None:
                await asyncio.sleep((at - self._at) / 1000)
            else:
                await self._loop.alarm(at)

    def alarm(self, at: int | None) -> "asyncio.Future[None]":
        """Return a future that is done once the clock has reached an instant (None: never), or once a task sets it."""
        if self._loop is None:
            raise StuckError("The clock is not running.")
        return self._loop.alarm(at)

    def pass_to(self, at: int) -> bool:
        """Move the clock to an instant if no other task would act until then; return whether it moved.

        It saves a waiting caller the way through the event loop.
        """
        if self._loop is None or not self._loop.is_idle_until(at):
            return False
        self._at = max(self._at, at)
        return True

    def run(self, main: Coroutine[Any, Any, _T]) -> _T:
        """Run a coroutine to its end, moving the clock whenever every task waits for a time."""
        with self.runner() as runner:
            return runner.run(main)

    def runner(self) -> asyncio.Runner:
        """Return a runner on this clock: tasks of one run continue in the next, until the runner is closed."""
        return asyncio.Runner(loop_factory=self._new_loop)

    def _new_loop(self) -> "_VirtualLoop":
        self._loop = _VirtualLoop(self, self._lose_loop)
        return self._loop

    def _lose_loop(self) -> None:
        self._loop = None


class _Timer(asyncio.TimerHandle):
    """A callback for an instant, which the loop handles like an alarm."""

    def done(self) -> bool:
        return self.cancelled()

    def set_result(self, _: None) -> None:
        self._run()


class _VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop that, instead of waiting, moves its clock to the next instant that a task waits for.

    It ignores sockets, and spends little on each step: a simulation takes millions of them.
    """

    _ready: deque[asyncio.Handle]

    def __init__(self, clock: VirtualClock, when_closed: Callable[[], None]) -> None:
        super().__init__()
        self._clock, self._when_closed = clock, when_closed
        self._waiting: list[tuple[int, int, asyncio.Future[None] | _Timer]] = []
        self._order = count()

    def close(self) -> None:
        super().close()
        self._when_closed()

    def time(self) -> float:
        return self._clock.now() / 1000

    def alarm(self, at: int | None) -> "asyncio.Future[None]":
        alarm: asyncio.Future[None] = asyncio.Future(loop=self)
        if at is not None:
            heappush(self._waiting, (at, next(self._order), alarm))
        return alarm

    def call_soon(
        self, callback: Callable[[*_Ts], object], *args: *_Ts, context: Context | None = None
    ) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append(handle)
        return handle

    def call_at(
        self, when: float, callback: Callable[[*_Ts], object], *args: *_Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        timer = _Timer(when, callback, args, self, context)
        heappush(self._waiting, (math.ceil(when * 1000 - 1e-3), next(self._order), timer))
        return timer

    def call_later(
        self, delay: float, callback: Callable[[*_Ts], object], *args: *_Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        return self.call_at(self.time() + delay, callback, *args, context=context)

    def is_idle_until(self, at: int) -> bool:
        """Return whether nothing but the running task can act before an instant, or at it."""
        if self._ready:
            return False
        waiting = self._waiting
        while waiting and waiting[0][0] <= at:
            if not waiting[0][2].done():
                return False
            heappop(waiting)
        return True

    def _run_once(self) -> None:
        ready, waiting, clock = self._ready, self._waiting, self._clock
        if not ready:
            while waiting and waiting[0][2].done():
                heappop(waiting)
            if not waiting:
                raise StuckError("No task can go on, and none waits for a time.")
            clock.advance(max(waiting[0][0] - clock.now(), 0))
        now = clock.now()
        while waiting and waiting[0][0] <= now:
            waiter = heappop(waiting)[2]
            if not waiter.done():
                waiter.set_result(None)
        for _ in range(len(ready)):
            handle = ready.popleft()
            if not handle.cancelled():
                handle._run()  # noqa: SLF001 - the loop itself must run it
