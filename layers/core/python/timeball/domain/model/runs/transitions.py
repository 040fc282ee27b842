"""How a run moves: each function returns the run after one change, and none makes a move that `MOVES` does not have."""

from timeball.domain.model.evolve import evolve
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.attempt import Attempt
from timeball.domain.model.runs.fan_out import FanOut
from timeball.domain.model.runs.guarantor import Guarantor
from timeball.domain.model.runs.run import MOVES, Run, RunState, Waiting
from timeball.domain.model.terms.task_use import TaskUse


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
        named=None,
        waiting=None,
        places=(),
    )


def fanned_out(run: Run, fan: FanOut, now: int) -> Run:
    """Return a queued run that is under way from now on by the runs of its items."""
    moved = _move(run, RunState.RUNNING)
    return evolve(moved, attempt=run.attempt + 1, claimed_at=now, due_at=now, reason=None, fan=fan)


def mended(run: Run, now: int) -> Run:
    """Return a failed run whose items have succeeded by now. The scan sees to what that entails."""
    return ended(run, RunState.SUCCEEDED, now, Guarantor.SCAN)


def using(run: Run, task: TaskUse | None) -> Run:
    """Return a run whose attempts use a version of its job's task, or (None) none."""
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


def due_again(run: Run, due_at: int | None, carrier_failures: int | None = None) -> Run:
    """Return the run, in its state, standing in the due index at `due_at`, or (None) out of it."""
    failures = run.carrier_failures if carrier_failures is None else carrier_failures
    return evolve(run, due_at=due_at, carrier_failures=failures)


def asked_to_stop(run: Run, reason: Reason) -> Run:
    """Return a running run that its executor is asked to stop, and why; what it follows is to be stopped by the scan.

    The latter is due at once: an instant that has passed needs no clock.
    """
    asked = evolve(run, cancel_requested=True, reason=reason)
    if run.callback is None or run.callback.execution is None:
        return asked
    return evolve(asked, lease_until=run.callback.called_at, due_at=run.callback.called_at)


def lined_up(run: Run, waiting: Waiting, reason: Reason, last: Attempt | None, places: tuple[str, ...] = ()) -> Run:
    """Return a run that is to be claimed as one that waits in a line, and for no time: its limiter calls it.

    It keeps the places that others have given it. Of one that is taken over, `last` is the attempt that was lost.
    """
    waits = run if last is None else retrying(run, run.not_before, last)
    return evolve(waits, due_at=None, reason=reason, waiting=waiting, places=places)


def called(run: Run, now: int = 0) -> Run:
    """Return a run that stood in a line and whose message was sent; it was held so long, if it has not begun yet."""
    if run.waiting is None:
        return run
    held = run.held if run.attempt else run.held.by("limits" if run.waiting.name else "quota", now)
    return evolve(run, waiting=evolve(run.waiting, called=True), held=held if run.held.until else run.held)


def out_of_line(run: Run) -> Run:
    """Return a run that waits in no line any more, nor keeps what it has there; `places` says whom that concerns."""
    left = run.waiting
    return run if left is None else evolve(run, waiting=None, places=(*run.places, left.name), reason=None)


def withdrawn(run: Run) -> Run:
    """Return a queued run that a pause took back. It waits for no time: it leaves the due index.

    Nor does it wait for its host any more: the wait that the pause cuts does not count.
    """
    moved = _move(out_of_line(run), RunState.WITHDRAWN)
    return evolve(moved, due_at=None, reason=None, deferred_since=None, blocked=None)


def put_off(run: Run, not_before: int, due_at: int | None, stamp: int | None = None) -> Run:
    """Return an unstarted run, withdrawn ones queued again, that starts at `not_before` and is due at `due_at`."""
    moved = out_of_line(run) if run.state is RunState.QUEUED else _move(run, RunState.QUEUED)
    return evolve(
        moved,
        not_before=not_before,
        due_at=due_at,
        stamp=run.stamp if stamp is None else stamp,
        deferred_since=None,
        deferred_ms=run.waited_for_host_ms,
    )


def moved_later(run: Run, moved_to: int, not_before: int) -> Run:
    """Return an unstarted run that its calendar moves, in the due index: it may be days until it starts."""
    return evolve(put_off(run, not_before, not_before), moved_to=moved_to, reason=None)


def superseded(run: Run, stamp: int, now: int, guarantor: Guarantor) -> Run:
    """Return an unstarted run as one whose fire the schedule of version `stamp` does not have."""
    return evolve(ended(run, RunState.SKIPPED, now, guarantor, Reason.SUPERSEDED), stamp=stamp)


def closed(run: Run, closing: Run) -> Run:
    """Return a superseded run as the row that closes its fire: no plan of an older version revives it."""
    return evolve(run, reason=closing.reason, stamp=closing.stamp)


def revived(run: Run, planned: Run) -> Run:
    """Return a run that was withdrawn or superseded as the one that is planned in its place.

    One that collects starts no sooner than what it has collected says.
    """
    if run.collected is not None and run.moved_to is not None and run.not_before > planned.not_before:
        planned = evolve(planned, not_before=run.not_before, moved_to=run.moved_to, due_at=run.not_before)
    again = put_off(run, planned.not_before, planned.due_at, planned.stamp)
    again = evolve(again, finished_at=None, reason=planned.reason, let_go_at=planned.let_go_at)
    return evolve(again, waits=planned.waits, joined=planned.joined, moved_to=planned.moved_to, fan=None)


def passed_over(run: Run, reason: Reason, stamp: int, now: int) -> Run:
    """Return an unstarted or superseded run, or one of before, as a range of one fire: nobody counts it as a run."""
    skipped = run if run.state is RunState.SKIPPED else _move(out_of_line(run), RunState.SKIPPED)
    return evolve(skipped, stamp=stamp, reason=reason, last_fire_at=run.id.fire_at, finished_at=now)


def frozen(run: Run, until: int) -> Run:
    """Return a run that a freeze keeps from its start, in the due index; its instant stays as it was."""
    freed = out_of_line(run)
    return evolve(freed, due_at=until, reason=Reason.FROZEN, deferred_since=None, deferred_ms=run.waited_for_host_ms)


def deferred(run: Run, until: int, reason: Reason | None, since: int) -> Run:
    """Return a run that waits, queued or retrying, as one that waits in the due index for its host, and why.

    Without a reason it waits for its job's overlap lock.

    Waiting for an open circuit is counted, waiting for a token is not.
    """
    return evolve(
        out_of_line(run),
        not_before=until,
        due_at=until,
        reason=reason,
        deferred_since=since if reason is Reason.CIRCUIT_OPEN else None,
        deferred_ms=run.waited_for_host_ms,
    )


def reopened(run: Run, not_before: int) -> Run:
    """Return a failed or retrying run as one to be tried again: with a fresh budget from then on, its history kept.

    Of its task it takes the version that is current then: whoever asks for it may have mended that.
    """
    moved = run if run.state is RunState.RETRYING else _move(run, RunState.QUEUED)
    return evolve(_with_fresh_budget(moved, not_before), reason=None)


def _with_fresh_budget(run: Run, not_before: int) -> Run:
    return evolve(
        out_of_line(run),
        not_before=not_before,
        due_at=not_before,
        finished_at=None,
        carrier_failures=0,
        budget_from=run.attempt,
        budget_at=not_before,
        discarded_at=None,
        deferred_since=None,
        deferred_ms=0,
        task_version=None,
        fan=None if run.fan is None else evolve(run.fan, released=0, over=0),
    )


def cleared(run: Run, now: int, *, waits: bool) -> Run:
    """Return a run that is over, or still waits, as one of a cycle that is run again, with its history kept.

    Its parents let it run anew; one that has none is due at once.
    """
    moved = run if run.state is RunState.QUEUED else _move(run, RunState.QUEUED)
    return evolve(
        _with_fresh_budget(moved, max(now, run.not_before)),
        reason=Reason.WAITING_FOR_PARENTS if waits else None,
        waits=waits,
        blocked=None,
        pardon=None,
        let_go_at=None,
        cancel_requested=False,
        fan=None,
    )


def planned_anew(run: Run, planned: Run, now: int) -> Run:
    """Return the run of a one-off that is run again as the one that is planned in its place, with its history kept."""
    moved = _with_fresh_budget(_move(run, RunState.QUEUED), max(planned.not_before, now))
    return evolve(
        moved,
        due_at=planned.due_at,
        stamp=planned.stamp,
        reason=planned.reason,
        let_go_at=planned.let_go_at,
        waits=planned.waits,
        joined=planned.joined,
        last_fire_at=None,
        pardon=None,
        cancel_requested=False,
        fan=None,
    )


def pardoned(run: Run, now: int, why: str) -> Run:
    """Return a failed run that a person marks as succeeded. The scan sees to what that entails."""
    return evolve(ended(run, RunState.SUCCEEDED, now, Guarantor.SCAN, Reason.SUCCEEDED_BY_HAND), pardon=why)


def discarded(run: Run, now: int) -> Run:
    """Return a dead letter that is listed no more; the run stays in its ledger."""
    return evolve(run, discarded_at=now)


def _first_start(run: Run, last: Attempt | None) -> int | None:
    if run.first_started_at is not None or last is None:
        return run.first_started_at
    return last.started_at
