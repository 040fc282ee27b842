"""What a user chooses of a job: what becomes of missed fires, of overlaps, and of failed attempts."""

from dataclasses import dataclass
from enum import StrEnum

from timeball.domain.time.instants import SECOND_MS

MAX_CAUGHT_UP = 100
"""The most missed fires that a policy may catch up."""


PACE_MS = SECOND_MS
"""The time between the starts of two fires of one job that are caught up."""


class CatchUpPolicy(StrEnum):
    """Which missed fires run: none, the latest, or all within the bounds."""

    SKIP = "skip"
    LATEST = "latest"
    ALL = "all"


@dataclass(frozen=True)
class CatchUp:
    """A policy and its bounds: the newest `max_runs` (of ALL) of those at most `max_age_seconds` old."""

    policy: CatchUpPolicy = CatchUpPolicy.LATEST
    max_runs: int = 10
    max_age_seconds: int = 3600

    @property
    def limit(self) -> int:
        """How many missed fires are caught up at most."""
        match self.policy:
            case CatchUpPolicy.SKIP:
                return 0
            case CatchUpPolicy.LATEST:
                return 1
            case CatchUpPolicy.ALL:
                return self.max_runs


class OverlapPolicy(StrEnum):
    """Run beside the earlier one; skip; wait behind it, one at most; or stop the earlier one and go on in its place."""

    ALLOW = "allow"
    SKIP = "skip"
    QUEUE_ONE = "queueOne"
    CANCEL_OTHER = "cancelOther"


class Jitter(StrEnum):
    """How a backoff is spread: over all of [0, backoff), or not at all."""

    FULL = "full"
    NONE = "none"


class Cause(StrEnum):
    """Why an attempt failed that the target did not answer, or answered only later."""

    TIMEOUT = "timeout"
    """No answer in time, or no report of a target that has answered 202."""
    CONNECTION = "connection"
    """No connection, or one that broke."""
    REPORTED = "reported"
    """The target itself said so, after a 202."""
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
