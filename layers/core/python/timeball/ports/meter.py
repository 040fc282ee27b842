"""What people watch."""

from typing import Protocol


class Meter(Protocol):
    """Where counts go that people watch."""

    def count(self, name: str, value: int, reason: str) -> None:
        """Add to the counter of a name and a reason. Never raises."""
