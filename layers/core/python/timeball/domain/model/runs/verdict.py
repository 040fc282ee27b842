"""The verdict of a target's adapter on a call. The engine relies on it alone, not on a protocol's status."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Succeeded:
    """The target did what it was called for."""


@dataclass(frozen=True)
class Accepted:
    """The target has taken the attempt over: its report will follow, or an execution that it started is polled."""

    execution: str | None = None
    """The ARN of the execution to poll; None: the target reports."""


@dataclass(frozen=True)
class Failed:
    """The call failed."""

    may_retry: bool
    """Another attempt makes sense."""
    retry_after_seconds: float | None = None
    """How long the target asks to wait before it; None: the target does not say."""


Verdict = Succeeded | Accepted | Failed
