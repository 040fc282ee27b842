"""The effect of a finished attempt on its run: whether it is tried again, and when. A pure decision with its reason.

Waits follow an exponential backoff with full jitter. The jitter is a hash of run and attempt, so that a replay decides
the same.
"""

from timeball.domain.model.ids import fraction_of
from timeball.domain.model.jobs.job import Guarantee, Job
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.runs.transitions import ended, retrying
from timeball.domain.model.runs.values import Attempt, Failed, Guarantor, Outcome, Succeeded
from timeball.domain.model.terms.policies import Jitter, RetryPolicy
from timeball.domain.time.instants import LATEST, MINUTE_MS, SECOND_MS


def decide_retry(policy: RetryPolicy, run: Run, failed: Failed, now: int) -> int | Reason:
    """Return when (ms) a running run is retried after an attempt that failed at `now`, or why it is not retried.

    A wait that the target asks for lengthens the wait, up to `max_seconds`, and never shortens it.
    """
    if not failed.may_retry:
        return Reason.NOT_RETRIABLE
    wait = float(policy.backoff_ms(max(run.attempts_spent, 1)))
    if policy.jitter is Jitter.FULL:
        wait *= fraction_of("retry", run.id.job.tenant, run.id, run.attempt)
    if failed.retry_after_seconds is not None:
        wait = max(wait, min(failed.retry_after_seconds, float(policy.max_seconds)) * SECOND_MS)
    retry_at = now + int(wait)
    return exhausted(policy, run, retry_at) or retry_at


def exhausted(policy: RetryPolicy, run: Run, next_at: int) -> Reason | None:
    """Return why no further attempt may begin at an instant, or None if one may."""
    if run.attempts_spent > policy.max_retries:
        return Reason.RETRIES_EXHAUSTED
    return Reason.TOO_OLD if next_at > last_begin_at(policy, run) else None


def last_begin_at(policy: RetryPolicy, run: Run) -> int:
    """Return the last instant at which a further attempt is not too old to begin."""
    return LATEST if policy.max_age_seconds is None else run.aging_since + policy.max_age_seconds * SECOND_MS


def longest_waits_ms(policy: RetryPolicy) -> int:
    """Return the longest sum of all waits between the attempts of a run, in ms."""
    waits = policy.max_retries * policy.max_seconds * SECOND_MS  # a Retry-After may stretch each wait to max_seconds
    return waits if policy.max_age_seconds is None else min(waits, policy.max_age_seconds * SECOND_MS)


def patience_ms(policy: RetryPolicy) -> int:
    """Return how long a run may wait for its resource, in ms: as long as all its retries may, at least ten minutes."""
    return max(longest_waits_ms(policy), 10 * MINUTE_MS)


def longest_life_ms(policy: RetryPolicy, timeout_seconds: int) -> int:
    """Return the longest time between the first attempt of a run and the end of its last one, in ms."""
    calls = (policy.max_retries + 1) * timeout_seconds * SECOND_MS
    return longest_waits_ms(policy) + patience_ms(policy) + calls


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
