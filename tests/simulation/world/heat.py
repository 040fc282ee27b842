"""A hot row: for a while most of its writes are throttled, while other rows of the same batch are written."""

from dataclasses import dataclass
from random import Random

from timeball.ports.rows import Swap

_THROTTLED = 0.7


@dataclass
class Heat:
    """The key of the hot row, or None if no row is hot."""

    draw: Random
    hot: object = None

    def fails(self, _: str, item: object) -> bool:
        """Return whether a write is throttled."""
        if self.hot is None:
            return False
        row = item.before if isinstance(item, Swap) else item
        return self.hot in (getattr(row, "key", None), getattr(row, "id", None)) and self.draw.random() < _THROTTLED
