"""What carries runs to executors, and brings watches back."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from timeball.domain.model.ids import RunId
from timeball.domain.model.runs.run import Run

MAX_WATCHED = 100
"""How many runs one watch may be over."""


@dataclass(frozen=True)
class Watch:
    """Runs that were sent, at most MAX_WATCHED, and are to be looked at again at `at` (ms): for the `look`th time."""

    runs: tuple[RunId, ...]
    at: int
    look: int = 1


@dataclass(frozen=True)
class Depth:
    """About how many messages a queue holds: to be received now, in an executor's hands, and to be seen later."""

    waiting: int
    in_flight: int
    delayed: int


FEW = 50
"""How many runs are few: one batch of messages holds them, so an executor that waits for them waits for them alone."""


@dataclass(frozen=True)
class Lead:
    """How long before its runs' instant a message comes, at the least (ms); `few_ms` where few runs are sent together.

    An executor is paid for while it waits. Few runs share that among few, and many need more executors to start.
    """

    ms: int = 0
    few_ms: int = 0

    def of(self, count: int) -> int:
        """Return the lead of so many runs that are sent together."""
        return self.few_ms if count <= FEW else self.ms


NO_LEAD = Lead()


class Queue(Protocol):
    """What carries runs to executors, and watches to whoever looks again: at least once, in any order.

    An empty list costs nothing, as with the store.
    """

    def send(self, runs: Sequence[Run], now: int) -> list[bool]:
        """Send each run to the queue of its priority, in a message with others. False: unknown, send it again.

        Which others, `in_messages` says. It is delayed by the whole seconds until a lead before their `not_before`.
        """

    def watch(self, watches: Sequence[Watch]) -> list[bool]:
        """Let each watch come at its instant or later, if that is at most 15 minutes ahead. False: unknown."""

    def depth(self, priority: str) -> Depth:
        """Return about how many messages of a priority there are, and how many of them wait for an executor."""


def in_messages(runs: Sequence[Run], most: int) -> list[list[int]]:
    """Return the positions of runs that go together: so many at most, alike in tenant, priority and `not_before`."""
    alike: dict[tuple[str, str, int], list[int]] = {}
    for position, run in enumerate(runs):
        alike.setdefault((run.id.job.tenant, run.priority, run.not_before), []).append(position)
    return sorted(
        positions[start : start + most] for positions in alike.values() for start in range(0, len(positions), most)
    )


@dataclass(frozen=True)
class Delivery:
    """A run that a message named as an executor received it. `receipt` names this receipt of it, for the inbox alone.

    `not_before` is when the run could be called as the message was sent: a hint, for the row may have changed.
    `unfit` is how many executors had too little time left for it.
    `together` is how many runs the message names: the others have deliveries of the same receipt.
    """

    run: RunId
    receipt: str
    not_before: int | None = None
    unfit: int = 0
    together: int = 1


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
    """The executor's side of one queue. Each call may fail for an item in silence: the message then comes again.

    What is hidden or deleted are messages, with all runs that they name: it is given one delivery of each.
    """

    def receive(self, limit: int, seconds: int) -> list[Delivery]:
        """Take up to `limit` messages, ten at the most, that wait now; each is kept from others for so many seconds."""

    def hide(self, deliveries: Sequence[Delivery], seconds: int) -> None:
        """Keep the messages from other executors for so many seconds from now (0: give them back at once)."""

    def send_again(self, deliveries: Sequence[Delivery], seconds: int = 0) -> list[bool]:
        """Send new messages for others to receive in so many seconds: of one receipt, in one. False: unknown."""

    def delete(self, deliveries: Sequence[Delivery]) -> None:
        """Remove the messages for good."""
