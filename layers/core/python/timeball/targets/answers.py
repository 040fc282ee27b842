"""What failures make of a call, whatever its protocol: is another try worth it, and is the target down."""

from timeball.domain.model.runs.verdict import Failed
from timeball.domain.model.terms.policies import Cause
from timeball.ports.target import Answer, Call


def is_retried(call: Call, status: int) -> bool:
    """Say whether the retry policy of a call holds a status, or its class, for worth another try."""
    return str(status) in call.retry_on or f"{status // 100}xx" in call.retry_on


def unanswered(call: Call, called_at: int | None, finished_at: int, error: str, *, timed_out: bool = False) -> Answer:
    """Return what it makes of a call that there was no answer: in time, or at all."""
    cause = Cause.TIMEOUT if timed_out else Cause.CONNECTION
    verdict = Failed(may_retry=cause in call.retry_on)
    return Answer(verdict, called_at, finished_at, error=error, timed_out=timed_out, is_down=True)
