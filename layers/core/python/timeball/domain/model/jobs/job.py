"""A job: what to run, when, and under which policies. A job is one row with a version.

Invariant: `next_fire_at` is the earliest instant that has no run or skipped row yet. It alone says how far the ledger
is written. `due_at` is only the job's position in the due index.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.model.jobs.calendar import CalendarUse
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Run
from timeball.domain.model.tenants.actor import NO_ACTOR, Action, Actor
from timeball.domain.model.terms.dependency import (
    DEPENDENCY_TIMEOUT_SECONDS,
    Blocked,
    Ended,
    Parent,
    Proposed,
    TriggerRule,
)
from timeball.domain.model.terms.flow import Flow
from timeball.domain.model.terms.notify import Notice, Notify, RunEnd
from timeball.domain.model.terms.policies import PACE_MS, CatchUp, OverlapPolicy, RetryPolicy, Work
from timeball.domain.model.terms.target import TaskUse
from timeball.domain.time.instants import HOUR_MS, MINUTE_MS, SECOND_MS
from timeball.domain.time.schedule import Schedule, next_fire
from timeball.domain.time.stepper import RULE_VERSION
from timeball.domain.time.zones import tzdata_version


class JobStatus(StrEnum):
    """The status of a job. A recurring job stays pending; the API shows some pending jobs as `running` or `blocked`."""

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

    def within(self, ceiling: str | None) -> "Priority":
        """Return the priority, or the ceiling if that is lower; None: there is no ceiling."""
        order = [*Priority]
        return self if ceiling is None else order[max(order.index(self), order.index(Priority(ceiling)))]


class Completion(StrEnum):
    """The event that ends an attempt: the answer to its call, or the target's report after a 202."""

    ANSWER = "answer"
    CALLBACK = "callback"


class Guarantee(StrEnum):
    """How often a target may receive a run: once or more, or never again after a call that may have left."""

    AT_LEAST_ONCE = "at_least_once"
    AT_MOST_ONCE = "at_most_once"


class Verb(StrEnum):
    """The change that a user asked for, of a job whose runs are not reconciled with it yet."""

    CANCEL = "cancel"
    PAUSE = "pause"
    RESUME = "resume"
    RESCHEDULE = "reschedule"
    SKIP = "skip"
    RENEW = "renew"


@dataclass(frozen=True)
class Intent:
    """A user's change of a job that its runs must still be reconciled with."""

    verb: Verb
    """What the user asked for."""
    asked_at: int
    """When the user asked (ms)."""
    next_fire_at: int | None
    """The job's next fire before the change (ms), or the fire that a skip skips; None: the job had none."""
    schedule: Schedule | None = None
    """The schedule before the change; None: the change left it as it was."""
    searched_to: RunId | None = None
    """The last run that was reconciled (latest first) before the work was cut off; None: it was not cut off."""
    stopped_through: str = ""
    """Backfills up to this name are stopped, in the order of names; empty: none yet."""


@dataclass(frozen=True)
class Change:
    """The change that made a version of a job, and how it left the job.

    Plans continue from here: they move the job's row, and its final run ends it.
    """

    at: int = 0
    """When the change was asked for (ms)."""
    action: Action = Action.CREATE
    """What was asked for."""
    by: Actor = NO_ACTOR
    """The actor that asked for it."""
    status: JobStatus = JobStatus.PENDING
    """The job's status after the change."""
    next_fire_at: int | None = None
    """The job's next fire after the change (ms); None: it had none."""
    runs_planned: int = 0
    """How many runs were planned by then."""


@dataclass(frozen=True)
class RuleSet:
    """The rules that a fire was computed by."""

    version: int = RULE_VERSION
    """The version of the stepper's rules."""
    tzdata: str = field(default_factory=tzdata_version)
    """The release of the time zone data, such as `2026a`."""


@dataclass(frozen=True)
class JobSpec:
    """A user's request: which job, what it does, when, and under which policies. Durations are whole seconds."""

    key: JobKey  # the tenant and the job's id
    schedule: Schedule  # when it fires
    work: Work | None  # target and payload; None: not read, for it may be stored in a row of its own
    fingerprint: str | None = None  # digest of the request; a repeat of the id must have the same; None: no request
    name: str | None = None  # a label for people; None: unnamed
    owner: str | None = None  # who answers for it, as the user states it; None: not stated
    tags: Mapping[str, str] = field(default_factory=dict)  # filters, freezes and API keys select by these
    priority: Priority = Priority.NORMAL  # the queue of its runs
    retry: RetryPolicy = field(default_factory=RetryPolicy)  # how often and how long to retry
    timeout_seconds: int = 300  # how long an attempt may take
    completion: Completion = Completion.ANSWER  # what ends an attempt
    heartbeat_seconds: int | None = None  # longest silence after a 202; None: no heartbeat is expected
    delivery: Guarantee = Guarantee.AT_LEAST_ONCE  # whether a run may be called twice
    catch_up: CatchUp = field(default_factory=CatchUp)  # what becomes of missed fires
    overlap: OverlapPolicy = OverlapPolicy.ALLOW  # what becomes of overlapping fires
    jitter_seconds: int = 0  # a fire starts up to this much later
    task: TaskUse | None = None  # the task that supplies the target and what the job leaves open; None: no task
    calendar: CalendarUse | None = None  # dates on which it does not fire; None: no calendar
    depends_on: tuple[Parent, ...] = ()  # the jobs that it waits for
    trigger_rule: TriggerRule = TriggerRule.ALL_SUCCEEDED  # which ends of its parents let it run
    dependency_timeout_seconds: int = DEPENDENCY_TIMEOUT_SECONDS  # how long it waits for its parents
    inherits: bool = False  # its fire time is that of its parents, for it has no schedule of its own
    pass_parents: bool = False  # its calls receive the results of its parents
    notify: Notify | None = None  # which targets learn how its runs fare; None: none
    pause_after_failures: int | None = None  # failures in a row that pause it; None: it is not paused
    notice: Notice | None = None  # what it says of another job, if it is a notice; None: it is no notice
    event: str | None = None  # the pattern of events that let it, or its fires, run (event.py); None: no events do
    for_each: str | None = None  # the parent that names its items: one run for each; None: no items
    flow: Flow = field(default_factory=Flow)  # unique key, debounce, concurrency and rate limits
    traceparent: str | None = field(default=None, compare=False)  # the trace that its own run continues; None: none

    @property
    def parent_keys(self) -> list[JobKey]:
        """The jobs that it waits for, in the order of `depends_on`."""
        return [JobKey(self.key.tenant, parent.job_id) for parent in self.depends_on]

    @property
    def cycle_keys(self) -> list[JobKey]:
        """Those of them whose runs in its own cycles count, and not their latest cycles."""
        return [JobKey(self.key.tenant, parent.job_id) for parent in self.depends_on if not parent.is_latest]

    @property
    def judges_latest(self) -> bool:
        """Whether its runs are judged, at their start, by the latest cycle of a parent."""
        return any(parent.is_latest for parent in self.depends_on)

    @property
    def needs_events(self) -> bool:
        """Whether a fire of its schedule runs only if an event has come: it has both a pattern and a schedule."""
        return self.event is not None and self.schedule.is_recurring

    @property
    def job_waits(self) -> bool:
        """Whether the job's own row waits: a one-off knows its fire time only when its parents let it run."""
        return bool(self.depends_on) and self.schedule.is_one_off and not self.judges_latest

    @property
    def runs_wait(self) -> bool:
        """Whether the rows of its runs wait.

        They wait in their cycles; those of a one-off wait for the list of their items, or for a latest cycle.
        """
        if not self.depends_on:
            return False
        return not self.schedule.is_one_off or self.for_each is not None or self.judges_latest


@dataclass(frozen=True)
class Job:
    """One row: what the user asked for, and where the job stands. Instants are in ms."""

    spec: JobSpec  # what the user asked for
    shard: int  # its shard in the due index
    created_at: int  # when it was created
    updated_at: int  # when it was last changed
    status: JobStatus = JobStatus.PENDING  # as stored; `listed_status` is the one that it is listed under
    paused_at: int | None = None  # start of its pause, kept until its resume is reconciled; None: no pause
    last_paused_at: int | None = None  # start of its last pause; None: it was never resumed
    resumed_at: int | None = None  # end of that pause; catch-up decides about its fires; None: no such pause
    next_fire_at: int | None = None  # the earliest fire without a row; None: no fire is left
    due_at: int | None = None  # its position in the due index; None: not in the index
    final_fire_at: int | None = None  # the fire whose run ends the job; None: not known yet
    runs_planned: int = 0  # counts against the schedule's `max_runs`
    paced_until: int = 0  # no missed fire is caught up before this instant; 0: no bound
    plan_failures: int = 0  # failed plans in a row
    holder: RunId | None = None  # the run that holds the overlap lock (overlap.py); None: the lock is free
    next_holder: RunId | None = None  # the run that gets the overlap lock next; None: no run waits for it
    handed_at: int | None = None  # when an earlier run handed the lock to the holder; None: no run did
    intent: Intent | None = None  # the change that its runs must be reconciled with; None: none
    live_from: int | None = None  # earliest fire with a possibly live run, beyond its policies (reach.py); None: none
    live_until: int | None = None  # until when `live_from` holds; None: there is none
    skipped_from: int | None = None  # fires from here to `next_fire_at` have skipped rows already; None: none
    skipped_to: int | None = None  # later fires up to here have skipped rows too, except the calendar's; None: none
    rules: RuleSet = field(default_factory=RuleSet)  # the rules by which `next_fire_at` was computed
    generation: int = 1  # counts its lives under this id: a PUT of an ended job begins the next one
    generation_at: int | None = None  # when its generation began; None: at its creation
    change: Change = field(default_factory=Change)  # the newest change of a user
    created_by: str | None = None  # id of the API key that created it; None: no API key did
    default_owner: str | None = None  # the name of the API key that created it; None: no key, or one without a name
    depth: int = 0  # how many calls of Timeball led to it (depths.py)
    waits: bool = False  # a one-off that its parents have not let run yet
    waits_since: int | None = None  # when a change made it wait; None: its creation did, or it never waited
    skips: Reason | None = None  # why its parents skip its fire; None: they do not
    blocked: Blocked | None = None  # the dead run that blocks it; None: it is not blocked
    unblocked: int = 0  # how often it stopped being blocked
    ended: tuple[Ended, ...] = ()  # which of its parents have ended, and how, while it waits
    has_children: bool = False  # other jobs depend on it
    is_gate: bool = False  # a one-off that a recurring job depends on; its row is kept for good
    must_notify_children: bool = (
        False  # due to notify its children: it ended, or became blocked, or is no longer blocked
    )
    ancestors: int = 0  # a lower bound of the number of jobs that it depends on, directly or through others
    proposed: Proposed | None = None  # parents that a change is about to add; None: none
    failing: RunEnd | None = None  # end of the run that completed a streak of failures; None: it is not failing
    stopped: RunEnd | None = None  # the run that completed a streak of runs that parents stopped; None: no streak
    paused_by_failures: bool = False  # its failed runs paused it, not a user
    lost_parent: bool = False  # a cancel removed the parents that gave it its fires, and so paused it
    rerun_at: int | None = None  # when a rerun of it was asked for; None: it is not run again
    rerun_at_version: int = 0  # ledger rows decided at an older version precede the rerun: they do not end it
    collecting: int | None = None  # instant of the manual run that collects triggers and has not begun; None: none
    version: int = 1  # counts the changes of users
    schedule_version: int = 1  # counts the changes that no planned fire may survive unseen
    revision: int = 1  # counts the writes of the row

    @property
    def key(self) -> JobKey:
        """The tenant and the id of this job."""
        return self.spec.key

    @property
    def owner(self) -> str | None:
        """The owner as stated, otherwise the name of the API key that created the job; None: not known."""
        return self.spec.owner or self.default_owner

    @property
    def begun_at(self) -> int:
        """When its generation began (ms)."""
        return self.created_at if self.generation_at is None else self.generation_at

    def run_id(self, fire_at: int, origin: Origin = Origin.SCHEDULE) -> RunId:
        """Return the id of its run at a fire time. Fires from before its generation belong to the last one."""
        is_earlier = fire_at < self.begun_at and self.generation > 1 and not self.spec.schedule.is_one_off
        return RunId(self.key, fire_at, origin, generation=self.generation - is_earlier)

    def owns(self, run: RunId) -> bool:
        """Say whether a run belongs to the present generation: no other run of the job may begin."""
        return run.generation == self.generation

    @property
    def task_id(self) -> str | None:
        """The task that it names; None: it names none."""
        return None if self.spec.task is None else self.spec.task.task_id

    @property
    def own_fire_at(self) -> int | None:
        """The fire time of a one-off, as far as it is known."""
        return self.next_fire_at if self.final_fire_at is None else self.final_fire_at

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
    """Return the job with other values of its spec and nothing else changed; the same object if it has them already."""
    if all(getattr(job.spec, name) is value for name, value in changes.items()):
        return job
    return evolve(job, spec=evolve(job.spec, **changes))


def changed_by(job: Job, action: Action, by: Actor, now: int) -> Job:
    """Return a job after a change, with a record of who asked for it, when, and where its plans begin."""
    return evolve(job, change=Change(now, action, by, job.status, job.next_fire_at, job.runs_planned))


def advanced(job: Job, row: Run, now: int, *, is_older: bool = False) -> Job:
    """Return the job with its ledger written up to the end of a row at its next fire.

    `is_older`: the row comes from an older schedule, under which its run may have been claimed, or may have ended. Only
    a run counts against `max_runs`.
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
    # The job becomes due once more if its final run may end without concluding it: an executor that claimed the run
    # before this write, or under an older schedule, does not know that it is final. The executor of a one-off does,
    # unless its run was over before: then the job's row is from a time before that end, as after a restore.
    knows_itself = job.spec.schedule.is_one_off and not is_older and not row.is_terminal
    return evolve(after, final_fire_at=through_at, due_at=None if knows_itself else _recheck_at(through_at, now))


def rechecked_later(job: Job, now: int) -> Job:
    """Return a job at its ledger's end, due for another check of its final run. The checks become less frequent."""
    due_at = None if job.final_fire_at is None else _recheck_at(job.final_fire_at, now)
    return evolve(job, due_at=due_at)


def _recheck_at(final_fire_at: int, now: int) -> int:
    return now + min(max(now - final_fire_at, MINUTE_MS), HOUR_MS)


def locked(job: Job, holder: RunId | None, next_holder: RunId | None, handed_at: int | None = None) -> Job:
    """Return the job with its overlap lock held by one run, perhaps handed over by an ended run, and a next holder."""
    return evolve(job, holder=holder, next_holder=next_holder, handed_at=handed_at)
