"""Amounts in a window of time, counted only where they are bounded."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class CountWindow:
    """A window of a count."""

    tenant: str
    """The tenant."""
    name: str
    """What is counted."""
    from_at: int
    """When the window begins (ms)."""
    seconds: int
    """How long it is."""

    @property
    def ends_at(self) -> int:
        """When the next window begins (ms)."""
        return self.from_at + self.seconds * 1000


class Windows(Protocol):
    """The counts of windows. They are exact: concurrent counts are applied one after the other."""

    def take(self, window: CountWindow, amount: int, most: int) -> bool:
        """Add an amount, unless the sum would exceed `most`: then add nothing and return False.

        A count whose answer was lost may be repeated, and then counts twice.
        """
