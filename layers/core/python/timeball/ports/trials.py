"""Trials: one call of a target that belongs to no run. Nothing of it is stored, and it is never repeated."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from timeball.domain.model.terms.work import Work

TRIAL_JOB = "timeball-trial"
"""The job id that a target receives in a trial: there is no job."""


@dataclass(frozen=True)
class Trial:
    """A trial."""

    tenant: str
    """The tenant whose target is called."""
    work: Work
    """The target and the payload."""
    timeout_seconds: int
    """How long the call may take."""


@dataclass(frozen=True)
class Tried:
    """The result of a trial."""

    verdict: str
    """The name of the verdict."""
    may_retry: bool
    """A run that failed like this would be retried."""
    status: int | None
    """The status of the target's protocol; None: it has none, or none was received."""
    body: str
    """The answer."""
    error: str | None
    """The failure, as a sentence; None: there was none."""
    request: Mapping[str, Any] = field(default_factory=dict)
    """The request in the target's protocol, without secrets: users' headers have no values."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """The headers of the answer."""
    took_ms: Mapping[str, int] = field(default_factory=dict)
    """The parts of the call that could be measured, in their order (ms)."""
    signatures: int = 0
    """How many keys signed the request."""


class Trials(Protocol):
    """Makes trials where runs are called, with the same rights and guards."""

    def make(self, trial: Trial) -> Tried:
        """Call the target once. Raises UnavailableError if the outcome is unknown."""
