"""Generations: a user's work is of generation 0, and work that the call of a run makes is of the run's next generation.

So a target that creates or starts jobs endlessly, or by mistake, multiplies them five times and no more.
"""

from typing import Final

MOST: Final = 5


def next_generation(depth: int) -> int | None:
    """Return the generation of work that a run's call makes; None: the call must not make any."""
    return depth + 1 if depth < MOST else None
