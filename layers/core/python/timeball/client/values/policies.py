"""The policies of jobs: retries, misfires, limits, calendars, news."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal

from timeball.client.values.encoding import given_fields, refuse_outside, refuse_unknown, refuse_unless
from timeball.client.values.targets import Target


@dataclass(frozen=True)
class Retries:
    """How often, and after which waits, a failed attempt is tried again."""

    most: int | None = None
    """The most retries of a run; 3 unless given."""
    base_seconds: int | None = None
    """The first wait."""
    factor: float | None = None
    """By how much each wait is longer than the one before."""
    max_seconds: int | None = None
    """The longest wait."""
    jitter: Literal["full", "none"] | None = None
    max_age_seconds: int | None = None
    """No retry begins later after the fire time."""
    retry_on: Sequence[str] | None = None
    """The failures that are tried again, such as `timeout`, `connection`, `429`, `5xx`."""

    def __post_init__(self) -> None:
        refuse_outside("Retries", self.most, 0, 100)
        refuse_outside("factor", self.factor, 1, 10)
        refuse_unknown("jitter", self.jitter, ("full", "none"))

    def to_json(self) -> dict[str, Any]:
        """Return the fields of a job."""
        policy = given_fields(self)
        most = {"maxRetries": policy.pop("most")} if self.most is not None else {}
        return most | ({"retryPolicy": policy} if policy else {})


@dataclass(frozen=True)
class CatchUp:
    """Which missed fires still run."""

    policy: Literal["skip", "latest", "all"] = "latest"
    max_runs: int | None = None
    """With `all`: the newest so many."""
    max_age_seconds: int | timedelta | None = None
    """No older fire runs."""

    def __post_init__(self) -> None:
        refuse_unknown("The policy of a catch-up", self.policy, ("skip", "latest", "all"))
        refuse_outside("max_runs", self.max_runs, 1, 100)


@dataclass(frozen=True)
class OnCalendar:
    """A calendar on whose dates the job does not fire."""

    name: str
    policy: Literal["skip", "next"] = "skip"
    """Fires on its dates are skipped, or start on the next allowed day."""

    def __post_init__(self) -> None:
        refuse_unknown("The policy of a calendar", self.policy, ("skip", "next"))


@dataclass(frozen=True)
class ConcurrencyLimit:
    """A limit of concurrent runs, over all jobs that name it."""

    name: str
    limit: int
    on_full: Literal["wait", "skip"] = "wait"

    def __post_init__(self) -> None:
        refuse_outside("A limit of concurrent runs", self.limit, 1)
        refuse_unknown("on_full", self.on_full, ("wait", "skip"))


@dataclass(frozen=True)
class RateLimit:
    """A limit of calls a second, over all jobs that name it."""

    name: str
    per_second: float
    burst: int = 1
    """How many calls may begin at once."""

    def __post_init__(self) -> None:
        refuse_unless("per_second is more than 0.", holds=self.per_second > 0)
        refuse_outside("burst", self.burst, 1)


@dataclass(frozen=True)
class Parent:
    """A job that must end before another runs."""

    job_id: str
    as_: str | None = None
    """The name that the other job uses for it."""
    on: Literal["succeeded", "failed", "done", "latest"] = "succeeded"
    """Which end counts as success."""

    def __post_init__(self) -> None:
        refuse_unless("A parent is the id of a job.", holds=bool(self.job_id))
        refuse_unknown("on", self.on, ("succeeded", "failed", "done", "latest"))


@dataclass(frozen=True)
class Notify:
    """The targets that are called with news of a job: URLs, or targets such as `Slack`."""

    on_failure: Target | str | None = None
    on_recovery: Target | str | None = None
    on_late: Target | str | None = None
    on_blocked: Target | str | None = None
    on_success: Target | str | None = None
    after_failures: int | None = None
    """How many runs in a row must fail; 1 unless given."""
    after_blocked: int | None = None
    """How many runs in a row must be stopped by parents; 3 unless given."""
    late_after_seconds: int | timedelta | None = None
    """A run that has not started so long after its fire time is late."""
    deadline_seconds: int | timedelta | None = None
    """A run that has not succeeded so long after its fire time is late."""

    def __post_init__(self) -> None:
        refuse_outside("after_failures", self.after_failures, 1, 100)
        refuse_outside("after_blocked", self.after_blocked, 1, 100)
        refuse_outside("late_after_seconds", self.late_after_seconds, 1)
        refuse_outside("deadline_seconds", self.deadline_seconds, 1)
        refuse_unless(
            "on_late needs late_after_seconds or deadline_seconds, which say what late is.",
            holds=self.on_late is None or bool(self.late_after_seconds or self.deadline_seconds),
        )


Tags = Mapping[str, str]
"""Words by which jobs are found and keys are bounded."""


def refuse_bad_tags(tags: Tags | None) -> None:
    """Raise ValueError for tags that are not texts by texts."""
    for name, value in (tags or {}).items():
        refuse_unless(
            f"Tags are texts by texts without a colon in the name, and {name!r}: {value!r} is none.",
            holds=all(isinstance(one, str) for one in (name, value)) and bool(name) and ":" not in name,
        )
