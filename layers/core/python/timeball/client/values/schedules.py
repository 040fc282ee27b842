"""The schedules of jobs."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal, TypeAlias

from timeball.client.values.encoding import given_fields, instant_text, refuse_outside, refuse_unknown, refuse_unless


@dataclass(frozen=True)
class Cron:
    """A cron expression of five fields, in a time zone."""

    expression: str
    """Minute, hour, day of month, month, day of week, such as `0 2 * * MON-FRI`."""
    timezone: str | None = None
    """Of IANA, such as `Europe/Berlin`; by default the tenant's, or UTC."""
    start_at: datetime | None = None
    """The job does not fire before this time."""
    end_at: datetime | None = None
    """The job does not fire after this time."""
    max_runs: int | None = None
    gap: Literal["next", "skip"] | None = None
    """The rule for a local time that the clocks skip."""
    repeated: Literal["first", "both"] | None = None
    """The rule for a local time that the clocks show twice."""

    def __post_init__(self) -> None:
        number = len(self.expression.split())
        refuse_unless(
            f"A cron expression has five fields, and {self.expression!r} has {number}: there is none for seconds.",
            holds=number == 5,
        )
        refuse_unless("The time zone of a cron is a name, such as Europe/Berlin.", holds=self.timezone != "")
        refuse_unknown("gap", self.gap, ("next", "skip"))
        refuse_unknown("repeated", self.repeated, ("first", "both"))
        _refuse_window(self.start_at, self.end_at, self.max_runs)

    def to_json(self) -> dict[str, Any]:
        """Return the fields of a job."""
        found = given_fields(self)
        policy = {"gap": found.pop("gap", None), "overlap": found.pop("repeated", None)}
        policy = {name: value for name, value in policy.items() if value}
        return {"cronExpression": found.pop("expression"), **found, **({"dstPolicy": policy} if policy else {})}


@dataclass(frozen=True)
class Every:
    """An interval in elapsed time."""

    seconds: int | timedelta
    """Whole seconds."""
    anchor_at: datetime | None = None
    """An instant from which the interval counts, back and forth; by default `start_at`, or the next second."""
    start_at: datetime | None = None
    """The job does not fire before this time."""
    end_at: datetime | None = None
    """The job does not fire after this time."""
    max_runs: int | None = None

    def __post_init__(self) -> None:
        refuse_outside("An interval in seconds", self.seconds, 1)
        _refuse_window(self.start_at, self.end_at, self.max_runs)
        _refuse_no_instant(self.anchor_at)

    def to_json(self) -> dict[str, Any]:
        """Return the fields of a job."""
        found = given_fields(self)
        return {"everySeconds": found.pop("seconds"), **found}


@dataclass(frozen=True)
class At:
    """One instant."""

    at: datetime
    past: Literal["run", "reject"] | None = None
    """The rule for an instant in the past; by default the job runs at once."""

    def __post_init__(self) -> None:
        _refuse_no_instant(self.at)
        refuse_unknown("past", self.past, ("run", "reject"))

    def to_json(self) -> dict[str, Any]:
        """Return the fields of a job."""
        return {"scheduleAt": self.at, **({"pastSchedule": self.past} if self.past else {})}


@dataclass(frozen=True)
class After:
    """Once, after a delay."""

    seconds: int | timedelta
    """Whole seconds."""

    def __post_init__(self) -> None:
        refuse_outside("A delay in seconds", self.seconds, 0)

    def to_json(self) -> dict[str, Any]:
        """Return the fields of a job."""
        return {"delaySeconds": self.seconds}


@dataclass(frozen=True)
class OnEvent:
    """Each event that matches a pattern of EventBridge."""

    pattern: Mapping[str, Any]
    """Such as `{"source": ["shop"], "detail-type": ["order.placed"]}`."""
    when: Cron | Every | None = None
    """With a schedule a fire runs only if an event came since the last one."""

    def __post_init__(self) -> None:
        refuse_unless("A pattern of events names a field, such as source.", holds=bool(self.pattern))

    def to_json(self) -> dict[str, Any]:
        """Return the fields of a job."""
        return {"event": self.pattern, **(self.when.to_json() if self.when else {})}


Schedule: TypeAlias = Cron | Every | At | After | OnEvent
"""Any rule by which a job fires."""


def _refuse_no_instant(at: datetime | None) -> None:
    if at is not None:
        instant_text(at)


def _refuse_window(start_at: datetime | None, end_at: datetime | None, max_runs: int | None) -> None:
    _refuse_no_instant(start_at)
    _refuse_no_instant(end_at)
    if start_at and end_at:
        refuse_unless("A schedule ends after it starts: end_at is before start_at.", holds=start_at <= end_at)
    refuse_outside("max_runs", max_runs, 1)
