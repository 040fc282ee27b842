"""What starts another executor, beside those that a queue has already."""

from typing import Protocol


class Successor(Protocol):
    """Another executor of the same queue, that holds nothing yet."""

    def start(self, until: int) -> None:
        """Start it, and do not wait for it: it takes what waits until an instant (ms), and later while calls last.

        It may not come; nothing but time is lost then. May raise.
        """
