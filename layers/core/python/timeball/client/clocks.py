"""How a client waits: its clock is an argument, so that a test or a rehearsal lets no time pass."""

import time
from typing import Protocol


class Clock(Protocol):
    """The clock of a `Timeball`."""

    def now(self) -> float:
        """Return the time in seconds since 1970."""
        ...

    def sleep(self, seconds: float) -> None:
        """Let so much time pass."""
        ...


class AsyncClock(Protocol):
    """The clock of an `AsyncTimeball`."""

    def now(self) -> float:
        """Return the time in seconds since 1970."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Let so much time pass."""
        ...


class MachineClock:
    """The clock of this machine."""

    def now(self) -> float:
        """Return the time in seconds since 1970."""
        return time.time()

    def sleep(self, seconds: float) -> None:
        """Block this thread for so long."""
        time.sleep(seconds)


class AsyncMachineClock:
    """The clock of this machine, for programs with an event loop."""

    def now(self) -> float:
        """Return the time in seconds since 1970."""
        return time.time()

    async def sleep(self, seconds: float) -> None:
        """Let others run for so long."""
        import asyncio  # noqa: PLC0415 - a program without an event loop does not pay for it

        await asyncio.sleep(seconds)
