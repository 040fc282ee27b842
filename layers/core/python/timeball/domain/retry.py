"""Whether a failed attempt is tried again, and when: a pure decision with its reason.

Exponential backoff with full jitter; the jitter is a hash of run and attempt, so that a replay decides the same.
"""

from dataclasses import dataclass
from enum import StrEnum

from timeball.domain.ids import RunId, fraction_of
from timeball.domain.instants import SECOND_MS


class Jitter(StrEnum):
    """How a backoff is spread: over all of [0, backoff), or not at all."""

    FULL = "full"
    NONE = "none"


@dataclass(frozen=True)
class RetryPolicy:
    """How often and how long a run is tried again, whichever limit comes first. Durations are whole seconds."""

    max_retries: int = 3
    base_seconds: int = 5
    factor: float = 2.0
    max_seconds: int = 3600
    jitter: Jitter = Jitter.FULL
    max_age_seconds: int | None = None

    def backoff_ms(self, attempt: int) -> int:
        """Return the longest wait after a failed attempt (numbered from 1), before jitter, in ms."""
        growth = min(self.factor ** (attempt - 1), float(self.max_seconds))
        return int(min(self.base_seconds * growth, self.max_seconds) * SECOND_MS)

    def timetable(self) -> tuple[int, ...]:
        """Return the longest wait before each retry, in ms: what the API shows at creation."""
        return tuple(self.backoff_ms(attempt) for attempt in range(1, self.max_retries + 1))


class RetryReason(StrEnum):
    """Why a run is, or is not, tried again."""

    RETRY = "retry"
    NOT_RETRIABLE = "not_retriable"
    RETRIES_EXHAUSTED = "retries_exhausted"
    TOO_OLD = "too_old"


@dataclass(frozen=True)
class RetryDecision:
    """When to try again (`retry_at`, ms), or None for never; always why."""

    retry_at: int | None
    reason: RetryReason


RETRIABLE_STATUSES = frozenset({408, 425, 429})
"""The 4xx answers that are worth another try; every 5xx is, and so is no answer at all."""


def is_retriable(status: int | None) -> bool:
    """Say whether an answer of the target (None: there was none) is worth another try."""
    return status is None or not 300 <= status < 500 or status in RETRIABLE_STATUSES


def decide_retry(
    policy: RetryPolicy,
    run: RunId,
    attempt: int,
    status: int | None,
    now: int,
    retry_after_seconds: float | None = None,
) -> RetryDecision:
    """Decide what follows a failed attempt of a run, at `now` (ms).

    `Retry-After` lengthens a wait, up to `max_seconds`, and never shortens it. Age counts from the fire time.
    """
    if not is_retriable(status):
        return RetryDecision(None, RetryReason.NOT_RETRIABLE)
    if attempt > policy.max_retries:
        return RetryDecision(None, RetryReason.RETRIES_EXHAUSTED)
    wait = float(policy.backoff_ms(attempt))
    if policy.jitter is Jitter.FULL:
        wait *= fraction_of("retry", run.job.tenant, run, attempt)
    if retry_after_seconds is not None:
        wait = max(wait, min(retry_after_seconds, float(policy.max_seconds)) * SECOND_MS)
    retry_at = now + int(wait)
    if policy.max_age_seconds is not None and retry_at > run.fire_at + policy.max_age_seconds * SECOND_MS:
        return RetryDecision(None, RetryReason.TOO_OLD)
    return RetryDecision(retry_at, RetryReason.RETRY)


def longest_life_ms(policy: RetryPolicy, timeout_seconds: int) -> int:
    """Return the longest time between the first attempt of a run and the end of its last one, in ms."""
    waits = policy.max_retries * policy.max_seconds * SECOND_MS  # a Retry-After may stretch each wait so far
    if policy.max_age_seconds is not None:
        waits = min(waits, policy.max_age_seconds * SECOND_MS)
    return waits + (policy.max_retries + 1) * timeout_seconds * SECOND_MS
