"""What an executor does with what waits, by the time it has left: it takes, looks out for who needs another, or rests.

Lambda ends an executor after 15 minutes, and has so many of a queue at a time and no more. Where calls hold all of
these and they grow old together, none could begin what may last 300 s. So an executor in the second half of its time
starts another beside them, its successor, once it finds that something waits. A successor has none itself: it takes
until its predecessor is gone, and Lambda hands the queue's next batch to a new executor.

Invariant: until an executor that may have a successor has ended, it takes, or its successor does, or nothing waits.
"""

from enum import StrEnum

from timeball.domain.time.instants import SECOND_MS

SUCCEEDED_LEFT_SECONDS = 450
"""An executor of which less is left starts its successor: half of what Lambda gives it."""

TAKES_LEFT_SECONDS = 350
"""An executor of which less is left takes nothing: a run of 300 s might not end in time. By then its successor is
there, and takes until its predecessor must have ended, also if it came late."""

LOOKS_LEFT_SECONDS = 50
"""An executor of which less is left looks no more: a successor would be needed for a moment."""


class Part(StrEnum):
    """What an executor does with what waits in its queue."""

    TAKES = "takes"
    LOOKS_OUT = "looks_out"
    RESTS = "rests"


def part_of(left_ms: int, *, may_start_successor: bool) -> Part:
    """Return what an executor does that has so much time left: one that is too old keeps nothing of what it finds."""
    if left_ms >= TAKES_LEFT_SECONDS * SECOND_MS:
        return Part.TAKES
    if may_start_successor and left_ms >= LOOKS_LEFT_SECONDS * SECOND_MS:
        return Part.LOOKS_OUT
    return Part.RESTS


def needs_successor(left_ms: int) -> bool:
    """Say whether an executor with so much time left is to start its successor once it finds that something waits."""
    return left_ms < SUCCEEDED_LEFT_SECONDS * SECOND_MS


def unfit_seconds(unfit: int) -> int:
    """Return for how long a run waits that has not fitted into one more executor than so many: longer each time."""
    return (1 << min(unfit, 4)) // 2


def kept_ms(unfit: int, number: int) -> int:
    """Return for how long an executor keeps what finds no place there: longer each time that it did not fit.

    By the `number` of the message some go back earlier, so that other executors always find some that wait.
    """
    return (1 << min(unfit, 3)) * SECOND_MS * (1 + number % 4) // 4
