"""How many provisioned pollers are to stand ready ahead of a spike, and for how long they are kept.

A mapping gains a thousand batches a minute (documented), and of how soon it does as it is told AWS says nothing: so it
is looked minutes ahead. What one shard has due stands for all of them, over which jobs are spread by a hash.

Invariant: more are made ready at once, and fewer only when for ten minutes nothing has wanted as many: a spike that
comes again within that time changes nothing.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from timeball.domain.time.instants import MINUTE_MS, SECOND_MS

AHEAD_MS = 5 * MINUTE_MS
"""How far it is looked ahead: two thousand batches are there in two minutes, as soon as AWS begins to add them."""

KEPT_MS = 10 * MINUTE_MS

_RUNS_OF_A_POLLER = 100
"""Runs of one second that one poller hands out at once: ten batches of ten messages, as if each named one run."""

_STEP = 10


@dataclass(frozen=True)
class Bounds:
    """How many pollers of a queue may stand ready, at the least and at the most."""

    least: int
    most: int


@dataclass(frozen=True)
class Provisioned:
    """A queue's mapping by its id, the most pollers that it may have, and how many may stand ready."""

    mapping: str
    most: int
    bounds: Bounds


@dataclass(frozen=True)
class Ready:
    """How many stand ready, and until when (ms) they are kept."""

    pollers: int
    kept_until: int


def wanted(instants: Sequence[int], shards: int) -> int:
    """Return how many pollers the fullest second wants, by the instants (ms) of what one of so many shards has due."""
    fullest = max(Counter(at // SECOND_MS for at in instants).values(), default=0)
    return _STEP * -(-fullest * shards // (_STEP * _RUNS_OF_A_POLLER))


def decide(ready: Ready, wants: int, bounds: Bounds, now: int) -> Ready:
    """Return what is to stand ready from now on."""
    wants = min(max(wants, bounds.least), bounds.most)
    if wants < ready.pollers and now < ready.kept_until:
        return ready
    return Ready(wants, now + KEPT_MS)
