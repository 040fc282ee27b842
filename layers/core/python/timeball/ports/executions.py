"""What goes on after the call that started it: executions of state machines and tasks of ECS, by their ARNs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Standing:
    """How an execution stands: under way, or over; then with an `error`, a sentence, or without.

    `body` is what it left, cut at 16 KB.
    """

    is_over: bool
    error: str | None = None
    body: str | None = None


UNDER_WAY = Standing(is_over=False)
UNKNOWN = Standing(is_over=True, error="AWS does not know the execution.")
"""Not yet, or no more: AWS may tell of what was just started only minutes later."""


class Executions(Protocol):
    """What has been started. Never raises: what is not known now is asked for again later."""

    def look(self, arns: Sequence[str]) -> list[Standing | None]:
        """Return how each execution stands; None: nobody knows now."""

    def stop(self, arns: Sequence[str]) -> list[bool]:
        """Stop each execution, as far as it is under way; return whether that is done. May be repeated.

        What AWS does not know is not stopped: it may be about to begin.
        """


class Unknown:
    """The executions of a process that cannot ask: of none it is known how it stands, and none is stopped."""

    def look(self, arns: Sequence[str]) -> list[Standing | None]:
        """Return that nobody knows."""
        return [None] * len(arns)

    def stop(self, arns: Sequence[str]) -> list[bool]:
        """Return that nothing is done."""
        return [False] * len(arns)
