"""How many executors there are: pollers that are raised before a spike, and successors of executors that grow old.

A mapping gains a thousand batches a minute (documented), but AWS does not document how soon that begins. So pollers are
decided about minutes ahead. The entries that one shard has due stand for all shards, over which a hash spreads jobs.
More pollers are made ready at once. They become fewer only after ten minutes in which nothing wanted as many: a spike
that comes again within that time changes nothing.

Lambda ends an executor after 15 minutes, and runs a limited number of executors for a queue. If calls occupy all of
them and they grow old together, none could begin a run that may last 300 s. So an executor in the second half of its
time starts one more, its successor, once it finds that something waits. A successor starts none itself: it takes runs
until its predecessor is gone, and Lambda gives the queue's next batch to a new executor.

Invariant: until an executor that may have a successor has ended, it takes runs, or its successor does, or nothing
waits.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

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


SUCCEEDED_LEFT_SECONDS = 450
"""An executor with less time left starts its successor: half of what Lambda gives it."""

TAKES_LEFT_SECONDS = 350
"""An executor with less time left takes nothing: a run of 300 s might not end in time. By then its successor has
started, and takes runs until its predecessor must have ended, even if the successor came late."""

LOOKS_LEFT_SECONDS = 50
"""An executor with less time left no longer looks out: a successor would be needed only for a moment."""


class Phase(StrEnum):
    """The phase of an executor."""

    TAKES = "takes"
    LOOKS_OUT = "looks_out"
    RESTS = "rests"


def phase_of(left_ms: int, *, may_start_successor: bool) -> Phase:
    """Return the phase of an executor with so much time left; outside TAKES it keeps nothing that it finds."""
    if left_ms >= TAKES_LEFT_SECONDS * SECOND_MS:
        return Phase.TAKES
    if may_start_successor and left_ms >= LOOKS_LEFT_SECONDS * SECOND_MS:
        return Phase.LOOKS_OUT
    return Phase.RESTS


def needs_successor(left_ms: int) -> bool:
    """Say whether an executor with so much time left must start its successor once it finds that something waits."""
    return left_ms < SUCCEEDED_LEFT_SECONDS * SECOND_MS


def unfit_seconds(unfit: int) -> int:
    """Return how long a run waits that `unfit` executors, and one more, had no time for: longer each time."""
    return (1 << min(unfit, 4)) // 2


def kept_ms(unfit: int, number: int) -> int:
    """Return how long an executor keeps a message that finds no capacity there: longer each time that it did not fit.

    The `number` of the message makes some return earlier, so that other executors always find some that wait.
    """
    return (1 << min(unfit, 3)) * SECOND_MS * (1 + number % 4) // 4
