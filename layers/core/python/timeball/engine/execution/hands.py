"""What an invocation has in its hands, and which part of its time each of it has had.

A second in which five are in hand is a fifth of a second for each. So what all have had is the invocation's own time,
from its beginning to its last answer, and one that takes long pays for the time in which nothing else is there.
"""


class Hands:
    """The messages of one invocation, of all its batches, each from when it comes until it leaves; empty at first."""

    def __init__(self) -> None:
        self._held, self._at, self._part_ms = 0, 0, 0.0

    def take(self, count: int, now: int) -> float:
        """Take some in; return what each of them says when it leaves: how long one's part was (ms) before it came."""
        self._pass_to(now)
        self._held += count
        return self._part_ms

    def leave(self, came_at_ms: float, now: int) -> int:
        """Take one out; return how long (ms) it was there, for its part."""
        self._pass_to(now)
        self._held = max(0, self._held - 1)
        return round(self._part_ms - came_at_ms)

    def _pass_to(self, now: int) -> None:
        if self._held:
            self._part_ms += (now - self._at) / self._held
        self._at = now
