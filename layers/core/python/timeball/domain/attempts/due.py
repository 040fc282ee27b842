"""What a run in the due index needs when its time has come: one pure decision, from its row as it was just read."""

from enum import StrEnum

from timeball.domain.model.runs.run import Run, RunState


class DueAction(StrEnum):
    """What a due run needs."""

    STEP = "step"  # it has items: take its next step with them
    EVALUATE = "evaluate"  # it waits for its parents: evaluate them, and send it if they let it
    FOLLOW = "follow"  # it follows an execution: poll that
    REAP = "reap"  # its target did not report in time: end the attempt
    SEND = "send"  # an executor must claim it
    DELAY = "delay"  # its lease was extended: make it due at the lease's end
    KEEP = "keep"  # it is due at its lease's end already
    FINISH = "finish"  # it has ended: carry out the effects
    DROP = "drop"  # it waits for no time: take it out of the index


def classify(run: Run, now: int, margin_ms: int) -> DueAction:
    """Return what a run needs whose due time has come. A lease has expired for all clocks `margin_ms` after its end.

    A head that has failed takes another step, because its items may have succeeded since; other ended heads do not.
    """
    if run.fan is not None and (not run.is_terminal or run.state is RunState.FAILED):
        return DueAction.STEP
    if run.is_terminal:
        return DueAction.FINISH
    match run.state:
        case RunState.WITHDRAWN:
            return DueAction.DROP
        case RunState.QUEUED if run.waits:
            return DueAction.EVALUATE
        case RunState.RUNNING:
            return _under_way(run, now, margin_ms)
        case _:
            return DueAction.SEND


def is_reapable(run: Run, now: int, margin_ms: int) -> bool:
    """Return whether the time of a target that answered 202 is up, by any clock."""
    return run.state is RunState.RUNNING and run.callback is not None and _has_expired(run, now, margin_ms)


def lease_end(run: Run, margin_ms: int) -> int:
    """Return when (ms) the lease of a running run has expired, by any clock."""
    return (run.lease_until or 0) + margin_ms


def _under_way(run: Run, now: int, margin_ms: int) -> DueAction:
    if is_reapable(run, now, margin_ms):
        return DueAction.REAP if run.followed is None else DueAction.FOLLOW
    if _has_expired(run, now, margin_ms):
        return DueAction.SEND
    return DueAction.KEEP if run.due_at == lease_end(run, margin_ms) else DueAction.DELAY


def _has_expired(run: Run, now: int, margin_ms: int) -> bool:
    return lease_end(run, margin_ms) <= now
