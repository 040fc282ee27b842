"""A job as a program writes it, and a task, which jobs may name."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Literal, TypeAlias, get_args

from timeball.client.values.encoding import UNSET, Given, given_fields, refuse_outside, refuse_unknown, refuse_unless
from timeball.client.values.policies import (
    CatchUp,
    ConcurrencyLimit,
    Notify,
    OnCalendar,
    Parent,
    RateLimit,
    Retries,
    Tags,
    refuse_bad_tags,
)
from timeball.client.values.schedules import Schedule
from timeball.client.values.targets import Target, target_fields

Overlap: TypeAlias = Literal["allow", "skip", "queueOne", "cancelOther"]
PriorityName: TypeAlias = Literal["high", "normal", "low"]
Rule: TypeAlias = Literal["allSucceeded", "allDone", "anySucceeded", "anyFailed"]


@dataclass(frozen=True, kw_only=True)
class Job:
    """A job: what to call, when, and under which policies. A field that is not given has the API's default."""

    call: Target | str
    """A target, a URL, or the id of a task."""
    when: Schedule | None = None
    """Without a schedule the job runs now, or after its parents."""
    payload: Given = field(default=UNSET, repr=False)
    """The body of the call: any JSON."""
    name: str | None = None
    owner: str | None = None
    tags: Tags | None = None
    priority: PriorityName | None = None
    retries: int | Retries | None = None
    timeout_seconds: int | timedelta | None = None
    """The longest time for one attempt."""
    completion: Literal["answer", "callback"] | None = None
    """`callback`: after a 202 the target reports the end itself."""
    heartbeat_seconds: int | timedelta | None = None
    """For `callback`: how often the target must report that it still works."""
    delivery: Literal["at_least_once", "at_most_once"] | None = None
    overlap: Overlap | None = None
    """The rule for a fire that comes while an earlier run is under way."""
    catch_up: Literal["skip", "latest", "all"] | CatchUp | None = None
    """Which missed fires still run."""
    jitter_seconds: int | timedelta | None = None
    calendar: str | OnCalendar | None = None
    depends_on: Sequence[str | Parent] = ()
    """The jobs that must end before this one runs."""
    trigger_rule: Rule | None = None
    dependency_timeout_seconds: int | timedelta | None = None
    pass_parents: bool | None = None
    for_each: str | None = None
    concurrency_limit: ConcurrencyLimit | None = None
    rate_limit: RateLimit | None = None
    unique_key: str | None = None
    unique_seconds: int | timedelta | None = None
    debounce_seconds: int | timedelta | None = None
    debounce_max_seconds: int | timedelta | None = None
    supersede: bool | None = None
    notify: Notify | None = None
    pause_after_failures: int | None = None
    ref: str | None = None
    """For batches: the name by which `depends_on` of other jobs of the batch knows it."""

    def __post_init__(self) -> None:
        refuse_unknown("priority", self.priority, get_args(PriorityName))
        refuse_unknown("overlap", self.overlap, get_args(Overlap))
        refuse_unknown("trigger_rule", self.trigger_rule, get_args(Rule))
        refuse_unknown("completion", self.completion, ("answer", "callback"))
        refuse_unknown("delivery", self.delivery, ("at_least_once", "at_most_once"))
        if isinstance(self.catch_up, str):
            CatchUp(self.catch_up)
        if not isinstance(self.retries, Retries):
            Retries(self.retries)
        refuse_outside("timeout_seconds", self.timeout_seconds, 1, 604_800)
        refuse_outside("jitter_seconds", self.jitter_seconds, 0, 86_400)
        refuse_outside("pause_after_failures", self.pause_after_failures, 1, 100)
        refuse_unless(
            "heartbeat_seconds is for completion='callback' alone.",
            holds=self.heartbeat_seconds is None or self.completion == "callback",
        )
        refuse_unless("depends_on is a list of ids, and not one text.", holds=not isinstance(self.depends_on, str))
        refuse_bad_tags(self.tags)
        target_fields(self.call)

    def to_json(self) -> dict[str, Any]:
        """Return the API's request."""
        found = {name: value for name, value in given_fields(self).items() if name not in _TRANSLATED}
        found |= target_fields(self.call) | (self.when.to_json() if self.when else {}) | retry_fields(self.retries)
        if self.payload is not UNSET:
            found["payload"] = self.payload  # None is a body, too
        if self.overlap:
            found["overlapPolicy"] = self.overlap
        if self.catch_up:
            found["catchUp"] = CatchUp(self.catch_up) if isinstance(self.catch_up, str) else self.catch_up
        if self.calendar:
            found["calendar"] = OnCalendar(self.calendar) if isinstance(self.calendar, str) else self.calendar
        if self.depends_on:
            found["dependsOn"] = list(self.depends_on)
        return found


_TRANSLATED = frozenset({"call", "when", "retries", "overlap", "catchUp", "calendar", "dependsOn"})


@dataclass(frozen=True, kw_only=True)
class Task:
    """Registered work that jobs name: a target, and default policies."""

    call: Target | str
    name: str | None = None
    payload_schema: Mapping[str, Any] | None = None
    """A JSON Schema that the payloads of its jobs must match."""
    tags: Tags | None = None
    priority: PriorityName | None = None
    retries: int | Retries | None = None
    timeout_seconds: int | timedelta | None = None
    completion: Literal["answer", "callback"] | None = None
    heartbeat_seconds: int | timedelta | None = None

    def __post_init__(self) -> None:
        refuse_unknown("priority", self.priority, get_args(PriorityName))
        refuse_unknown("completion", self.completion, ("answer", "callback"))
        refuse_bad_tags(self.tags)
        target_fields(self.call)

    def to_json(self) -> dict[str, Any]:
        """Return the API's request."""
        found = {name: value for name, value in given_fields(self).items() if name not in _TRANSLATED}
        return found | target_fields(self.call) | retry_fields(self.retries)


def retry_fields(retries: int | Retries | None) -> dict[str, Any]:
    """Return the fields of a job for its retries."""
    return (retries if isinstance(retries, Retries) else Retries(retries)).to_json()


JobLike: TypeAlias = Job | Mapping[str, Any]
"""A job, or the API's own JSON of one."""
TaskLike: TypeAlias = Task | Mapping[str, Any]
"""A task, or the API's own JSON of one."""
