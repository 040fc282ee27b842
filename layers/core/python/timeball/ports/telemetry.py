"""What people watch."""

from collections.abc import Sequence
from typing import Protocol


class Telemetry(Protocol):
    """Where counts and timings go that people watch. Never raises."""

    def count(self, name: str, value: int, reason: str) -> None:
        """Add to the counter of a name and a reason."""

    def time(self, name: str, each_ms: Sequence[int]) -> None:
        """Note how long each of some things took, in ms. An empty list is nothing to tell."""
