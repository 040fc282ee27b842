"""Trials: one call of a target that belongs to no run. Nothing of it is stored, and it is never made again."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from timeball.domain.model.terms.work import Work

TRIAL_JOB = "timeball-trial"
"""What a target is told as the id of the job: there is none."""


@dataclass(frozen=True)
class Trial:
    """Whose target is to be called, with what, and how long that may take."""

    tenant: str
    work: Work
    timeout_seconds: int


@dataclass(frozen=True)
class Tried:
    """What came of a trial: the `verdict` by its name, and whether a run would be tried again that failed so.

    `request` is what was sent, in the words of the target's protocol, without what is secret: a header of the user's
    has no value. `headers` and `body` are of the answer. `took_ms` are the parts of the call in their order, those that
    could be told apart; `signatures` counts the keys that signed.
    """

    verdict: str
    may_retry: bool
    status: int | None
    body: str
    error: str | None
    request: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    took_ms: Mapping[str, int] = field(default_factory=dict)
    signatures: int = 0


class Trials(Protocol):
    """What makes a trial where runs are called, with the rights and the guards that those have."""

    def make(self, trial: Trial) -> Tried:
        """Call the target once. Raises UnavailableError if it is unknown what came of that."""
