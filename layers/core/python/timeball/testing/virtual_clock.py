"""A clock that moves only when nothing else can: waits cost nothing, and every test is replayable.

`VirtualClock.run` drives a coroutine on an event loop whose time is this clock's, so that `asyncio.sleep`, timeouts and
the clock agree. Work that leaves the loop (threads, sockets) is not seen by it.
"""

import asyncio
import math
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

_T = TypeVar("_T")


class StuckError(Exception):
    """Every task waits for something that no passing of time will bring."""


class VirtualClock:
    """A clock that stands at an instant (ms) until it is moved."""

    def __init__(self, at: int) -> None:
        self._at = at

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
        while self._at < at:
            await asyncio.sleep((at - self._at) / 1000)

    def run(self, main: Coroutine[Any, Any, _T]) -> _T:
        """Run a coroutine to its end, moving the clock whenever every task waits for a time."""
        with self.runner() as runner:
            return runner.run(main)

    def runner(self) -> asyncio.Runner:
        """Return a runner on this clock: what a run of it has begun goes on in the next, until the runner is closed."""
        return asyncio.Runner(loop_factory=lambda: _VirtualLoop(self))


class _JumpingSelector(selectors.SelectSelector):
    """Instead of waiting, moves the clock by the time that the loop would have waited."""

    def __init__(self, clock: VirtualClock) -> None:
        super().__init__()
        self._clock = clock

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready and timeout is None:
            raise StuckError("No task can go on, and none waits for a time.")
        if not ready and timeout is not None and timeout > 0:
            self._clock.advance(max(1, math.ceil(timeout * 1000 - 1e-3)))
        return ready


class _VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self, clock: VirtualClock) -> None:
        super().__init__(_JumpingSelector(clock))
        self._clock = clock
        self._clock_resolution = (
            1e-5  # a float of seconds since 1970 is no finer; a timer that is due must be seen as due
        )

    def time(self) -> float:
        return self._clock.now() / 1000
