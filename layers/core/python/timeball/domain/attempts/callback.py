"""Callback runs: the target accepts the attempt, continues to work, and reports later how it ended.

Invariant: a run that waits for its target's report has a due key, at the latest at the end of its lease. So the scan
ends the attempt, whatever becomes of the target. No other process claims such a run.
"""

from timeball.domain.model.evolve import evolve
from timeball.domain.model.jobs.job import Completion, Job
from timeball.domain.model.runs.run import Callback, Run, RunState
from timeball.domain.model.runs.values import Attempt, Outcome
from timeball.domain.model.terms.policies import Cause
from timeball.domain.time.instants import SECOND_MS

LONGEST_SECONDS = 7 * 24 * 3600
"""The longest timeout of an attempt whose target sends heartbeats."""


_FIRST_LOOK_MS = 10 * SECOND_MS
_LAST_LOOK_MS = 60 * SECOND_MS


def handed_over(run: Run, job: Job, called_at: int, now: int, margin_ms: int, execution: str | None = None) -> Run:
    """Return the running run as a run that waits for its target's report, or for the end of an execution.

    It is due at the end of its lease. If it follows an execution and was asked to stop by then, it is due at once.
    """
    until = called_at + job.spec.timeout_seconds * SECOND_MS
    heartbeat_ms = None if job.spec.heartbeat_seconds is None else job.spec.heartbeat_seconds * SECOND_MS
    callback = Callback(called_at, until, heartbeat_ms if execution is None else None, execution)
    lease_until = now if execution is not None and run.cancel_requested else _lease_until(callback, now)
    return evolve(
        run,
        callback=callback,
        lease_until=lease_until,
        due_at=lease_until + margin_ms,
        first_started_at=called_at if run.first_started_at is None else run.first_started_at,
    )


def awaits_report(run: Run, attempt: int) -> bool:
    """Say whether this attempt of the run is under way."""
    return run.state is RunState.RUNNING and run.attempt == attempt


def takes_report(run: Run, job: Job) -> bool:
    """Say whether a target may report on the run: it answered 202, or its call is under way and may be reported on."""
    return run.callback is not None or job.spec.completion is Completion.CALLBACK


def follows(run: Run, execution: str) -> bool:
    """Say whether the run follows this execution."""
    return run.callback is not None and run.callback.execution == execution


def extended(run: Run, now: int) -> Run | None:
    """Return the run with its lease extended by a heartbeat; None if the lease has expired.

    With an expired lease another attempt may have begun. The due key stays unchanged and the scan moves it when it is
    due, so that a heartbeat costs one small write. A run that its executor has not handed over has its lease from
    there, and stays unchanged.
    """
    if (run.lease_until or 0) <= now:
        return None
    if run.callback is None or run.callback.heartbeat_ms is None:
        return run
    return evolve(run, lease_until=_lease_until(run.callback, now))


def callback_of(run: Run) -> Callback:
    """Return what a run waits for that was handed over. Raises ValueError for any other run."""
    if run.callback is None:
        raise ValueError(f"{run.id} was not handed over")
    return run.callback


def seen_under_way(run: Run, now: int, margin_ms: int) -> Run:
    """Return the run whose execution was polled and continues: due at the next poll."""
    lease_until = now + _FIRST_LOOK_MS if run.cancel_requested else _lease_until(callback_of(run), now)
    return evolve(run, lease_until=lease_until, due_at=lease_until + margin_ms)


def expired_attempt(run: Run) -> Attempt:
    """Return the record of an attempt whose target did not report, or sent no heartbeat, in time."""
    callback = callback_of(run)
    in_all = (run.lease_until or 0) >= callback.until
    what = "target did not report" if callback.execution is None else "execution did not end"
    error = f"The {what} in time." if in_all else "The target's heartbeat ceased."
    return Attempt(
        run.attempt,
        Outcome.TIMED_OUT if in_all else Outcome.LOST,
        run.claimed_at or run.created_at,
        callback.called_at,
        run.lease_until,
        error=error,
        worker=run.owner,
    )


def reported_attempt(run: Run, now: int, error: str | None, body: str | None) -> Attempt:
    """Return the record of an attempt that ends at `now`, as its target reports: failed if there is an `error`.

    An execution that fails after its time is up was stopped for that reason, whichever report comes first.
    """
    is_out = run.callback is not None and run.followed is not None and run.callback.until <= now
    failed = Outcome.TIMED_OUT if is_out else Outcome.FAILED
    return Attempt(
        number=run.attempt,
        outcome=Outcome.SUCCEEDED if error is None else failed,
        claimed_at=run.claimed_at or run.created_at,
        started_at=max(run.claimed_at or 0, run.not_before) if run.callback is None else run.callback.called_at,
        finished_at=now,
        error=error,
        body=body,
    )


def cause_of(attempt: Attempt) -> Cause:
    """Return the cause under which the retry policy counts the failure of an attempt that was handed over."""
    return _CAUSES.get(attempt.outcome, Cause.REPORTED)


_CAUSES = {Outcome.TIMED_OUT: Cause.TIMEOUT, Outcome.LOST: Cause.LOST}


def _lease_until(callback: Callback, now: int) -> int:
    """Return until when the target need not report; at most the end of the attempt's time.

    An execution is polled again after a tenth of the time that it has taken so far, within bounds.
    """
    if callback.execution is not None:
        pause_ms = max(_FIRST_LOOK_MS, min((now - callback.called_at) // 10, _LAST_LOOK_MS))
        return max(min(now + pause_ms, callback.until), now)
    return callback.until if callback.heartbeat_ms is None else min(now + callback.heartbeat_ms, callback.until)
