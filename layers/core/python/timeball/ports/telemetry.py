"""The events that people watch."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from timeball.domain.attempts.attempt_line import Line


@dataclass(frozen=True)
class Measurement:
    """One event of a metric."""

    name: str
    """The metric."""
    tenant: str
    """The tenant that it is about."""
    subject: str
    """The subject within the tenant, such as a priority."""
    value: int = 1
    """How many; for a timing, how many ms one thing took."""
    reason: str = ""
    """Why; empty: none."""
    is_timing: bool = False
    """It is a timing."""
    is_level: bool = False
    """It is how many there were at a moment: levels are compared, and never added up."""
    watched: bool = True
    """It is shown as a metric; False: it is only summed up."""
    counted: bool = True
    """It is summed up by tenant and hour; False: it is only shown as a metric."""


class Telemetry(Protocol):
    """The receiver of events. Never raises."""

    def note(self, events: Sequence[Measurement]) -> None:
        """Record events. An empty list records nothing."""


class AttemptLog(Protocol):
    """The log of attempts that have ended. Never raises."""

    def wants(self, *, has_succeeded: bool) -> bool:
        """Return whether an attempt has a line: a successful attempt may have none."""

    def write(self, lines: Sequence[Line]) -> None:
        """Write lines."""


class NoAttemptLog:
    """The log of a process that has none."""

    def wants(self, *, has_succeeded: bool) -> bool:  # noqa: ARG002 - none is wanted
        """Return that no attempt has a line."""
        return False

    def write(self, lines: Sequence[Line]) -> None:
        """Write nothing."""
