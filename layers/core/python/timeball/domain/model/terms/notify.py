"""The targets that learn how a job's runs fare, and the content of a notice, the job that informs them.

A notice is a one-off job of Timeball's own: its call is retried, recorded and listed as a dead letter like any other. A
notice has no `notify` itself, so no notice follows from another.
"""

from dataclasses import dataclass, field
from enum import StrEnum

from timeball.domain.model.ids import RunId
from timeball.domain.model.reason import Reason
from timeball.domain.model.terms.target import Target

MOST_IN_A_ROW = 100
"""The longest streak that is searched for."""


class News(StrEnum):
    """The subject of a notice."""

    FAILURE = "failure"
    RECOVERY = "recovery"
    SUCCESS = "success"
    LATE = "late"
    BLOCKED = "blocked"


class Milestone(StrEnum):
    """The point that a run must have reached in time."""

    STARTED = "started"
    SUCCEEDED = "succeeded"


@dataclass(frozen=True)
class Notify:
    """The targets that a job's user wants called, and the conditions."""

    on_failure: Target | None = None
    """Called about failures and blocks; None: no call."""
    on_recovery: Target | None = None
    """Called about a success after such failures; None: no call."""
    on_late: Target | None = None
    """Called about a late run; None: no call."""
    on_blocked: Target | None = None
    """Called about a streak of runs that their parents stop; None: no call."""
    on_success: Target | None = None
    """Called about every success; None: no call."""
    after_failures: int = 1
    """How many failures in a row are news."""
    after_blocked: int = 3
    """How many runs in a row that their parents stop are news."""
    late_after_seconds: int | None = None
    """A run is late if it starts later than this after its fire time; None: never."""
    deadline_seconds: int | None = None
    """A run is late if it succeeds later than this after its fire time; None: never."""
    of_tenant: bool = False
    """Whether it is a copy of the tenant's default, which the job took at its create or PUT."""

    @property
    def watches_streaks(self) -> bool:
        """Whether failures in a row, or a recovery from them, are news."""
        return self.on_failure is not None or self.on_recovery is not None


@dataclass(frozen=True)
class RunEnd:
    """One end of a run. A run that is run again ends again.

    `reason` and `at` describe the end when the run's row no longer does. They are not part of the identity: the id of a
    notice depends on the text of the other fields.
    """

    run: RunId
    """The run that ended."""
    attempt: int
    """Its last attempt before the end."""
    reason: Reason | None = field(default=None, compare=False, repr=False)
    """Why it ended so; None: no reason, or a row of an older version."""
    at: int = field(default=0, compare=False, repr=False)
    """When it ended (ms); 0: unknown, in a row of an older version."""


@dataclass(frozen=True)
class Notice:
    """The content of a notice."""

    news: News
    """Its subject."""
    job_id: str
    """The job that it is about."""
    run: RunId | None = None
    """The run that it is about; None: the job itself."""
    milestone: Milestone | None = None
    """It is made ahead, and is called only if the run has not reached this in time; None: not made ahead."""
