"""The provisioned pollers of the executors' queues, which stand ready to hand out messages."""

from collections.abc import Mapping
from typing import Protocol


class Pollers(Protocol):
    """How many stand ready at the least, by priority. AWS may take minutes to do as it is told, and may refuse."""

    def ready(self) -> Mapping[str, int]:
        """Return how many are to stand ready. May raise."""

    def make_ready(self, priority: str, pollers: int) -> None:
        """Let so many stand ready. May raise: then it is unknown how many do."""
