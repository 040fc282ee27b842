"""A job: what is to be done, when, and under which policies. One row, versioned.

Invariant: `next_fire_at` is the earliest instant that no run or skipped row stands for yet; it alone says how far the
ledger is written. `due_at` is only where the job waits in the due index.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey, RunId
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Run
from timeball.domain.model.tenants.actor import NOBODY, Action, Actor
from timeball.domain.model.terms.calendar import CalendarUse
from timeball.domain.model.terms.dependency import (
    DEPENDENCY_TIMEOUT_SECONDS,
    Blocked,
    Ended,
    Parent,
    Proposed,
    TriggerRule,
)
from timeball.domain.model.terms.flow import Flow
from timeball.domain.model.terms.notify import End, Notice, Notify
from timeball.domain.model.terms.policies import PACE_MS, CatchUp, OverlapPolicy, RetryPolicy
from timeball.domain.model.terms.task_use import TaskUse
from timeball.domain.model.terms.work import Work
from timeball.domain.time.instants import HOUR_MS, MINUTE_MS, SECOND_MS
from timeball.domain.time.schedule import Schedule, next_fire
from timeball.domain.time.stepper import RULE_VERSION
from timeball.domain.time.zones import tzdata_version


class JobStatus(StrEnum):
    """Where a job stands. A recurring job stays pending; of some that are pending `running` or `blocked` is shown."""

    PENDING = "pending"
    PAUSED = "paused"
    BLOCKED = "blocked"
    COMPLETED = "completed"
    FAILED = "failed"
    SKIPPED = "skipped"
    CANCELLED = "cancelled"


OPEN = frozenset({JobStatus.PENDING, JobStatus.PAUSED, JobStatus.BLOCKED})
"""The statuses from which a job may still run."""


class Priority(StrEnum):
    """Which queue carries the runs of a job."""

    HIGH = "high"
    NORMAL = "normal"
    LOW = "low"


class Completion(StrEnum):
    """What ends an attempt: the answer to its call, or, after a 202, the word of the target."""

    ANSWER = "answer"
    CALLBACK = "callback"


class Guarantee(StrEnum):
    """How often a target may see a run: once or more, or never again after a call that may have left."""

    AT_LEAST_ONCE = "at_least_once"
    AT_MOST_ONCE = "at_most_once"


class Verb(StrEnum):
    """What a user asked of a job whose runs are not reconciled with it yet."""

    CANCEL = "cancel"
    PAUSE = "pause"
    RESUME = "resume"
    RESCHEDULE = "reschedule"
    SKIP = "skip"


@dataclass(frozen=True)
class Intent:
    """A user's change that runs are to be reconciled with: the verb, when it was asked, and the old plan.

    `next_fire_at` and `schedule` are those of before; `schedule` None: it has not changed. Of a skip `next_fire_at` is
    the fire that is skipped. Where this was cut off, runs are reconciled down to `searched_to`, the latest first, and
    backfills up to the one of the name `stopped_through`.
    """

    verb: Verb
    asked_at: int
    next_fire_at: int | None
    schedule: Schedule | None = None
    searched_to: RunId | None = None
    stopped_through: str = ""


@dataclass(frozen=True)
class Change:
    """The change that made a version of a job: when it was asked for, what, and by whom; and how it left the job.

    Plans go on from `next_fire_at`, with `runs_planned` runs counted. They move the row, and a final run ends it.
    """

    at: int = 0
    action: Action = Action.CREATE
    by: Actor = NOBODY
    status: JobStatus = JobStatus.PENDING
    next_fire_at: int | None = None
    runs_planned: int = 0


@dataclass(frozen=True)
class RuleSet:
    """By which rules a fire was reckoned: the version of the stepper's, and the release of the time zone data."""

    version: int = RULE_VERSION
    tzdata: str = field(default_factory=tzdata_version)


@dataclass(frozen=True)
class JobSpec:
    """What a user asks for: which job, what it does, when, and under which policies.

    `work` is None where it was not read: it may stand in a row of its own. `fingerprint` is a digest of the request:
    the same id may come again with the same one. `heartbeat_seconds` is how often a target that answers later must be
    heard of. With a `task` the target is the task's, and so is what the job does not say itself. With parents it may
    have no schedule of its own: it `inherits` theirs. With `pass_parents` its calls are handed what came of them.
    `notify` says who is told of how its runs fare; `notice` what it tells of another job, if it is made for that.
    `event` is the pattern of the events that let it run (event.py).
    It has a run for each item that its parent `for_each` names. `flow` is what it says of what comes again.
    """

    key: JobKey
    schedule: Schedule
    work: Work | None
    fingerprint: str | None = None
    name: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    priority: Priority = Priority.NORMAL
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    timeout_seconds: int = 300
    completion: Completion = Completion.ANSWER
    heartbeat_seconds: int | None = None
    delivery: Guarantee = Guarantee.AT_LEAST_ONCE
    catch_up: CatchUp = field(default_factory=CatchUp)
    overlap: OverlapPolicy = OverlapPolicy.ALLOW
    jitter_seconds: int = 0
    task: TaskUse | None = None
    calendar: CalendarUse | None = None
    depends_on: tuple[Parent, ...] = ()
    trigger_rule: TriggerRule = TriggerRule.ALL_SUCCEEDED
    dependency_timeout_seconds: int = DEPENDENCY_TIMEOUT_SECONDS
    inherits: bool = False
    pass_parents: bool = False
    notify: Notify | None = None
    pause_after_failures: int | None = None
    notice: Notice | None = None
    event: str | None = None
    for_each: str | None = None
    flow: Flow = field(default_factory=Flow)


@dataclass(frozen=True)
class Job:
    """One row: what its user asked for, and where it stands.

    `final_fire_at` is the fire whose run ends the job, as soon as it is known; `runs_planned` counts against the
    schedule's `max_runs`; before `paced_until` no missed fire is caught up. The fires from `skipped_from` up to
    `next_fire_at` have skipped rows already, although they are to come; so have those behind it up to `skipped_to`, but
    for those that the calendar skips. `holder` and `parked` (next in line) are
    the overlap lock (overlap.py), which an earlier run has `handed_at` some time to its holder.
    `rules` are those by which `next_fire_at` was reckoned. `live_from` is the earliest
    fire of which a run may be live, until `live_until`, although the job's policies would have ended it (reach.py).
    `version` counts users' changes, of which `change` is the newest; `schedule_version` those that a planned fire must
    not survive unseen, `revision` every write. `created_by` is the id of a key, `depth` the generation
    (generations.py).

    A one-off with parents `waits` until they let it run, or be skipped as `skips` says; meanwhile it may be `blocked`,
    and was `unblocked` so often. A change made it wait at `waits_since`, if its creation did not. It keeps which of its
    parents have `ended`, and how. One that is a gate of a recurring job is kept for good. With children
    (`has_children`) a job is `untold`, and due, while they are to be looked at: it has ended, or is blocked, or is so
    no longer. `ancestors` is at least how many jobs it depends on, also through others; `proposed` what it may depend
    on next. One that is run again was so asked at `rerun_at`; rows of its ledger with a stamp before `rerun_stamp` are
    of before, and end it no more.

    It was paused last from `last_paused_at` until `resumed_at`: the catch-up policy decides about fires of that time.
    `failing` is the end of a run that made it fail as often in a row as somebody wants to be told of; it is forgotten
    when the job recovers. `paused_by_failures`: its runs have paused it, and no user. The manual run of the instant
    `collecting` is the one that collects triggers, if the job has them collected, and that has not begun.
    """

    spec: JobSpec
    shard: int
    created_at: int
    updated_at: int
    status: JobStatus = JobStatus.PENDING
    paused_at: int | None = None
    last_paused_at: int | None = None
    resumed_at: int | None = None
    next_fire_at: int | None = None
    due_at: int | None = None
    final_fire_at: int | None = None
    runs_planned: int = 0
    paced_until: int = 0
    plan_failures: int = 0
    holder: RunId | None = None
    parked: RunId | None = None
    handed_at: int | None = None
    intent: Intent | None = None
    live_from: int | None = None
    live_until: int | None = None
    skipped_from: int | None = None
    skipped_to: int | None = None
    rules: RuleSet = field(default_factory=RuleSet)
    change: Change = field(default_factory=Change)
    created_by: str | None = None
    depth: int = 0
    waits: bool = False
    waits_since: int | None = None
    skips: Reason | None = None
    blocked: Blocked | None = None
    unblocked: int = 0
    ended: tuple[Ended, ...] = ()
    has_children: bool = False
    is_gate: bool = False
    untold: bool = False
    ancestors: int = 0
    proposed: Proposed | None = None
    failing: End | None = None
    paused_by_failures: bool = False
    rerun_at: int | None = None
    rerun_stamp: int = 0
    collecting: int | None = None
    version: int = 1
    schedule_version: int = 1
    revision: int = 1

    @property
    def key(self) -> JobKey:
        """Which job this is."""
        return self.spec.key

    @property
    def task_id(self) -> str | None:
        """The task that it names."""
        return None if self.spec.task is None else self.spec.task.task_id

    @property
    def is_open(self) -> bool:
        """Whether the job may still run."""
        return self.status in OPEN

    @property
    def listed_status(self) -> JobStatus:
        """The status under which it is listed."""
        is_blocked = self.blocked is not None and self.status is JobStatus.PENDING
        return JobStatus.BLOCKED if is_blocked else self.status


def with_spec(job: Job, **changes: Any) -> Job:  # noqa: ANN401 - as `evolve`
    """Return the job with other values of its spec, and nothing else changed; itself, if it has them."""
    if all(getattr(job.spec, name) is value for name, value in changes.items()):
        return job
    return evolve(job, spec=evolve(job.spec, **changes))


def changed_by(job: Job, action: Action, by: Actor, now: int) -> Job:
    """Return a job that a change has made, with who asked for that, when, and where its plans begin."""
    return evolve(job, change=Change(now, action, by, job.status, job.next_fire_at, job.runs_planned))


def advanced(job: Job, row: Run, now: int, *, is_older: bool = False) -> Job:
    """Return the job with its ledger written up to the end of a row at its next fire.

    `is_older`: that row is of an older schedule: a run may have been claimed, or be over, under that. Only a run counts
    against `max_runs`.
    """
    through_at = row.last_fire_at or row.id.fire_at
    is_caught_up = row.is_unstarted and row.not_before > row.regular_at + job.spec.jitter_seconds * SECOND_MS
    runs_planned = job.runs_planned + (row.last_fire_at is None)
    has_all = job.spec.schedule.max_runs is not None and runs_planned >= job.spec.schedule.max_runs
    following_at = None if has_all else next_fire(job.spec.schedule, through_at)
    after = evolve(
        job,
        next_fire_at=following_at,
        due_at=following_at,
        runs_planned=runs_planned,
        paced_until=row.not_before + PACE_MS if is_caught_up else 0,
        plan_failures=0,
        skipped_from=None,
        waits=False,
        rules=RuleSet(),
    )
    if following_at is not None:
        return after
    # Due once more if the final run may end without concluding its job: the executor of one that was claimed before
    # this write, or under an older schedule, does not know that it is the final one. That of a one-off's run does.
    knows_itself = job.spec.schedule.is_one_off and not is_older
    return evolve(after, final_fire_at=through_at, due_at=None if knows_itself else _look_at(through_at, now))


def looked_at(job: Job, now: int) -> Job:
    """Return a job at its ledger's end whose final run is not over, to be looked at again: ever more seldom."""
    due_at = None if job.final_fire_at is None else _look_at(job.final_fire_at, now)
    return evolve(job, due_at=due_at)


def _look_at(final_fire_at: int, now: int) -> int:
    return now + min(max(now - final_fire_at, MINUTE_MS), HOUR_MS)


def locked(job: Job, holder: RunId | None, parked: RunId | None, handed_at: int | None = None) -> Job:
    """Return the job with its overlap lock held by one run, to which another handed it, and one next in line."""
    return evolve(job, holder=holder, parked=parked, handed_at=handed_at)
