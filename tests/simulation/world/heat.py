"""One row that is hot: for a while most of its writes are throttled, and other rows in the same batch are written."""

from dataclasses import dataclass
from random import Random

from timeball.ports.collections.rows import Swap

_THROTTLED = 0.7


@dataclass
class Heat:
    """Which row is hot, by its key; None: none is."""

    draw: Random
    hot: object = None

    def fails(self, _: str, item: object) -> bool:
        """Say whether a write is throttled."""
        if self.hot is None:
            return False
        row = item.before if isinstance(item, Swap) else item
        return self.hot in (getattr(row, "key", None), getattr(row, "id", None)) and self.draw.random() < _THROTTLED
