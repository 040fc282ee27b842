"""The machine's clock, in whole milliseconds of UTC."""

import asyncio
import time


class SystemClock:
    """The real clock."""

    def now(self) -> int:
        """Return the present instant, rounded down to a millisecond."""
        return time.time_ns() // 1_000_000

    async def sleep_until(self, at: int) -> None:
        """Sleep until the clock shows an instant; a sleep that ended early continues."""
        while (wait_ms := at - self.now()) > 0:
            await asyncio.sleep(wait_ms / 1000)
