"""What became of a call: the verdict of the target's adapter. The engine goes by it, and by no protocol's status."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Succeeded:
    """The target did what it was called for."""


@dataclass(frozen=True)
class Accepted:
    """The target has taken the attempt over: its report will follow, or (`execution`) what it started is looked at."""

    execution: str | None = None


@dataclass(frozen=True)
class Failed:
    """Nothing came of it. `may_retry`: another try makes sense, after `retry_after_seconds` if the target asks so."""

    may_retry: bool
    retry_after_seconds: float | None = None


Verdict = Succeeded | Accepted | Failed
