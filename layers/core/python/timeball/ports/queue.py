"""What carries runs to executors, and brings watches back."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from timeball.domain.model.ids import RunId
from timeball.domain.model.run import Run

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


class Queue(Protocol):
    """What carries runs to executors, and watches to whoever looks again: at least once, in any order.

    An empty list costs nothing, as with the store.
    """

    def send(self, runs: Sequence[Run], now: int) -> list[bool]:
        """Send a message of each run to the queue of its priority. False: unknown, send it again.

        It is delayed by the whole seconds until a lead before the run's `not_before`.
        """

    def watch(self, watches: Sequence[Watch]) -> list[bool]:
        """Let each watch come at its instant or later, if that is at most 15 minutes ahead. False: unknown."""

    def depth(self, priority: str) -> Depth:
        """Return about how many messages of a priority there are, and how many of them wait for an executor."""


@dataclass(frozen=True)
class Delivery:
    """A message as an executor received it. `receipt` names this receipt of it, for the inbox alone.

    `not_before` is when the run could be called as the message was sent: a hint, for the row may have changed.
    `unfit` is how many executors had too little time left for it.
    """

    run: RunId
    receipt: str
    not_before: int | None = None
    unfit: int = 0


class Inbox(Protocol):
    """The executor's side of one queue. Each call may fail for an item in silence: the message then comes again."""

    def receive(self, limit: int, seconds: int) -> list[Delivery]:
        """Take up to `limit` messages, ten at the most, that wait now; each is kept from others for so many seconds."""

    def hide(self, deliveries: Sequence[Delivery], seconds: int) -> None:
        """Keep the messages from other executors for so many seconds from now (0: give them back at once)."""

    def send_again(self, deliveries: Sequence[Delivery], seconds: int = 0) -> list[bool]:
        """Send for each a new message that says the same, for others to receive after so long. False: unknown."""

    def delete(self, deliveries: Sequence[Delivery]) -> None:
        """Remove the messages for good."""
