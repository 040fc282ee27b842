"""Whether a failed attempt is tried again, and when: a pure decision with its reason.

Exponential backoff with full jitter; the jitter is a hash of run and attempt, so that a replay decides the same.
"""

from dataclasses import dataclass
from enum import StrEnum

from timeball.domain.ids import fraction_of
from timeball.domain.instants import LATEST, MINUTE_MS, SECOND_MS
from timeball.domain.reason import Reason
from timeball.domain.run import Run
from timeball.domain.verdict import Failed


class Jitter(StrEnum):
    """How a backoff is spread: over all of [0, backoff), or not at all."""

    FULL = "full"
    NONE = "none"


class Cause(StrEnum):
    """Why an attempt failed that the target did not answer, or answered only later."""

    TIMEOUT = "timeout"
    """No answer in time, or no word of a target that has answered 202."""
    CONNECTION = "connection"
    """No connection, or one that broke."""
    REPORTED = "reported"
    """The target itself said so, after a 202."""
    FINAL = "final"
    """It said so, and that another try would fare no better. Never worth one."""
    LOST = "lost"
    """Whoever worked on it vanished, or its heartbeat ceased. Always worth another try."""


RETRIED_BY_DEFAULT = (Cause.TIMEOUT, Cause.CONNECTION, Cause.REPORTED, "408", "425", "429", "5xx")
"""What is worth another try unless the policy says otherwise. Other 4xx blame the request, and redirects go nowhere.

Statuses are read by the adapter of the target that answers with one.
"""


@dataclass(frozen=True)
class RetryPolicy:
    """How often and how long a run is tried again, whichever limit comes first. Durations are whole seconds.

    `retry_on` lists causes, statuses such as "409", and classes of them such as "5xx".
    """

    max_retries: int = 3
    base_seconds: int = 5
    factor: float = 2.0
    max_seconds: int = 3600
    jitter: Jitter = Jitter.FULL
    max_age_seconds: int | None = None
    retry_on: tuple[str, ...] = RETRIED_BY_DEFAULT

    def backoff_ms(self, attempt: int) -> int:
        """Return the longest wait after a failed attempt (numbered from 1), before jitter, in ms."""
        growth = min(self.factor ** (attempt - 1), float(self.max_seconds))
        return int(min(self.base_seconds * growth, self.max_seconds) * SECOND_MS)

    def timetable(self) -> tuple[int, ...]:
        """Return the longest wait before each retry, in ms: what the API shows at creation."""
        return tuple(self.backoff_ms(attempt) for attempt in range(1, self.max_retries + 1))

    def retries(self, cause: Cause) -> bool:
        """Say whether a failure of this cause is worth another try."""
        return cause is Cause.LOST or cause in self.retry_on


@dataclass(frozen=True)
class RetryDecision:
    """When to try again (`retry_at`, ms), or None for never, and why not."""

    retry_at: int | None
    reason: Reason | None = None


def decide_retry(policy: RetryPolicy, run: Run, failed: Failed, now: int) -> RetryDecision:
    """Decide what follows the failed attempt of a running run, at `now` (ms).

    What a target asks for lengthens a wait, up to `max_seconds`, and never shortens it.
    """
    if not failed.may_retry:
        return RetryDecision(None, Reason.NOT_RETRIABLE)
    wait = float(policy.backoff_ms(max(run.attempts_spent, 1)))
    if policy.jitter is Jitter.FULL:
        wait *= fraction_of("retry", run.id.job.tenant, run.id, run.attempt)
    if failed.retry_after_seconds is not None:
        wait = max(wait, min(failed.retry_after_seconds, float(policy.max_seconds)) * SECOND_MS)
    retry_at = now + int(wait)
    reason = exhausted(policy, run, retry_at)
    return RetryDecision(retry_at) if reason is None else RetryDecision(None, reason)


def exhausted(policy: RetryPolicy, run: Run, next_at: int) -> Reason | None:
    """Return why no further attempt may begin at an instant, or None if one may."""
    if run.attempts_spent > policy.max_retries:
        return Reason.RETRIES_EXHAUSTED
    return Reason.TOO_OLD if next_at > last_begin_at(policy, run) else None


def last_begin_at(policy: RetryPolicy, run: Run) -> int:
    """Return the last instant at which a further attempt is not too old to begin."""
    return LATEST if policy.max_age_seconds is None else run.aging_since + policy.max_age_seconds * SECOND_MS


def longest_waits_ms(policy: RetryPolicy) -> int:
    """Return how long all waits between the attempts of a run may be together, in ms."""
    waits = policy.max_retries * policy.max_seconds * SECOND_MS  # a Retry-After may stretch each wait so far
    return waits if policy.max_age_seconds is None else min(waits, policy.max_age_seconds * SECOND_MS)


def patience_ms(policy: RetryPolicy) -> int:
    """Return how long a run may wait for its host in all, in ms: as its retries may, and ten minutes at least."""
    return max(longest_waits_ms(policy), 10 * MINUTE_MS)


def longest_life_ms(policy: RetryPolicy, timeout_seconds: int) -> int:
    """Return the longest time between the first attempt of a run and the end of its last one, in ms."""
    calls = (policy.max_retries + 1) * timeout_seconds * SECOND_MS
    return longest_waits_ms(policy) + patience_ms(policy) + calls
