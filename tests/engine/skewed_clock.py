"""The clock of a process that is wrong by some time, over the virtual clock of all."""

from dataclasses import dataclass

from timeball.testing.virtual_clock import VirtualClock


@dataclass(frozen=True)
class SkewedClock:
    """A clock that is ahead by so many ms, or behind."""

    clock: VirtualClock
    skew_ms: int

    def now(self) -> int:
        return self.clock.now() + self.skew_ms

    async def sleep_until(self, at: int) -> None:
        await self.clock.sleep_until(at - self.skew_ms)
