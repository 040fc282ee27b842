"""The moves of a run: each function returns the run after one change, and makes only moves that `MOVES` allows."""

from timeball.domain.model.evolve import evolve
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import MOVES, Run, RunState, Waiting
from timeball.domain.model.runs.values import Attempt, FanOut, Guarantor
from timeball.domain.model.terms.target import TaskUse


class IllegalMoveError(Exception):
    """The run's transition table has no such move."""


def _move(run: Run, state: RunState) -> Run:
    if state not in MOVES[run.state]:
        raise IllegalMoveError(f"{run.id}: {run.state} -> {state}")
    return evolve(run, state=state)


def claimed(run: Run, owner: str, now: int, lease_ms: int) -> Run:
    """Return the run as a new attempt of `owner`: from queued, retrying, or running with an expired lease.

    A due key is moved to the lease's end and not dropped: a process that relied on it has deleted a message, perhaps
    the claimer's own while the claimer was suspended.
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
        deferred_ms=run.circuit_wait_ms,
        named=None,
        waiting=None,
        slots=(),
    )


def fanned_out(run: Run, fan: FanOut, now: int) -> Run:
    """Return a queued run that is under way from now on, through the runs of its items."""
    moved = _move(run, RunState.RUNNING)
    return evolve(moved, attempt=run.attempt + 1, claimed_at=now, due_at=now, reason=None, fan=fan)


def mended(run: Run, now: int) -> Run:
    """Return a failed run as succeeded, because its items have succeeded by now. The scan carries out the effects."""
    return ended(run, RunState.SUCCEEDED, now, Guarantor.SCAN)


def using(run: Run, task: TaskUse | None) -> Run:
    """Return a run whose attempts use a version of its job's task; None: they use no task."""
    if task is None:
        return evolve(run, task_id=None, task_version=None)
    return evolve(run, task_id=task.task_id, task_version=task.version)


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
        _move(out_of_line(run), state),
        due_at=now if guarantor is Guarantor.SCAN else run.due_at,
        owner=None,
        lease_until=None,
        callback=None,
        finished_at=now,
        reason=reason,
        blocked=None,
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


def due_again(run: Run, due_at: int | None, delivery_failures: int | None = None) -> Run:
    """Return the run in the same state, due at `due_at`; None: out of the due index."""
    failures = run.delivery_failures if delivery_failures is None else delivery_failures
    return evolve(run, due_at=due_at, delivery_failures=failures)


def asked_to_stop(run: Run, reason: Reason) -> Run:
    """Return a running run that is asked to stop, and why. With an execution it is due at once, for the scan."""
    asked = evolve(run, cancel_requested=True, reason=reason)
    if run.callback is None or run.callback.execution is None:
        return asked
    return evolve(asked, lease_until=run.callback.called_at, due_at=run.callback.called_at)  # past: needs no clock


def lined_up(run: Run, waiting: Waiting, reason: Reason, last: Attempt | None, slots: tuple[str, ...] = ()) -> Run:
    """Return a run that waits in a line instead of being claimed. It has no due key: its limiter admits it.

    It keeps its slots in other limiters. If the run is taken over, `last` is the lost attempt.
    """
    waits = run if last is None else retrying(run, run.not_before, last)
    return evolve(waits, due_at=None, reason=reason, waiting=waiting, slots=slots)


def admitted(run: Run, now: int = 0) -> Run:
    """Return a run that was admitted from a line and sent. Its wait before its first attempt is recorded."""
    if run.waiting is None:
        return run
    before = run.gate_waits
    waits = before if run.attempt or not before.until else before.by("limits" if run.waiting.name else "quota", now)
    return evolve(run, waiting=evolve(run.waiting, admitted=True), gate_waits=waits)


def out_of_line(run: Run) -> Run:
    """Return a run that waits in no line and gives up what it holds there; `slots` names the limiters to release."""
    left = run.waiting
    return run if left is None else evolve(run, waiting=None, slots=(*run.slots, left.name), reason=None)


def withdrawn(run: Run) -> Run:
    """Return a queued run that a pause took back, out of the due index. Its wait for its resource does not count."""
    moved = _move(out_of_line(run), RunState.WITHDRAWN)
    return evolve(moved, due_at=None, reason=None, deferred_since=None, blocked=None)


def put_off(run: Run, not_before: int, due_at: int | None, version: int | None = None) -> Run:
    """Return an unstarted run that starts at `not_before` and is due at `due_at`; a withdrawn run is queued again."""
    moved = out_of_line(run) if run.state is RunState.QUEUED else _move(run, RunState.QUEUED)
    return evolve(
        moved,
        not_before=not_before,
        due_at=due_at,
        decided_at_version=run.decided_at_version if version is None else version,
        deferred_since=None,
        deferred_ms=run.circuit_wait_ms,
    )


def moved_later(run: Run, moved_to: int, not_before: int) -> Run:
    """Return an unstarted run that its calendar moves. It is in the due index, because its start may be days away."""
    return evolve(put_off(run, not_before, not_before), moved_to=moved_to, reason=None)


def superseded(run: Run, version: int, now: int, guarantor: Guarantor) -> Run:
    """Return an unstarted run whose fire the schedule of version `decided_at_version` does not have."""
    return evolve(ended(run, RunState.SKIPPED, now, guarantor, Reason.SUPERSEDED), decided_at_version=version)


def closed(run: Run, closing: Run) -> Run:
    """Return a superseded run as the row that closes its fire, so that no plan of an older version revives it."""
    return evolve(run, reason=closing.reason, decided_at_version=closing.decided_at_version)


def revived(run: Run, planned: Run) -> Run:
    """Return a withdrawn or superseded run as the run that is planned at its fire.

    Collected triggers delay it still.
    """
    if run.collected is not None and run.moved_to is not None and run.not_before > planned.not_before:
        planned = evolve(planned, not_before=run.not_before, moved_to=run.moved_to, due_at=run.not_before)
    again = put_off(run, planned.not_before, planned.due_at, planned.decided_at_version)
    again = evolve(again, finished_at=None, reason=planned.reason, let_go_at=planned.let_go_at)
    return evolve(again, waits=planned.waits, joined=planned.joined, moved_to=planned.moved_to, fan=None)


def passed_over(run: Run, reason: Reason, version: int, now: int) -> Run:
    """Return an unstarted, superseded or (by a rerun) outdated run as a range of one fire, which counts as no run."""
    skipped = run if run.state is RunState.SKIPPED else _move(out_of_line(run), RunState.SKIPPED)
    return evolve(skipped, decided_at_version=version, reason=reason, last_fire_at=run.id.fire_at, finished_at=now)


def frozen(run: Run, until: int) -> Run:
    """Return a run that a freeze defers, in the due index; its own instant stays unchanged."""
    freed = out_of_line(run)
    return evolve(freed, due_at=until, reason=Reason.FROZEN, deferred_since=None, deferred_ms=run.circuit_wait_ms)


def deferred(run: Run, until: int, reason: Reason | None, since: int) -> Run:
    """Return a queued or retrying run that waits in the due index for its resource, with the reason.

    Without a reason it waits for its job's overlap lock. The wait for an open circuit is counted; the wait for a retry
    token is not.
    """
    return evolve(
        out_of_line(run),
        not_before=until,
        due_at=until,
        reason=reason,
        deferred_since=since if reason is Reason.CIRCUIT_OPEN else None,
        deferred_ms=run.circuit_wait_ms,
    )


def reopened(run: Run, not_before: int) -> Run:
    """Return a failed or retrying run that will be tried again, with a fresh budget from then on. Its history is kept.

    It takes the current version of its task: the caller may have corrected the task.
    """
    moved = run if run.state is RunState.RETRYING else _move(run, RunState.QUEUED)
    return evolve(_with_fresh_budget(moved, not_before), reason=None)


def _with_fresh_budget(run: Run, not_before: int) -> Run:
    return evolve(
        out_of_line(run),
        not_before=not_before,
        due_at=not_before,
        finished_at=None,
        delivery_failures=0,
        budget_from=run.attempt,
        budget_at=not_before,
        discarded_at=None,
        deferred_since=None,
        deferred_ms=0,
        task_version=None,
        fan=None if run.fan is None else evolve(run.fan, released=0, over=0),
    )


def cleared(run: Run, now: int, *, waits: bool) -> Run:
    """Return a run that has ended or still waits as a run of a cycle that is run again, with its history kept.

    Its parents let it run anew. Without parents it is due at once.
    """
    moved = run if run.state is RunState.QUEUED else _move(run, RunState.QUEUED)
    return evolve(
        _with_fresh_budget(moved, max(now, run.not_before)),
        reason=Reason.WAITING_FOR_PARENTS if waits else None,
        waits=waits,
        blocked=None,
        marked_succeeded=None,
        let_go_at=None,
        cancel_requested=False,
        fan=None,
    )


def planned_anew(run: Run, planned: Run, now: int) -> Run:
    """Return the run of a one-off that is run again as the run that is now planned at its fire. Its history is kept."""
    moved = _with_fresh_budget(_move(run, RunState.QUEUED), max(planned.not_before, now))
    return evolve(
        moved,
        due_at=planned.due_at,
        decided_at_version=planned.decided_at_version,
        reason=planned.reason,
        let_go_at=planned.let_go_at,
        waits=planned.waits,
        joined=planned.joined,
        last_fire_at=None,
        marked_succeeded=None,
        cancel_requested=False,
        fan=None,
    )


def marked_as_succeeded(run: Run, now: int, why: str) -> Run:
    """Return a failed run that a person marks as succeeded. The scan carries out the effects."""
    return evolve(ended(run, RunState.SUCCEEDED, now, Guarantor.SCAN, Reason.MARKED_SUCCEEDED), marked_succeeded=why)


def discarded(run: Run, now: int) -> Run:
    """Return a dead letter that is no longer listed; the run stays in its ledger."""
    return evolve(run, discarded_at=now)


def _first_start(run: Run, last: Attempt | None) -> int | None:
    if run.first_started_at is not None or last is None:
        return run.first_started_at
    return last.started_at
