"""The start of another executor, in addition to those that a queue has already."""

from typing import Protocol


class Successor(Protocol):
    """Another executor of the same queue, which holds no runs yet."""

    def start(self, until: int) -> None:
        """Start it without waiting for it. It takes runs until an instant (ms), and lasts longer while its calls do.

        The start may fail; that costs only time. May raise.
        """
