"""The number of provisioned pollers that must be ready before a spike, and how long they are kept.

A mapping gains a thousand batches a minute (documented), but AWS does not document how soon that begins. So the
decision looks minutes ahead. The entries that one shard has due stand for all shards, over which a hash spreads jobs.

Invariant: more pollers are made ready at once. They become fewer only after ten minutes in which nothing wanted as
many: a spike that comes again within that time changes nothing.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from timeball.domain.time.instants import MINUTE_MS, SECOND_MS

AHEAD_MS = 5 * MINUTE_MS
"""How far the decision looks ahead: two thousand batches are ready within two minutes once AWS begins to add them."""

KEPT_MS = 10 * MINUTE_MS

_RUNS_OF_A_POLLER = 100
"""Runs of one second that one poller delivers at once: ten batches of ten messages, as if each named one run."""

_STEP = 10


@dataclass(frozen=True)
class PollerBounds:
    """The bounds of a queue's ready pollers."""

    least: int
    """The least number."""
    most: int
    """The greatest number."""


@dataclass(frozen=True)
class Provisioned:
    """A queue with provisioned pollers."""

    mapping: str
    """The id of the queue's event source mapping."""
    most: int
    """The most pollers that it may have."""
    bounds: PollerBounds
    """How many may be ready."""


@dataclass(frozen=True)
class Ready:
    """The pollers that are ready."""

    pollers: int
    """How many."""
    kept_until: int
    """Until when they are kept (ms)."""


def wanted(instants: Sequence[int], shards: int) -> int:
    """Return how many pollers the fullest second wants, given the due instants (ms) of one of `shards` shards."""
    fullest = max(Counter(at // SECOND_MS for at in instants).values(), default=0)
    return _STEP * -(-fullest * shards // (_STEP * _RUNS_OF_A_POLLER))


def decide(ready: Ready, wants: int, bounds: PollerBounds, now: int) -> Ready:
    """Return the pollers that must be ready from now on."""
    wants = min(max(wants, bounds.least), bounds.most)
    if wants < ready.pollers and now < ready.kept_until:
        return ready
    return Ready(wants, now + KEPT_MS)
