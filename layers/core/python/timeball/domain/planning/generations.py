"""Generations: what a user makes is of generation 0, what a call of its runs makes of the next, and so on, to an end.

So a target that creates or starts jobs, by mistake or for ever, multiplies them five times and no more.
"""

from typing import Final

MOST: Final = 5


def next_generation(depth: int) -> int | None:
    """Return of which generation that is which a run's call makes; None: it may make nothing."""
    return depth + 1 if depth < MOST else None
