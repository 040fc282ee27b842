"""A run: one occurrence of a job, and the one table of moves that it may make.

Invariant: every change of a run's state is a move of MOVES, made by a function of transitions.py, and stored on the
condition that the row is still as it was read (`revision`). The attempt number is the fencing token.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from timeball.domain.model.ids import Origin, RunId
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.attempt import Attempt
from timeball.domain.model.runs.fan_out import FanOut
from timeball.domain.model.runs.held import FREE, Held
from timeball.domain.model.runs.spent import NOTHING, Spent
from timeball.domain.model.tenants.actor import NOBODY, Actor
from timeball.domain.model.terms.dependency import Blocked, Ended
from timeball.domain.model.terms.flow import Collected


class RunState(StrEnum):
    """Where a run stands; the comment of each state says who moves it on."""

    QUEUED = "queued"  # the executor that claims it
    RUNNING = "running"  # its executor, or whoever takes it over when the lease is out
    RETRYING = "retrying"  # the scan, when its retry is due
    WITHDRAWN = "withdrawn"  # whoever resumes or cancels the paused job
    SUCCEEDED = "succeeded"  # nobody but a person, who runs its cycle again
    FAILED = "failed"  # a person, manually
    SKIPPED = "skipped"  # as a succeeded one; a superseded one the planner, if its fire comes back
    CANCELLED = "cancelled"  # as a succeeded one


MOVES: Mapping[RunState, frozenset[RunState]] = {
    RunState.QUEUED: frozenset(
        {RunState.RUNNING, RunState.SKIPPED, RunState.CANCELLED, RunState.WITHDRAWN, RunState.FAILED}
    ),
    RunState.RUNNING: frozenset({RunState.SUCCEEDED, RunState.RETRYING, RunState.FAILED, RunState.CANCELLED}),
    RunState.RETRYING: frozenset({RunState.QUEUED, RunState.RUNNING, RunState.CANCELLED, RunState.FAILED}),
    RunState.WITHDRAWN: frozenset({RunState.QUEUED, RunState.SKIPPED, RunState.CANCELLED}),
    RunState.FAILED: frozenset({RunState.QUEUED, RunState.SUCCEEDED, RunState.SKIPPED}),
    RunState.SUCCEEDED: frozenset({RunState.QUEUED, RunState.SKIPPED}),
    RunState.SKIPPED: frozenset({RunState.QUEUED}),
    RunState.CANCELLED: frozenset({RunState.QUEUED, RunState.SKIPPED}),
}
"""The only authority on which move is legal."""

TERMINAL = frozenset({RunState.SUCCEEDED, RunState.FAILED, RunState.SKIPPED, RunState.CANCELLED})
LIVE = frozenset(RunState) - TERMINAL


@dataclass(frozen=True)
class Callback:
    """What a running run waits for whose target answered 202: that the target says how it ended.

    The call left at `called_at`, and its time is up at `until` (ms). With a `heartbeat_ms` the target must be heard of
    so often; None: it has all its time without a heartbeat. An `execution` that is followed is looked at meanwhile.
    """

    called_at: int
    until: int
    heartbeat_ms: int | None = None
    execution: str | None = None


class Part(StrEnum):
    """What a limiter has, and what is waited for in a line of its own each: a place, or a turn."""

    PLACE = "place"
    TURN = "turn"


@dataclass(frozen=True)
class Waiting:
    """In which line a queued run waits: of which limiter of its tenant (limiter.py), and for what.

    `called`: its message was sent, and it stands in the line no more.
    """

    name: str
    part: Part
    called: bool = False


@dataclass(frozen=True)
class Run:
    """One row of the fire ledger. A skipped range is one row too: `id.fire_at` to `last_fire_at`, `count` instants.

    A range always has a `last_fire_at`, a run never. `stamp` is the schedule version of whoever decided about it last;
    `not_before` the instant before which no call may leave; `due_at` the due key, if it stands in the due index; `last`
    the newest attempt that ended; `work_digest` names work of the run's own, such as a payload that a trigger was
    given; `request` names the client's request that made it, `fingerprint` what that asked for, and `triggered_by` who
    did. `reason` of a running run is why it is asked to stop; of one that waits, why.

    `callback` is set while an attempt waits for its target's report. A manual retry gives a fresh budget of retries:
    attempts up to `budget_from` do not count, and age counts from `budget_at`. A dead letter that was `discarded_at`
    some time is listed no more. `deferred_since` is from when an open circuit makes the run wait
    until `not_before`; `deferred_ms` is how long all such waits of this budget were together before that. A manual
    retry may give it another payload: `payload_edited_at` is when the newest one did. `task_id` is the task of its job,
    `task_version` the version that its first claim has fixed; a manual retry lets go of that. `depth` is its generation
    (generations.py). `joined`: a run of its
    job's schedule, and of jobs that that depends on. `pardon` is why a person has marked it as succeeded.
    It was `let_go_at` some time by those. One of a recurring job `waits`, due, for those of its parents' cycle, and may
    be `blocked`, and was `unblocked` so often; it is `untold` until its job's children know of that. It keeps which of
    those it waits for have `ended`, and how. `moved_to` is when its calendar has it start, or what it has `collected`,
    if that is not at its fire time. `spent` is what its attempts that ended have cost, `held`
    what kept it from its first one.
    `named` is the list of items that its newest attempt has named while at work. With a `fan` it is called for nothing
    itself: it waits for the runs of its items. With `waiting` it has no due key: its limiter is due. `places` names the
    limiters in which it may have a place, as a run under way, one that was called, or one that waits for another.
    """

    id: RunId
    state: RunState
    stamp: int
    priority: str
    shard: int
    not_before: int
    created_at: int
    revision: int = 1
    attempt: int = 0
    owner: str | None = None
    claimed_at: int | None = None
    lease_until: int | None = None
    due_at: int | None = None
    first_started_at: int | None = None
    finished_at: int | None = None
    cancel_requested: bool = False
    carrier_failures: int = 0
    reason: Reason | None = None
    last: Attempt | None = None
    last_fire_at: int | None = None
    count: int = 1
    work_digest: str | None = None
    request: str | None = None
    fingerprint: str | None = None
    callback: Callback | None = None
    budget_from: int = 0
    budget_at: int | None = None
    discarded_at: int | None = None
    deferred_since: int | None = None
    deferred_ms: int = 0
    payload_edited_at: int | None = None
    triggered_by: Actor = NOBODY
    task_id: str | None = None
    task_version: int | None = None
    depth: int = 0
    joined: bool = False
    pardon: str | None = None
    waits: bool = False
    blocked: Blocked | None = None
    unblocked: int = 0
    ended: tuple[Ended, ...] = ()
    untold: bool = False
    let_go_at: int | None = None
    moved_to: int | None = None
    spent: Spent = NOTHING
    held: Held = FREE
    named: str | None = None
    fan: FanOut | None = None
    collected: Collected | None = None
    waiting: Waiting | None = None
    places: tuple[str, ...] = ()

    @property
    def place_in_line(self) -> int:
        """By what those in a line are ordered: their priority, then their fire time."""
        return ("high", "normal", "low").index(self.priority) * 10**15 + self.id.fire_at

    @property
    def stands_in_line(self) -> bool:
        """Whether it waits until its limiter calls it."""
        return self.waiting is not None and not self.waiting.called

    @property
    def regular_at(self) -> int:
        """When it is to start, jitter apart: at its fire time, or when its calendar or what it collects says."""
        return self.id.fire_at if self.moved_to is None else self.moved_to

    @property
    def followed(self) -> str | None:
        """The execution that it goes on with, if it follows one: its lease then says no more than when to look."""
        return None if self.callback is None else self.callback.execution

    @property
    def is_terminal(self) -> bool:
        """Whether nothing but a person moves this run on."""
        return self.state in TERMINAL

    @property
    def is_unstarted(self) -> bool:
        """Whether it was never claimed and never retried manually: then its plan alone decides about it."""
        return self.attempt == 0 and self.budget_at is None

    @property
    def is_dead_letter(self) -> bool:
        """Whether it failed for good, and nobody has dealt with that. Of one that has items these are dead letters."""
        return self.state is RunState.FAILED and self.discarded_at is None and self.fan is None

    @property
    def is_superseded(self) -> bool:
        """Whether it was taken from the ledger by another schedule: a schedule that has its fire again revives it."""
        return self.reason is Reason.SUPERSEDED and self.last_fire_at is None

    @property
    def shown_origin(self) -> Origin:
        """Why it exists. Its identity says less: an instant has one row, whether or not its job depends on others."""
        return Origin.DEPENDENCY if self.joined else self.id.origin

    @property
    def attempts_spent(self) -> int:
        """How many attempts count against the retry policy."""
        return self.attempt - self.budget_from

    @property
    def asked_at(self) -> int:
        """What decides which of two overlapping runs is newer (ms): its regular start, or its last manual retry.

        Those of a backfill come one after the other, whenever one is tried again.
        """
        return self.regular_at if self.budget_at is None or self.id.origin is Origin.BACKFILL else self.budget_at

    @property
    def aging_since(self) -> int:
        """From when (ms) the run's age counts: its regular start, or when it was made if that is later."""
        return max(self.regular_at, self.created_at) if self.budget_at is None else self.budget_at

    @property
    def lateness_ms(self) -> int | None:
        """Start of the first attempt minus the latest of its start, jitter included, and the end of the last gate.

        None before that, and of a run that was caught up.
        """
        if self.first_started_at is None or self.held.is_extra:
            return None
        return max(self.first_started_at - (self.held.until or self.regular_at), 0)

    @property
    def waited_for_host_ms(self) -> int:
        """How long an open circuit has made it wait: until its instants, and not until somebody saw to it."""
        return self.deferred_ms + (0 if self.deferred_since is None else self.not_before - self.deferred_since)

    def is_held_by(self, owner: str) -> bool:
        """Say whether an executor works on it, and has not handed it over to its target."""
        return self.state is RunState.RUNNING and self.owner == owner and self.callback is None

    def covers(self, fire_at: int) -> bool:
        """Say whether this row is the ledger's record of a fire time of the schedule."""
        if self.id.origin is not Origin.SCHEDULE:
            return False
        return self.id.fire_at <= fire_at <= (self.last_fire_at or self.id.fire_at)
