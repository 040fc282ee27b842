"""End attempts whose target did not report in time: the scan does so when the due key at the lease's end says so.

The row is written on the condition that the run is still as it was read: a heartbeat in between wins.
"""

from collections.abc import Sequence

from timeball.domain.attempts.callback import cause_of, expired_attempt
from timeball.domain.attempts.outcome import after_attempt
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.guarantor import Guarantor
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.runs.transitions import ended
from timeball.domain.model.runs.verdict import Failed
from timeball.engine.context import Context
from timeball.engine.runs.attempts import keep_attempts
from timeball.engine.runs.on_run_end import change_runs
from timeball.engine.tasks.resolving import read_jobs_of
from timeball.ports.collections.rows import Swap


def is_reapable(run: Run, now: int, margin_ms: int) -> bool:
    """Return whether the time of a target that answered 202 is up, by any clock."""
    return run.state is RunState.RUNNING and run.callback is not None and (run.lease_until or 0) + margin_ms <= now


def reap(context: Context, runs: Sequence[Run], now: int) -> int:
    """End the attempt of each run, whose lease has expired; return the number ended. Raises UnavailableError."""
    jobs = read_jobs_of(context, runs)
    swaps = [Swap(run, _reaped(run, job, now)) for run, job in zip(runs, jobs, strict=True)]
    swapped = change_runs(context, {run.id: job for run, job in zip(runs, jobs, strict=True)}, swaps, now)
    done = [outcome.row for outcome in swapped if outcome.done and outcome.row is not None]
    keep_attempts(context, [(run.id, run.last) for run in done if run.last is not None], now)
    return len(done)


def _reaped(run: Run, job: Job | None, now: int) -> Run:
    attempt = expired_attempt(run)
    if job is None:
        return ended(run, RunState.CANCELLED, now, Guarantor.SCAN, Reason.JOB_GONE, attempt)
    failed = Failed(job.spec.retry.retries(cause_of(attempt)))
    return after_attempt(run, job, attempt, failed, now, Guarantor.SCAN)
