"""Executions, which continue after the call that started them: of state machines and of ECS tasks, by their ARNs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class ExecutionStatus:
    """The state of an execution."""

    is_over: bool
    """It has ended."""
    error: str | None = None
    """Why it failed, as a sentence; None: it succeeded, or is under way."""
    body: str | None = None
    """Its output, cut at 16 KB; None: there is none."""


UNDER_WAY = ExecutionStatus(is_over=False)
UNKNOWN = ExecutionStatus(is_over=True, error="AWS does not know the execution.")
"""AWS does not know it yet, or no longer: AWS may report a new execution only minutes after its start."""


class Executions(Protocol):
    """The executions that calls have started. Never raises: unknown states are polled again later."""

    def poll(self, arns: Sequence[str]) -> list[ExecutionStatus | None]:
        """Return the state of each execution; None: unknown at present."""

    def stop(self, arns: Sequence[str]) -> list[bool]:
        """Stop each execution that is under way, and return whether that is done. May be repeated.

        An execution that AWS does not know is not stopped: it may be about to begin.
        """


class Unknown:
    """The executions for a process that cannot ask: all states are unknown, and none is stopped."""

    def poll(self, arns: Sequence[str]) -> list[ExecutionStatus | None]:
        """Return that all states are unknown."""
        return [None] * len(arns)

    def stop(self, arns: Sequence[str]) -> list[bool]:
        """Return that none is stopped."""
        return [False] * len(arns)
