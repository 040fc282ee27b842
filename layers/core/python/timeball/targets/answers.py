"""The results of calls without an answer, whatever the protocol, and the record of a trial's call.

A result says whether a retry is worthwhile, and whether the target is down. The adapter that makes a trial's call
records the details beside its answer. Invariant: nothing that is recorded is secret.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from timeball.domain.model.runs.values import Failed
from timeball.domain.model.terms.policies import Cause
from timeball.ports.target import Answer, Call


def is_retried(call: Call, status: int) -> bool:
    """Return whether the retry policy of a call includes a status, or its class."""
    return str(status) in call.retry_on or f"{status // 100}xx" in call.retry_on


def unanswered(call: Call, called_at: int | None, finished_at: int, error: str, *, timed_out: bool = False) -> Answer:
    """Return the result of a call without an answer, either in time or at all."""
    cause = Cause.TIMEOUT if timed_out else Cause.CONNECTION
    verdict = Failed(may_retry=cause in call.retry_on)
    return Answer(verdict, called_at, finished_at, error=error, timed_out=timed_out, is_down=True)


def unsent(now: int, error: str, *, may_retry: bool = False) -> Answer:
    """Return the result of a call that could not be sent, for no fault of the target."""
    return Answer(Failed(may_retry), None, now, error=error)


@dataclass
class Trace:
    """The request and the answer's headers of one call, when it was sent, and how long each phase took (ms)."""

    request: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    took_ms: Mapping[str, int] = field(default_factory=dict)
    signatures: int = 0
    sent_at: int | None = None
