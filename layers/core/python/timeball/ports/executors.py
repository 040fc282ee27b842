"""The pollers that make executors ready, and the start of further executors."""

from collections.abc import Mapping
from typing import Protocol


class Pollers(Protocol):
    """The least number of ready pollers, by priority. AWS may take minutes to apply a number, and may refuse it."""

    def ready(self) -> Mapping[str, int]:
        """Return how many pollers must be ready. May raise."""

    def make_ready(self, priority: str, pollers: int) -> None:
        """Set how many pollers must be ready. May raise: then the number is unknown."""


class Successor(Protocol):
    """Another executor of the same queue, which holds no runs yet."""

    def start(self, until: int) -> None:
        """Start it without waiting for it. It takes runs until an instant (ms), and lasts longer while its calls do.

        The start may fail; that costs only time. May raise.
        """
