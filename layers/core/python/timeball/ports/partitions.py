"""The execution of the ticker that drives each partition of the due index, and when it last did.

The newest execution owns a partition for as long as it ticks. If it stops, an older one that still stands by continues,
until a newer one ticks again. Two may do the same work for some seconds, which is wasted but harmless.
"""

from dataclasses import dataclass
from typing import Protocol

from timeball.domain.time.instants import SECOND_MS

BEAT_MS = 5 * SECOND_MS
"""How often an owner notes that it ticks: each note is a write."""
SILENCE_MS = 8 * SECOND_MS
"""How long after its last note an owner counts as dead: one note may be late by a few seconds."""


@dataclass(frozen=True, order=True)
class Owner:
    """An execution of the ticker: the greater (start, name) owns a partition."""

    started_at: str
    """When it started, as text."""
    name: str
    """Its name."""


@dataclass(frozen=True)
class Tick:
    """The note of an owner."""

    owner: Owner
    """The execution."""
    at: int
    """When it ticked (ms)."""


def next_tick(last: Tick | None, owner: Owner, now: int) -> Tick | None:
    """Return the note that is stored after a tick: the last note while that is fresh. None: a newer owner ticks."""
    if last is not None and last.owner > owner and now < last.at + SILENCE_MS:
        return None
    is_fresh = last is not None and last.owner == owner and now < last.at + BEAT_MS
    return last if is_fresh else Tick(owner, now)


class Partitions(Protocol):
    """The partitions, each of which has one owner."""

    def take(self, partition: int, owner: Owner, now: int) -> bool:
        """Note that `owner` drives a partition (now in ms), unless a newer owner does. Raises UnavailableError."""
