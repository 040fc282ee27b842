"""What an invocation has in its hands, and which part of its time each of it has had.

A second in which five are in hand is a fifth of a second for each. So what all have had is the invocation's own time,
from its beginning to its last answer, and one that takes long pays for the time in which nothing else is there.
"""


class Hands:
    """So many messages since an instant (ms), until each leaves."""

    def __init__(self, count: int, now: int) -> None:
        self.received = count
        self._left, self._at, self._part_ms = count, now, 0.0

    def leave(self, now: int) -> int:
        """Take one out; return how long (ms) it was there, for its part."""
        if self._left:
            self._part_ms += (now - self._at) / self._left
        self._left, self._at = max(0, self._left - 1), now
        return round(self._part_ms)
