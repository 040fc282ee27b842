"""What a finished attempt makes of its run: one pure decision."""

from timeball.domain.retry import RetryPolicy, decide_retry
from timeball.domain.run import Attempt, Outcome, Reason, Run, RunState, ended, retrying


def after_attempt(
    run: Run, policy: RetryPolicy, attempt: Attempt, now: int, retry_after_seconds: float | None = None
) -> Run:
    """Return the running run as its attempt leaves it: succeeded, retrying, failed, or cancelled if that was asked."""
    if attempt.outcome is Outcome.SUCCEEDED:
        return ended(run, RunState.SUCCEEDED, now, last=attempt)
    if run.cancel_requested:
        return ended(run, RunState.CANCELLED, now, run.reason or Reason.JOB_CANCELLED, attempt)
    decision = decide_retry(policy, run.id, run.attempt, attempt.status, now, retry_after_seconds)
    if decision.retry_at is None:
        return ended(run, RunState.FAILED, now, Reason(decision.reason), attempt)
    return retrying(run, decision.retry_at, attempt)


def lost_attempt(run: Run) -> Attempt:
    """Return the record of an attempt whose lease ran out: nobody knows how far it came."""
    return Attempt(run.attempt, Outcome.LOST, run.claimed_at or run.created_at, error="Its executor vanished.")
