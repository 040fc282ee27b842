"""A run: one occurrence of a job, and the only table of the moves that a run may make.

Invariant: every change of a run's state is a move of MOVES. A function of transitions.py makes it, and it is stored on
the condition that the row is unchanged since it was read (`revision`). The attempt number is the fencing token.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from timeball.domain.model.ids import Origin, RunId
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.values import NO_WAITS, NOTHING, Attempt, FanOut, GateWaits, Spent
from timeball.domain.model.tenants.actor import NO_ACTOR, Actor
from timeball.domain.model.terms.dependency import Blocked, Ended
from timeball.domain.model.terms.flow import Collected


class RunState(StrEnum):
    """The state of a run."""

    # The comment of each state names the actor that moves the run on.
    QUEUED = "queued"  # the executor that claims it
    RUNNING = "running"  # its executor, or the executor that takes it over after the lease has expired
    RETRYING = "retrying"  # the scan, when its retry is due
    WITHDRAWN = "withdrawn"  # the resume or the cancel of the paused job
    SUCCEEDED = "succeeded"  # only a person, by a rerun of its cycle
    FAILED = "failed"  # a person, manually
    SKIPPED = "skipped"  # as for succeeded; also the planner, if a superseded run's fire comes back
    CANCELLED = "cancelled"  # as for succeeded


MOVES: Mapping[RunState, frozenset[RunState]] = {
    RunState.QUEUED: frozenset(
        {RunState.RUNNING, RunState.SKIPPED, RunState.CANCELLED, RunState.WITHDRAWN, RunState.FAILED}
    ),
    RunState.RUNNING: frozenset({RunState.SUCCEEDED, RunState.RETRYING, RunState.FAILED, RunState.CANCELLED}),
    RunState.RETRYING: frozenset({RunState.QUEUED, RunState.RUNNING, RunState.CANCELLED, RunState.FAILED}),
    RunState.WITHDRAWN: frozenset({RunState.QUEUED, RunState.SKIPPED, RunState.CANCELLED, RunState.FAILED}),
    RunState.FAILED: frozenset({RunState.QUEUED, RunState.SUCCEEDED, RunState.SKIPPED}),
    RunState.SUCCEEDED: frozenset({RunState.QUEUED, RunState.SKIPPED}),
    RunState.SKIPPED: frozenset({RunState.QUEUED}),
    RunState.CANCELLED: frozenset({RunState.QUEUED, RunState.SKIPPED}),
}
"""The only authority on which moves are legal."""

TERMINAL = frozenset({RunState.SUCCEEDED, RunState.FAILED, RunState.SKIPPED, RunState.CANCELLED})
LIVE = frozenset(RunState) - TERMINAL


@dataclass(frozen=True)
class Callback:
    """The report that a running run waits for after its target has answered 202."""

    called_at: int
    """When the call left (ms)."""
    until: int
    """When the attempt's time is up (ms)."""
    heartbeat_ms: int | None = None
    """The longest silence of the target; None: it may take all its time without a heartbeat."""
    execution: str | None = None
    """The ARN of the execution that is followed, which the scan polls; None: no execution."""


class Permit(StrEnum):
    """The two things that a limiter hands out, each with a line of its own."""

    SLOT = "slot"
    """A slot: it is held until the run has ended."""
    TOKEN = "token"  # noqa: S105 - a rate token, and no password
    """A rate token: an instant at which a run may begin."""


@dataclass(frozen=True)
class Waiting:
    """The line in which a queued run waits."""

    name: str
    """The name of the limiter within the run's tenant (limiter.py)."""
    permit: Permit
    """What the run waits for."""
    admitted: bool = False
    """The run was admitted: its message was sent, and it has left the line."""


@dataclass(frozen=True)
class Run:
    """One row of the fire ledger: a run, or a skipped range. Instants are in ms.

    A range has a `last_fire_at` and covers the fires from `id.fire_at` to it; a run never has one.
    """

    id: RunId
    """The job, the instant, and why it exists."""
    state: RunState
    """Where it stands; see `MOVES`."""
    decided_at_version: int
    """The schedule version by which the run was last decided."""
    priority: str
    """The queue that carries it."""
    shard: int
    """Its shard in the due index."""
    not_before: int
    """The instant before which no call may leave."""
    created_at: int
    """When the row was inserted."""
    revision: int = 1
    """Counts the writes of the row."""
    attempt: int = 0
    """The number of its newest attempt; 0: it was never claimed."""
    owner: str | None = None
    """The executor that has claimed it; None: no executor has."""
    claimed_at: int | None = None
    """When its newest attempt was claimed; None: it was never claimed."""
    lease_until: int | None = None
    """When the lease of its attempt expires; None: no attempt is under way."""
    due_at: int | None = None
    """The due key; None: it is not in the due index."""
    first_started_at: int | None = None
    """When its first call left; None: no call is known to have left."""
    finished_at: int | None = None
    """When it ended; None: it has not ended."""
    cancel_requested: bool = False
    """It was asked to stop; `reason` says why."""
    delivery_failures: int = 0
    """How often in a row the queue could not deliver its message."""
    reason: Reason | None = None
    """Why it waits, is asked to stop, or ended as it did; None: nothing to say."""
    last: Attempt | None = None
    """The newest attempt that ended; None: none has."""
    last_fire_at: int | None = None
    """The last fire of a skipped range; None: it is a run."""
    count: int = 1
    """How many fires the row covers."""
    work_digest: str | None = None
    """The name of work of its own, such as the payload of a trigger; None: it has the job's."""
    event_digest: str | None = None
    """The name of the work that has its event, which its payload includes; None: its fire needed no event."""
    request: str | None = None
    """The client's request that made it; None: no request that may be repeated."""
    fingerprint: str | None = None
    """A digest of what that request asked for; None: no such request."""
    callback: Callback | None = None
    """The report that it waits for from its target; None: it waits for none."""
    budget_from: int = 0
    """Attempts up to this one do not count as retries: a manual retry grants a fresh budget."""
    budget_at: int | None = None
    """When the newest manual retry let it start: its age counts from here; None: it was never retried."""
    discarded_at: int | None = None
    """When the dead letter was discarded: it is no longer listed; None: it was not."""
    deferred_since: int | None = None
    """Since when an open circuit defers it to `not_before`; None: no circuit does."""
    deferred_ms: int = 0
    """How long earlier waits for the circuit took in this budget."""
    payload_edited_at: int | None = None
    """When a manual retry last changed its payload; None: never."""
    triggered_by: Actor = NO_ACTOR
    """The actor that triggered it; NO_ACTOR: no user did."""
    task_id: str | None = None
    """The task of its job; None: the job names no task."""
    task_version: int | None = None
    """The version that its first claim fixed; None: not fixed yet, or released by a manual retry."""
    depth: int = 0
    """Its depth (depths.py)."""
    joined: bool = False
    """It is a fire of the schedule of a job that has parents."""
    marked_succeeded: str | None = None
    """Why a person marked it as succeeded; None: no person did."""
    waits: bool = False
    """It waits for the runs of its parents in its cycle, and is due."""
    blocked: Blocked | None = None
    """The dead run that blocks it; None: it is not blocked."""
    unblocked: int = 0
    """How often it stopped being blocked."""
    ended: tuple[Ended, ...] = ()
    """Which of its parents have ended in its cycle, and how."""
    must_notify_children: bool = False
    """The children in its cycle must still be notified of `blocked`."""
    let_go_at: int | None = None
    """When its parents let it run; None: they have not, or it has none."""
    moved_to: int | None = None
    """When it starts if its calendar, what it collects, or its wait for events moves it from its fire time; None: they
    do not."""
    spent: Spent = NOTHING
    """What its ended attempts have cost."""
    gate_waits: GateWaits = NO_WAITS
    """How long each gate held it before its first attempt."""
    named: str | None = None
    """The digest of the items that its newest attempt named while running; None: none."""
    fan: FanOut | None = None
    """Its progress if it has a run for each item: it calls no target itself; None: it has no items."""
    collected: Collected | None = None
    """The triggers or submits that it has collected; None: it does not collect."""
    waiting: Waiting | None = None
    """The line in which it waits: its limiter is due instead of the run; None: it waits in no line."""
    noted: bool = False
    """A process saw that it was late, or that its call lasted (notable.py)."""
    root: str | None = None
    """The id of the job with which its named cycle began; None: its cycle is the schedule's, or it is in none."""
    traceparent: str | None = None
    """The trace context of the request that made it (trace_context.py); None: none."""
    slots: tuple[str, ...] = ()
    """The limiters in which it may hold a slot while it runs, was admitted, or waits for another limiter."""

    @property
    def line_order(self) -> int:
        """The sort key of a line: by priority, then by fire time."""
        return ("high", "normal", "low").index(self.priority) * 10**15 + self.id.fire_at

    @property
    def stands_in_line(self) -> bool:
        """Whether it waits until its limiter admits it."""
        return self.waiting is not None and not self.waiting.admitted

    @property
    def regular_at(self) -> int:
        """When it starts, apart from jitter: at its fire time, or when its calendar or what it collects moves it to."""
        return self.id.fire_at if self.moved_to is None else self.moved_to

    @property
    def followed(self) -> str | None:
        """The execution that it follows, if any: then its lease only says when to poll the execution."""
        return None if self.callback is None else self.callback.execution

    @property
    def begins_cycle(self) -> bool:
        """Whether a named cycle begins with it: it waits until the other jobs of the cycle have their rows."""
        return self.root == self.id.job.job_id and self.id.origin is not Origin.DEPENDENCY

    @property
    def is_terminal(self) -> bool:
        """Whether only a person can move this run on."""
        return self.state in TERMINAL

    @property
    def is_unstarted(self) -> bool:
        """Whether it was never claimed and never retried manually: then its plan alone decides about it."""
        return self.attempt == 0 and self.budget_at is None

    @property
    def is_dead_letter(self) -> bool:
        """Whether it failed for good and was not discarded. If a head failed, its failed items are the dead letters."""
        return self.state is RunState.FAILED and self.discarded_at is None and self.fan is None

    @property
    def is_superseded(self) -> bool:
        """Whether another schedule took it from the ledger: a schedule that has its fire again revives it."""
        return self.reason is Reason.SUPERSEDED and self.last_fire_at is None

    @property
    def shown_origin(self) -> Origin:
        """Why it exists. Its identity says less, because an instant has one row whether or not the job has parents."""
        return Origin.DEPENDENCY if self.joined else self.id.origin

    @property
    def attempts_spent(self) -> int:
        """How many attempts count against the retry policy."""
        return self.attempt - self.budget_from

    @property
    def asked_at(self) -> int:
        """The instant (ms) that makes one of two overlapping runs the newer: its regular start or last manual retry.

        Runs of a backfill keep their order, whenever one of them is retried.
        """
        return self.regular_at if self.budget_at is None or self.id.origin is Origin.BACKFILL else self.budget_at

    @property
    def aging_since(self) -> int:
        """From when (ms) its age counts: its regular start, its creation if later, or its last manual retry."""
        return max(self.regular_at, self.created_at) if self.budget_at is None else self.budget_at

    @property
    def lateness_ms(self) -> int | None:
        """Start of the first attempt minus the latest of its start, jitter included, and the end of the last gate.

        None before the first attempt, and for a run that was caught up.
        """
        if self.first_started_at is None or self.gate_waits.is_extra:
            return None
        return max(self.first_started_at - (self.gate_waits.until or self.regular_at), 0)

    @property
    def circuit_wait_ms(self) -> int:
        """How long an open circuit made it wait: up to its planned instants, even if it was picked up later."""
        return self.deferred_ms + (0 if self.deferred_since is None else self.not_before - self.deferred_since)

    def is_held_by(self, owner: str) -> bool:
        """Say whether an executor works on it and has not handed it over to its target."""
        return self.state is RunState.RUNNING and self.owner == owner and self.callback is None

    def covers(self, fire_at: int) -> bool:
        """Say whether this row is the ledger's record of a fire time of the schedule."""
        if self.id.origin is not Origin.SCHEDULE:
            return False
        return self.id.fire_at <= fire_at <= (self.last_fire_at or self.id.fire_at)
