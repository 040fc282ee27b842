"""The work of a run, and a user's choices for a job: what becomes of missed fires, of overlaps, of failed attempts."""

from dataclasses import dataclass
from enum import StrEnum

from timeball.domain.model.terms.target import HttpTarget, Target
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
    """A catch-up policy and its bounds."""

    policy: CatchUpPolicy = CatchUpPolicy.LATEST
    """Which missed fires run."""
    max_runs: int = 10
    """With ALL, the newest so many fires run."""
    max_age_seconds: int | None = None
    """Fires older than this do not run; None: the larger of an hour and half the distance to the next fire."""

    @property
    def limit(self) -> int:
        """The most missed fires that are caught up."""
        match self.policy:
            case CatchUpPolicy.SKIP:
                return 0
            case CatchUpPolicy.LATEST:
                return 1
            case CatchUpPolicy.ALL:
                return self.max_runs


class OverlapPolicy(StrEnum):
    """Run beside the earlier run; skip; wait for its end (one run at most); or stop the earlier run and replace it."""

    ALLOW = "allow"
    SKIP = "skip"
    QUEUE_ONE = "queueOne"
    CANCEL_OTHER = "cancelOther"


class Jitter(StrEnum):
    """How a backoff is spread: over all of [0, backoff), or not at all."""

    FULL = "full"
    NONE = "none"


class Cause(StrEnum):
    """Why an attempt failed without an answer of the target, or by a later report."""

    TIMEOUT = "timeout"
    """No answer in time, or no report in time after a 202."""
    CONNECTION = "connection"
    """No connection, or a broken one."""
    REPORTED = "reported"
    """The target reported the failure after a 202."""
    LOST = "lost"
    """The executor vanished, or the target's heartbeat stopped. Another attempt always makes sense."""


RETRIED_BY_DEFAULT = (Cause.TIMEOUT, Cause.CONNECTION, Cause.REPORTED, "408", "425", "429", "5xx")
"""The failures that are retried unless the policy says otherwise. Other 4xx blame the request; redirects lead
nowhere. The adapter of a target interprets the statuses that it answers with."""


@dataclass(frozen=True)
class RetryPolicy:
    """How often and how long a run is retried, until the first limit is reached. Durations are whole seconds."""

    max_retries: int = 3
    """The most attempts after the first one."""
    base_seconds: int = 5
    """The longest wait before the first retry."""
    factor: float = 2.0
    """The factor by which the wait grows with each retry."""
    max_seconds: int = 3600
    """The longest wait before any retry."""
    jitter: Jitter = Jitter.FULL
    """How a wait is spread."""
    max_age_seconds: int | None = None
    """The age of the run beyond which no retry begins; None: no bound."""
    retry_on: tuple[str, ...] = RETRIED_BY_DEFAULT
    """The causes, statuses such as "409", and classes of statuses such as "5xx" that are retried."""

    def backoff_ms(self, attempt: int) -> int:
        """Return the longest wait after a failed attempt (numbered from 1), before jitter, in ms."""
        growth = min(self.factor ** (attempt - 1), float(self.max_seconds))
        return int(min(self.base_seconds * growth, self.max_seconds) * SECOND_MS)

    def timetable(self) -> tuple[int, ...]:
        """Return the longest wait before each retry, in ms, which the API shows at creation."""
        return tuple(self.backoff_ms(attempt) for attempt in range(1, self.max_retries + 1))

    def retries(self, cause: Cause) -> bool:
        """Say whether a failure of this cause is retried."""
        return cause is Cause.LOST or cause in self.retry_on


TASKS_TARGET = HttpTarget("")
"""The target of a job that names a task, until the job is resolved."""


@dataclass(frozen=True)
class Work:
    """The work of a run."""

    target: Target = TASKS_TARGET
    """The target that it calls."""
    payload: str | None = None
    """The payload, as JSON text; None: no payload."""
