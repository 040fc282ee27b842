"""The effect of a finished attempt on its run: one pure decision."""

from timeball.domain.attempts.retry import decide_retry
from timeball.domain.model.jobs.job import Guarantee, Job
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.attempt import Attempt, Outcome
from timeball.domain.model.runs.guarantor import Guarantor
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.runs.transitions import ended, retrying
from timeball.domain.model.runs.verdict import Failed, Succeeded


def after_attempt(
    run: Run, job: Job, attempt: Attempt, verdict: Succeeded | Failed, now: int, guarantor: Guarantor
) -> Run:
    """Return the running run after its attempt: succeeded, retrying, failed, or cancelled if it was asked to stop."""
    if isinstance(verdict, Succeeded):
        return ended(run, RunState.SUCCEEDED, now, guarantor, last=attempt)
    if run.cancel_requested:
        return ended(run, RunState.CANCELLED, now, guarantor, run.reason or Reason.JOB_CANCELLED, attempt)
    may_have_left = attempt.started_at is not None or attempt.outcome is Outcome.LOST
    if may_have_left and job.spec.delivery is Guarantee.AT_MOST_ONCE:
        return ended(run, RunState.FAILED, now, guarantor, Reason.AT_MOST_ONCE, attempt)
    retry_at = decide_retry(job.spec.retry, run, verdict, now)
    if isinstance(retry_at, Reason):
        return ended(run, RunState.FAILED, now, guarantor, retry_at, attempt)
    return retrying(run, retry_at, attempt)


def lost_attempt(run: Run) -> Attempt:
    """Return the record of an attempt whose lease expired: its progress is unknown."""
    claimed_at = run.claimed_at or run.created_at
    error, unheard_from = "Its executor vanished.", starts_as(run)
    return Attempt(run.attempt, Outcome.LOST, claimed_at, error=error, worker=run.owner, unheard_from=unheard_from)


def starts_as(run: Run) -> int:
    """Return the number of the attempt under whose name a running run starts an execution that it follows.

    That is the first attempt that may have started one without a trace, or else the current one. So such an execution
    is found again, and no second one is started beside it.
    """
    unheard_from = None if run.last is None else run.last.unheard_from
    return run.attempt if unheard_from is None else unheard_from
