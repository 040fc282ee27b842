"""A run: one occurrence of a job, and the one table of moves that it may make.

Invariant: every change of a run's state is a move of MOVES, made by one of the functions below, and stored on the
condition that the row is still as it was read (`revision`). The attempt number is the fencing token.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from timeball.domain.model.attempt import Attempt
from timeball.domain.model.evolve import evolve
from timeball.domain.model.guarantor import Guarantor
from timeball.domain.model.ids import Origin, RunId
from timeball.domain.model.reason import Reason


class RunState(StrEnum):
    """Where a run stands; the comment of each state says who moves it on."""

    QUEUED = "queued"  # the executor that claims it
    RUNNING = "running"  # its executor, or whoever takes it over when the lease is out
    RETRYING = "retrying"  # the scan, when its retry is due
    WITHDRAWN = "withdrawn"  # whoever resumes or cancels the paused job
    SUCCEEDED = "succeeded"  # nobody
    FAILED = "failed"  # a person, manually
    SKIPPED = "skipped"  # nobody; a superseded one the planner, if its fire comes back
    CANCELLED = "cancelled"  # nobody


MOVES: Mapping[RunState, frozenset[RunState]] = {
    RunState.QUEUED: frozenset(
        {RunState.RUNNING, RunState.SKIPPED, RunState.CANCELLED, RunState.WITHDRAWN, RunState.FAILED}
    ),
    RunState.RUNNING: frozenset({RunState.SUCCEEDED, RunState.RETRYING, RunState.FAILED, RunState.CANCELLED}),
    RunState.RETRYING: frozenset({RunState.QUEUED, RunState.RUNNING, RunState.CANCELLED, RunState.FAILED}),
    RunState.WITHDRAWN: frozenset({RunState.QUEUED, RunState.SKIPPED, RunState.CANCELLED}),
    RunState.FAILED: frozenset({RunState.QUEUED}),
    RunState.SUCCEEDED: frozenset(),
    RunState.SKIPPED: frozenset({RunState.QUEUED}),
    RunState.CANCELLED: frozenset(),
}
"""The only authority on which move is legal."""

TERMINAL = frozenset({RunState.SUCCEEDED, RunState.FAILED, RunState.SKIPPED, RunState.CANCELLED})
LIVE = frozenset(RunState) - TERMINAL


@dataclass(frozen=True)
class Callback:
    """What a running run waits for whose target answered 202: that the target says how it ended.

    The call left at `called_at`, and its time is up at `until` (ms). With a `heartbeat_ms` the target must be heard of
    so often; None: it has all its time without a heartbeat.
    """

    called_at: int
    until: int
    heartbeat_ms: int | None = None


@dataclass(frozen=True)
class Run:
    """One row of the fire ledger. A skipped range is one row too: `id.fire_at` to `last_fire_at`, `count` instants.

    A range always has a `last_fire_at`, a run never. `stamp` is the schedule version of whoever decided about it last;
    `not_before` the instant before which no call may leave; `due_at` the due key, if it stands in the due index; `last`
    the newest attempt that ended; `work_digest` names work of the run's own, such as a payload that a trigger was
    given; `request` names the client's request that made it, and `fingerprint` what that asked for. `reason` of a
    running run is why it is asked to stop; of one that waits, why.

    `callback` is set while an attempt waits for its target's report. A manual retry gives a fresh budget of retries:
    attempts up to `budget_from` do not count, and age counts from `budget_at`. A dead letter that was `discarded_at`
    some time is listed no more. `deferred_since` is from when an open circuit makes the run wait
    until `not_before`; `deferred_ms` is how long all such waits of this budget were together before that.
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

    @property
    def is_terminal(self) -> bool:
        """Whether nothing but a person moves this run on."""
        return self.state in TERMINAL

    @property
    def is_unstarted(self) -> bool:
        """Whether it was never claimed and never retried manually: then its plan alone decides about it."""
        return self.attempt == 0 and self.budget_at is None

    @property
    def is_renewed(self) -> bool:
        """Whether it was retried manually, and no attempt was claimed since."""
        return self.budget_at is not None and self.attempts_spent == 0

    @property
    def is_dead_letter(self) -> bool:
        """Whether it failed for good, and nobody has dealt with that."""
        return self.state is RunState.FAILED and self.discarded_at is None

    @property
    def is_superseded(self) -> bool:
        """Whether it was taken from the ledger by another schedule: a schedule that has its fire again revives it."""
        return self.reason is Reason.SUPERSEDED and self.last_fire_at is None

    @property
    def attempts_spent(self) -> int:
        """How many attempts count against the retry policy."""
        return self.attempt - self.budget_from

    @property
    def asked_at(self) -> int:
        """What decides which of two overlapping runs is newer (ms): the fire time, or that of the last manual retry.

        Those of a backfill come one after the other, whenever one is tried again.
        """
        return self.id.fire_at if self.budget_at is None or self.id.origin is Origin.BACKFILL else self.budget_at

    @property
    def aging_since(self) -> int:
        """From when (ms) the run's age counts: its fire time, or when it was made if that is later."""
        return max(self.id.fire_at, self.created_at) if self.budget_at is None else self.budget_at

    @property
    def lateness_ms(self) -> int | None:
        """Start of the first attempt minus the fire time."""
        return None if self.first_started_at is None else self.first_started_at - self.id.fire_at

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


class IllegalMoveError(Exception):
    """The run's transition table has no such move."""


def _move(run: Run, state: RunState) -> Run:
    if state not in MOVES[run.state]:
        raise IllegalMoveError(f"{run.id}: {run.state} -> {state}")
    return evolve(run, state=state)


def claimed(run: Run, owner: str, now: int, lease_ms: int) -> Run:
    """Return the run as a new attempt of `owner`: from queued, retrying, or running with its lease out.

    A due key that stands is moved to the lease's end, not dropped: whoever relied on it has let go of a message, and it
    may have been the claimer's own, while that slept.
    """
    moved = run if run.state is RunState.RUNNING else _move(run, RunState.RUNNING)
    return evolve(
        moved,
        state=RunState.RUNNING,
        attempt=run.attempt + 1,
        owner=owner,
        claimed_at=now,
        lease_until=now + lease_ms,
        due_at=None if run.due_at is None else now + lease_ms,
        reason=None,
        callback=None,
        deferred_since=None,
        deferred_ms=run.waited_for_host_ms,
    )


def renewed(run: Run, now: int, lease_ms: int) -> Run:
    """Return a running run with its lease extended."""
    return evolve(run, lease_until=now + lease_ms)


def ended(
    run: Run,
    state: RunState,
    now: int,
    guarantor: Guarantor,
    reason: Reason | None = None,
    last: Attempt | None = None,
) -> Run:
    """Return the run in a terminal state. It keeps a due key: only the scan drops one, after the effects."""
    return evolve(
        _move(run, state),
        due_at=now if guarantor is Guarantor.SCAN else run.due_at,
        owner=None,
        lease_until=None,
        callback=None,
        finished_at=now,
        reason=reason,
        last=last or run.last,
        first_started_at=_first_start(run, last),
    )


def retrying(run: Run, retry_at: int, last: Attempt) -> Run:
    """Return the run waiting in the due index for its next attempt."""
    return evolve(
        _move(run, RunState.RETRYING),
        owner=None,
        lease_until=None,
        callback=None,
        reason=None,
        not_before=retry_at,
        due_at=retry_at,
        last=last,
        first_started_at=_first_start(run, last),
    )


def requeued(run: Run) -> Run:
    """Return a retrying run whose message was sent: queued, and out of the due index."""
    return evolve(_move(run, RunState.QUEUED), due_at=None)


def due_again(run: Run, due_at: int | None, carrier_failures: int | None = None) -> Run:
    """Return the run, in its state, standing in the due index at `due_at`, or (None) out of it."""
    failures = run.carrier_failures if carrier_failures is None else carrier_failures
    return evolve(run, due_at=due_at, carrier_failures=failures)


def asked_to_stop(run: Run, reason: Reason) -> Run:
    """Return a running run that its executor is asked to stop, and why."""
    return evolve(run, cancel_requested=True, reason=reason)


def withdrawn(run: Run) -> Run:
    """Return a queued run that a pause took back. It waits for no time: it leaves the due index.

    Nor does it wait for its host any more: the wait that the pause cuts does not count.
    """
    return evolve(_move(run, RunState.WITHDRAWN), due_at=None, reason=None, deferred_since=None)


def put_off(run: Run, not_before: int, due_at: int | None, stamp: int | None = None) -> Run:
    """Return an unstarted run, withdrawn ones queued again, that starts at `not_before` and is due at `due_at`."""
    moved = run if run.state is RunState.QUEUED else _move(run, RunState.QUEUED)
    return evolve(
        moved,
        not_before=not_before,
        due_at=due_at,
        stamp=run.stamp if stamp is None else stamp,
        deferred_since=None,
        deferred_ms=run.waited_for_host_ms,
    )


def superseded(run: Run, stamp: int, now: int, guarantor: Guarantor) -> Run:
    """Return an unstarted run as one whose fire the schedule of version `stamp` does not have."""
    return evolve(ended(run, RunState.SKIPPED, now, guarantor, Reason.SUPERSEDED), stamp=stamp)


def closed(run: Run, closing: Run) -> Run:
    """Return a superseded run as the row that closes its fire: no plan of an older version revives it."""
    return evolve(run, reason=closing.reason, stamp=closing.stamp)


def revived(run: Run, planned: Run) -> Run:
    """Return a run that was withdrawn or superseded as the one that is planned in its place."""
    return evolve(put_off(run, planned.not_before, planned.due_at, planned.stamp), finished_at=None, reason=None)


def misfired(run: Run, stamp: int, now: int) -> Run:
    """Return a run that was withdrawn or superseded as a range of one fire: nobody counts it as a run."""
    skipped = run if run.is_terminal else _move(run, RunState.SKIPPED)
    return evolve(
        skipped,
        stamp=stamp,
        reason=Reason.MISFIRED,
        last_fire_at=run.id.fire_at,
        finished_at=now,
    )


def deferred(run: Run, until: int, reason: Reason, since: int) -> Run:
    """Return a run that waits, queued or retrying, as one that waits in the due index for its host, and why.

    Waiting for an open circuit is counted, waiting for a token is not.
    """
    return evolve(
        run,
        not_before=until,
        due_at=until,
        reason=reason,
        deferred_since=since if reason is Reason.CIRCUIT_OPEN else None,
        deferred_ms=run.waited_for_host_ms,
    )


def reopened(run: Run, not_before: int) -> Run:
    """Return a failed or retrying run as one to be tried again: with a fresh budget from then on, its history kept."""
    moved = run if run.state is RunState.RETRYING else _move(run, RunState.QUEUED)
    return evolve(
        moved,
        not_before=not_before,
        due_at=not_before,
        finished_at=None,
        reason=None,
        carrier_failures=0,
        budget_from=run.attempt,
        budget_at=not_before,
        discarded_at=None,
        deferred_since=None,
        deferred_ms=0,
    )


def discarded(run: Run, now: int) -> Run:
    """Return a dead letter that is listed no more; the run stays in its ledger."""
    return evolve(run, discarded_at=now)


def _first_start(run: Run, last: Attempt | None) -> int | None:
    if run.first_started_at is not None or last is None:
        return run.first_started_at
    return last.started_at
