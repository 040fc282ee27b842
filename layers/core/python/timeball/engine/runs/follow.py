"""Poll followed executions: the scan does so when the due key at the end of a run's lease says so.

A poll that finds the execution under way renews the lease, so it uses no executor's time. The row is written on the
condition that the run is still as it was read, in the attempt that started the execution: the first report of its end
wins. If the run must stop, or is out of time, the execution is stopped, and the run goes on until the execution ends.
"""

from collections.abc import Sequence

from timeball.domain.attempts.callback import cause_of, expired_attempt, reported_attempt, seen_under_way
from timeball.domain.attempts.outcome import after_attempt
from timeball.domain.model.evolve import evolve
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.attempt import Attempt, Outcome
from timeball.domain.model.runs.guarantor import Guarantor
from timeball.domain.model.runs.run import Callback, Run, RunState
from timeball.domain.model.runs.transitions import ended
from timeball.domain.model.runs.verdict import Failed, Succeeded
from timeball.domain.time.instants import MINUTE_MS
from timeball.engine.context import Context
from timeball.engine.runs.attempts import inline, keep_attempts, needs_a_row
from timeball.engine.runs.on_run_end import change_runs
from timeball.engine.tasks.resolving import read_jobs_of
from timeball.ports.collections.rows import Swap
from timeball.ports.executions import UNKNOWN, ExecutionStatus

_GIVEN_UP_AFTER_MS = 10 * MINUTE_MS
_KNOWN_AFTER_MS = 5 * MINUTE_MS
"""How long AWS (by the documentation of ECS) may not yet know of an execution that was started."""


def follow(context: Context, runs: Sequence[Run], now: int) -> int:
    """Reconcile each run, whose lease has expired, with its execution; return the number of runs that changed.

    Raises UnavailableError.
    """
    jobs = read_jobs_of(context, runs)
    standings = _standings(context, runs, now)
    ends = [_ended_attempt(run, standing, now) for run, standing in zip(runs, standings, strict=True)]
    keeping = [(run.id, one) for run, one in zip(runs, ends, strict=True) if one is not None and needs_a_row(one)]
    keep_attempts(context, keeping, now)  # before the rows: an execution whose run has ended is polled no more
    swaps = [
        Swap(run, seen_under_way(run, now, context.rules.margin_ms) if one is None else _over(run, job, one, now))
        for run, job, one in zip(runs, jobs, ends, strict=True)
    ]
    swapped = change_runs(context, {run.id: job for run, job in zip(runs, jobs, strict=True)}, swaps, now)
    return sum(outcome.done for outcome in swapped)


def _standings(context: Context, runs: Sequence[Run], now: int) -> list[ExecutionStatus | None]:
    """Return how executions stand, after stopping those whose runs must stop or are out of time.

    The next poll shows the effect of a stop: the execution may have ended by itself just before, and a task takes its
    time.
    """
    polled = dict(zip([run.id for run in runs], _poll(context, runs, now), strict=True))
    unwanted = [run for run in runs if _is_unwanted(run, now) and not _is_over(polled[run.id])]
    stopped = context.executions.stop([run.followed or "" for run in unwanted])
    again = [run for run, done in zip(unwanted, stopped, strict=True) if done]
    polled |= zip([run.id for run in again], _poll(context, again, now), strict=True)
    return [polled[run.id] for run in runs]


def _poll(context: Context, runs: Sequence[Run], now: int) -> list[ExecutionStatus | None]:
    """Return how executions stand; None if it is unknown, such as when AWS does not know the execution yet."""
    standings = context.executions.poll([run.followed or "" for run in runs])
    return [
        None if standing == UNKNOWN and now < _callback(run).called_at + _KNOWN_AFTER_MS else standing
        for run, standing in zip(runs, standings, strict=True)
    ]


def _is_over(standing: ExecutionStatus | None) -> bool:
    return standing is not None and standing.is_over


def _is_unwanted(run: Run, now: int) -> bool:
    return run.cancel_requested or _callback(run).until <= now


def _ended_attempt(run: Run, standing: ExecutionStatus | None, now: int) -> Attempt | None:
    """Return the attempt's record if its execution has ended, or its time is up; None if it goes on.

    An execution that is out of time and cannot be stopped is given up after a while: AWS may never allow the stop.
    """
    if standing is not None and standing.is_over:
        return reported_attempt(run, now, standing.error, standing.body)
    until = _callback(run).until
    return expired_attempt(evolve(run, lease_until=until)) if now >= until + _GIVEN_UP_AFTER_MS else None


def _over(run: Run, job: Job | None, attempt: Attempt, now: int) -> Run:
    if job is None:
        return ended(run, RunState.CANCELLED, now, Guarantor.SCAN, Reason.JOB_GONE, inline(attempt))
    failed = Failed(job.spec.retry.retries(cause_of(attempt)))
    verdict = Succeeded() if attempt.outcome is Outcome.SUCCEEDED else failed
    return after_attempt(run, job, inline(attempt), verdict, now, Guarantor.SCAN)


def _callback(run: Run) -> Callback:
    if run.callback is None:
        raise ValueError(f"{run.id} has no execution that could be followed")
    return run.callback
