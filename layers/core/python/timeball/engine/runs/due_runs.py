"""Poll followed executions: the scan does so when the due key at the end of a run's lease says so.

A poll that finds the execution under way renews the lease, so it uses no executor's time. The row is written on the
condition that the run is still as it was read, in the attempt that started the execution: the first report of its end
wins. If the run must stop, or is out of time, the execution is stopped, and the run goes on until the execution ends.

End attempts whose target did not report in time: the scan does so when the due key at the lease's end says so.

The row is written on the condition that the run is still as it was read: a heartbeat in between wins.

Advance the runs in the due index: the scan processes each run at the time for which it waits.

A message is always sent before the row says so; the due key is dropped last.
"""

import logging
from collections.abc import Sequence

from timeball.domain.attempts.callback import cause_of, expired_attempt, reported_attempt, seen_under_way
from timeball.domain.attempts.retry import after_attempt
from timeball.domain.ends.effects import joins_cycles
from timeball.domain.model.evolve import evolve
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Callback, Run, RunState
from timeball.domain.model.runs.transitions import due_again, ended, requeued
from timeball.domain.model.runs.values import Attempt, Failed, Guarantor, Outcome, Succeeded
from timeball.domain.time.instants import MINUTE_MS
from timeball.engine.context import Context
from timeball.engine.dependencies.evaluate import evaluate_runs, wake_children, wake_cycles
from timeball.engine.resolving import read_jobs_of
from timeball.engine.runs.attempts import inline, keep_attempts, needs_a_row
from timeball.engine.runs.effects import apply_effects, change_runs
from timeball.engine.runs.fan_out import STEPS_MS, wake_heads, work_through
from timeball.engine.runs.send import send
from timeball.ports.errors import UnavailableError
from timeball.ports.rows import Swap
from timeball.ports.target import UNKNOWN, ExecutionStatus

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


log = logging.getLogger(__name__)


def resend_if_possible(context: Context, run: Run) -> None:
    """Send a due run at once. If that fails, or the run starts later, the scan does it."""
    try:
        resend(context, [run])
    except UnavailableError as unavailable:
        log.warning("left to the scan: %s", unavailable)


def resend(context: Context, runs: Sequence[Run], steps_until: int | None = None) -> int:
    """Move on those runs that are due within the look-ahead, as they were just read; return how many were.

    queued, and running with its lease out: sent, then out of the index. retrying: sent, then queued. running: back at
    its lease's end; one whose target answered 202 is ended there, and one that follows an execution looks at that.
    withdrawn: out of the index, as it waits for no time.
    terminal: what its end entails is carried out, children that wait for it look, then out. One that waits for others
    is looked at, and sent if these let it;
    one that has items takes its next step with them, if that begins before `steps_until` (ms), else within a second.
    """
    now = context.clock.now()
    margin_ms = context.rules.margin_ms
    horizon_at = now + context.rules.lookahead_ms
    runs = [run for run in runs if run.due_at is not None and run.due_at <= horizon_at]
    heads = [run for run in runs if run.fan is not None and (not run.is_terminal or run.state is RunState.FAILED)]
    waiting = [run for run in runs if run.waits and run.state is RunState.QUEUED and run.fan is None]
    apart = {run.id for run in (*heads, *waiting)}
    worked, dead = work_through(context, heads, now + STEPS_MS if steps_until is None else steps_until)
    runs = [run for run in runs if run.id not in apart] + evaluate_runs(context, waiting) + dead
    expired = [run for run in runs if is_reapable(run, now, margin_ms)]
    followed = [run for run in expired if run.followed is not None]
    silent = [run for run in expired if run not in followed]
    reaped = reap(context, silent, now) if silent else 0
    reaped += follow(context, followed, now) if followed else 0
    runs = [run for run in runs if run not in expired]
    carried = [run for run in runs if _is_to_be_sent(run, now, margin_ms)]
    sent = send(context, carried, now)
    swaps = [Swap(run, _after_send(run)) for run, done in zip(carried, sent, strict=True) if done]
    swaps += [
        Swap(run, due_again(run, (run.lease_until or now) + margin_ms))
        for run in runs
        if run.state is RunState.RUNNING and run not in carried and run.due_at != (run.lease_until or now) + margin_ms
    ]
    over = [run for run in runs if run.is_terminal]
    jobs = context.store.jobs.read([run.id.job for run in over])
    apply_effects(context, list(zip(over, jobs, strict=True)))
    wake_heads(context, over)
    joined = [run for run, job in zip(over, jobs, strict=True) if job is not None and joins_cycles(run, job)]
    wake_cycles(context, [run for run in joined if run.count == 1])
    wake_children(context, [run.id.job for run in joined if run.count > 1])
    swaps += [Swap(run, due_again(run, None)) for run in runs if run.is_terminal or run.state is RunState.WITHDRAWN]
    return worked + reaped + (sum(swapped.done for swapped in context.store.runs.swap(swaps, now)) if swaps else 0)


def _is_to_be_sent(run: Run, now: int, margin_ms: int) -> bool:
    if run.state is RunState.RUNNING:
        return (run.lease_until or 0) + margin_ms <= now
    return run.state in (RunState.QUEUED, RunState.RETRYING)


def _after_send(run: Run) -> Run:
    return requeued(run) if run.state is RunState.RETRYING else due_again(run, None)
