"""The clock."""

from typing import Protocol


class Clock(Protocol):
    """The only source of time."""

    def now(self) -> int:
        """Return the current instant, in ms."""

    async def sleep_until(self, at: int) -> None:
        """Return at the first moment when `now() >= at`; never earlier."""
