"""Whom a job's user wants told of how its runs fare; and of a notice, the job that tells them, what it tells.

A notice is a one-off job of Timeball's own: its call is retried, recorded and listed as a dead letter as any other. It
has no wishes of its own to be told of, so no notice follows from another.
"""

from dataclasses import dataclass, field
from enum import StrEnum

from timeball.domain.model.ids import RunId
from timeball.domain.model.reason import Reason
from timeball.domain.model.terms.target import Target

MOST_AFTER_FAILURES = 100
"""A longer streak of failures is not looked for."""


class News(StrEnum):
    """What a notice tells."""

    FAILURE = "failure"
    RECOVERY = "recovery"
    SUCCESS = "success"
    LATE = "late"
    BLOCKED = "blocked"


class Milestone(StrEnum):
    """By when a run is late that has not come so far."""

    STARTED = "started"
    SUCCEEDED = "succeeded"


@dataclass(frozen=True)
class Notify:
    """Whom to call when, and how much is news: so many failures in a row, so many seconds after a fire time.

    A run is late that has not started `late_after_seconds` after its fire time, or not succeeded `deadline_seconds`
    after it.
    """

    on_failure: Target | None = None
    on_recovery: Target | None = None
    on_late: Target | None = None
    on_success: Target | None = None
    after_failures: int = 1
    late_after_seconds: int | None = None
    deadline_seconds: int | None = None

    @property
    def watches_streaks(self) -> bool:
        """Whether it is news that runs fail in a row, or do so no more."""
        return self.on_failure is not None or self.on_recovery is not None


@dataclass(frozen=True)
class End:
    """One end of a run, by the attempt before it: a run that is run again ends again.

    `reason` and `at` (ms; 0: unknown, of older rows) tell of the end when the run's row no longer does. They identify
    nothing, and a notice's id depends on the text of the others.
    """

    run: RunId
    attempt: int
    reason: Reason | None = field(default=None, compare=False, repr=False)
    at: int = field(default=0, compare=False, repr=False)


@dataclass(frozen=True)
class Notice:
    """What a notice tells of a job, and of which of its runs; None: of the job itself.

    One with a milestone is made ahead: it is called only if the run has not come so far by then.
    """

    news: News
    job_id: str
    run: RunId | None = None
    milestone: Milestone | None = None
