"""The provisioned pollers of the executors' queues, which are ready to deliver messages."""

from collections.abc import Mapping
from typing import Protocol


class Pollers(Protocol):
    """The least number of ready pollers, by priority. AWS may take minutes to apply a number, and may refuse it."""

    def ready(self) -> Mapping[str, int]:
        """Return how many pollers must be ready. May raise."""

    def make_ready(self, priority: str, pollers: int) -> None:
        """Set how many pollers must be ready. May raise: then the number is unknown."""
