"""The queues that carry runs to executors, and the queue that returns watches."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from timeball.domain.model.ids import RunId
from timeball.domain.model.runs.run import Run

MAX_WATCHED = 100
"""The most runs in one watch."""


@dataclass(frozen=True)
class Watch:
    """Runs that were sent and will be checked later."""

    runs: tuple[RunId, ...]
    """The runs, at most MAX_WATCHED."""
    at: int
    """When to check them (ms)."""
    round_number: int = 1
    """The number of this check, from 1."""


@dataclass(frozen=True)
class Depth:
    """About how many messages a queue holds."""

    waiting: int
    """Messages that can be received now."""
    in_flight: int
    """Messages that executors have received."""
    delayed: int
    """Messages that become visible later."""


FEW = 50
"""The most runs that count as few: one batch of messages holds them, so an executor that waits for them waits for no
others."""


@dataclass(frozen=True)
class Lead:
    """How long before its runs' instant a message arrives at least.

    An executor is paid for while it waits. Few runs share that cost among few, and many need more executors to start.
    """

    ms: int = 0
    """The lead (ms)."""
    few_ms: int = 0
    """The lead if few runs are sent together (ms)."""

    def of(self, count: int) -> int:
        """Return the lead for a number of runs that are sent together (ms)."""
        return self.few_ms if count <= FEW else self.ms


NO_LEAD = Lead()


class Queue(Protocol):
    """Carries runs to executors, and watches to the function that checks them: at least once, in any order.

    An empty list costs nothing, as with the store.
    """

    def send(self, runs: Sequence[Run], now: int) -> list[bool]:
        """Send each run to the queue of its priority, in a message with others. False: unknown, send it again.

        `in_messages` decides which runs go together. A message is delayed by whole seconds until a lead before
        `not_before`.
        """

    def watch(self, watches: Sequence[Watch]) -> list[bool]:
        """Make each watch arrive at its instant or later, if that is at most 15 minutes ahead. False: unknown."""

    def depth(self, priority: str) -> Depth:
        """Return about how many messages of a priority there are."""


def in_messages(runs: Sequence[Run], most: int) -> list[list[int]]:
    """Return the positions of runs that go together: at most `most`, equal in tenant, priority and `not_before`."""
    alike: dict[tuple[str, str, int], list[int]] = {}
    for position, run in enumerate(runs):
        alike.setdefault((run.id.job.tenant, run.priority, run.not_before), []).append(position)
    return sorted(
        positions[start : start + most] for positions in alike.values() for start in range(0, len(positions), most)
    )


@dataclass(frozen=True)
class Delivery:
    """A run that a message named, as an executor received it."""

    run: RunId
    """The run."""
    receipt: str
    """The name of this receipt of the message, for the inbox alone."""
    not_before: int | None = None
    """When the run could be called as the message was sent (ms): a hint, for the row may have changed."""
    unfit: int = 0
    """How many executors had too little time left for it."""
    together: int = 1
    """How many runs the message names: the others have deliveries with the same receipt."""


def by_message(deliveries: Iterable[Delivery]) -> list[list[Delivery]]:
    """Return the deliveries of each message."""
    found: dict[str, list[Delivery]] = {}
    for one in deliveries:
        found.setdefault(one.receipt, []).append(one)
    return list(found.values())


def one_of_each_message(deliveries: Iterable[Delivery]) -> list[Delivery]:
    """Return one delivery of each message."""
    return [ones[0] for ones in by_message(deliveries)]


class Inbox(Protocol):
    """The executor's side of one queue. Each call may fail for an item silently: the message then comes again.

    Calls hide or delete whole messages, with all runs that they name; callers pass one delivery of each message.
    """

    def receive(self, limit: int, seconds: int) -> list[Delivery]:
        """Receive up to `limit` messages that wait now, at most ten; each is hidden from others for `seconds`."""

    def hide(self, deliveries: Sequence[Delivery], seconds: int) -> None:
        """Hide the messages from other executors for `seconds` from now (0: return them at once)."""

    def send_again(self, deliveries: Sequence[Delivery], seconds: int = 0) -> list[bool]:
        """Send new messages that others receive after `seconds`, one message for each receipt. False: unknown."""

    def delete(self, deliveries: Sequence[Delivery]) -> None:
        """Remove the messages for good."""
