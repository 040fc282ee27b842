"""The messages that an invocation holds, and the share of its time that each of them has had.

A second in which it holds five messages is a fifth of a second for each. So all shares add up to the invocation's own
time, from its beginning to its last answer, and a message that takes long pays for the time in which it is alone.
"""


class Hands:
    """The messages of one invocation, in all its batches, each from its arrival until it leaves; empty at first."""

    def __init__(self) -> None:
        self._held, self._at, self._part_ms = 0, 0, 0.0

    def take(self, count: int, now: int) -> float:
        """Add messages; return the value that each of them passes to `leave`: the share (ms) of one message so far."""
        self._pass_to(now)
        self._held += count
        return self._part_ms

    def leave(self, came_at_ms: float, now: int) -> int:
        """Remove one message; return its share (ms) of the time that it was held."""
        self._pass_to(now)
        self._held = max(0, self._held - 1)
        return round(self._part_ms - came_at_ms)

    def _pass_to(self, now: int) -> None:
        if self._held:
            self._part_ms += (now - self._at) / self._held
        self._at = now
