"""One invocation of an executor: how long it may need, and how its blocking calls leave the event loop.

It waits, claims, holds, calls, and writes the results. Its function must have that much time (`longest_seconds`). If it
has less, runs that may not fit are given back, and calls are cut while there is still time to write that down
(`last_call_at`, `last_write_at`), because nothing is known of what a killed function had done.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ParamSpec, Protocol, TypeVar

from timeball.domain.time.instants import LATEST, SECOND_MS
from timeball.engine.context import Rules
from timeball.ports.executors import Successor
from timeball.ports.queue import Inbox

LONGEST_CALL_SECONDS = 840
"""The longest that one call may take; an attempt whose target reports later may take longer."""

_CLAIM_SECONDS = 10
_LAST_WRITES_SECONDS = 20
_LAST_REMOVAL_SECONDS = 8


@dataclass(frozen=True)
class Term:
    """The time of one invocation, which ends at `deadline_at` (ms; None: never), and where it may take more messages.

    It starts its `successor` in time (None: it has none). If it is a successor itself, it `stays_until` an instant
    (ms), whether it holds messages or not. `above` are the queues of higher priorities, the highest first.
    """

    deadline_at: int | None = None
    successor: Successor | None = None
    stays_until: int = 0
    above: Sequence[Inbox] = ()

    @property
    def ends_at(self) -> int:
        """Return when it ends (ms)."""
        return LATEST if self.deadline_at is None else self.deadline_at


UNENDING = Term()


def call_seconds(timeout_seconds: int) -> int:
    """Return how long a call may take. An attempt whose target reports later may take longer; its call may not."""
    return min(timeout_seconds, LONGEST_CALL_SECONDS)


def longest_seconds(rules: Rules) -> int:
    """Return how long an invocation may take from its start to its answer."""
    early_seconds = rules.early_ms // SECOND_MS
    wait_seconds = early_seconds + early_seconds  # for the instant of the message, and then for that of the row
    return wait_seconds + _CLAIM_SECONDS + LONGEST_CALL_SECONDS + _LAST_WRITES_SECONDS


def last_call_at(deadline_at: int | None) -> int:
    """Return when calls must have ended, in an invocation that ends at `deadline_at` (ms; None: never)."""
    return LATEST if deadline_at is None else deadline_at - _LAST_WRITES_SECONDS * SECOND_MS


def last_write_at(deadline_at: int | None) -> int:
    """Return when finishes must be written, so that there is time to remove their messages."""
    return LATEST if deadline_at is None else deadline_at - _LAST_REMOVAL_SECONDS * SECOND_MS


_P = ParamSpec("_P")
_T = TypeVar("_T")


class Offload(Protocol):
    """The signature of `asyncio.to_thread`."""

    async def __call__(self, work: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Run the work and return its result."""
