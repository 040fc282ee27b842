"""The consequences of failures for a call, whatever its protocol: is a retry worthwhile, and is the target down."""

from timeball.domain.model.runs.verdict import Failed
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
