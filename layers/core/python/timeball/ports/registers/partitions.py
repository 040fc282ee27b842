"""Which execution of the ticker drives a partition of the due index, and when it last did.

The newest execution owns a partition for as long as it ticks. If it stops, an older one that still stands by drives the
partition on, until a newer one ticks again. Two may do the same work for some seconds: that is wasted, and harmless.
"""

from dataclasses import dataclass
from typing import Protocol

from timeball.domain.time.instants import SECOND_MS

BEAT_MS = 5 * SECOND_MS
"""How often an owner notes that it ticks: each note is a write."""
SILENCE_MS = 8 * SECOND_MS
"""After how long without a note an owner is taken for dead: one note may be late by a few seconds."""


@dataclass(frozen=True, order=True)
class Owner:
    """The execution of the ticker that drives a partition: the greater (start, name) owns it."""

    started_at: str
    name: str


@dataclass(frozen=True)
class Tick:
    """The note of an owner: it has ticked at an instant (ms)."""

    owner: Owner
    at: int


def next_tick(last: Tick | None, owner: Owner, now: int) -> Tick | None:
    """Return the note that stands after a tick: the last one while that is fresh. None: a newer owner ticks."""
    if last is not None and last.owner > owner and now < last.at + SILENCE_MS:
        return None
    is_fresh = last is not None and last.owner == owner and now < last.at + BEAT_MS
    return last if is_fresh else Tick(owner, now)


class Partitions(Protocol):
    """The partitions, each of which has one owner."""

    def take(self, partition: int, owner: Owner, now: int) -> bool:
        """Note that `owner` drives a partition (now in ms), unless a newer owner does. Raises UnavailableError."""
