"""Advance the runs in the due index: the scan processes each run at the time for which it waits.

`classify` says what a due run needs, and each action has a handler. A message is always sent before the row says so;
the due key is dropped last.

Two actions end attempts whose targets do not answer. *Follow* polls an execution. While the execution is under way, the
run's lease is extended, so it uses no executor's time. If the run must stop, or is out of time, the execution is
stopped, and the run goes on until that has ended. *Reap* ends an attempt whose target did not report in time. Both
write a run on the condition that it is still as it was read, so a report or a heartbeat in between wins.
"""

import logging
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from timeball.domain.attempts.callback import callback_of, expired_attempt, reported_attempt, seen_under_way
from timeball.domain.attempts.due import DueAction, classify, lease_end
from timeball.domain.model.evolve import evolve
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.runs.transitions import due_again, ended, requeued
from timeball.domain.model.runs.values import Attempt, Guarantor
from timeball.domain.run_ends.effects import joins_cycles
from timeball.domain.time.instants import MINUTE_MS
from timeball.engine.context import Context
from timeball.engine.dependencies.evaluate import evaluate_runs, wake_children, wake_cycles
from timeball.engine.resolving import read_jobs_of
from timeball.engine.runs.attempts import after_report, inline, keep_attempts, needs_a_row
from timeball.engine.runs.effects import apply_effects, change_runs
from timeball.engine.runs.fan_out import STEPS_MS, wake_heads, work_through
from timeball.engine.runs.send import send
from timeball.ports.errors import UnavailableError
from timeball.ports.rows import Swap
from timeball.ports.target import UNKNOWN, ExecutionStatus

log = logging.getLogger(__name__)

_GIVEN_UP_AFTER_MS = 10 * MINUTE_MS
_KNOWN_AFTER_MS = 5 * MINUTE_MS
"""How long AWS (by the documentation of ECS) may not yet know of an execution that was started."""


def resend_if_possible(context: Context, runs: Sequence[Run]) -> None:
    """Send due runs at once. If that fails, or a run starts later, the scan does it."""
    try:
        resend(context, runs)
    except UnavailableError as unavailable:
        log.warning("left to the scan: %s", unavailable)


def resend(context: Context, runs: Sequence[Run], steps_until: int | None = None) -> int:
    """Advance the runs that are due within the look-ahead, as they were just read; return how many changed.

    A step of a run with items begins before `steps_until` (ms), or within a second. Raises UnavailableError.

    Order of writes of resend (the scan, for a run in the due index):

    1. Send, or carry out the effects of an ended run.
    2. Swap: `retrying` to `queued`, the due key dropped.

    Safe: the claim accepts `retrying`, so step 1 without step 2 loses nothing.
    """
    now = context.clock.now()
    horizon_at = now + context.rules.lookahead_ms
    due = defaultdict[DueAction, list[Run]](list)
    for run in runs:
        if run.due_at is not None and run.due_at <= horizon_at:
            due[classify(run, now, context.rules.margin_ms)].append(run)
    stepped, still_failed = work_through(
        context, due[DueAction.STEP], now + STEPS_MS if steps_until is None else steps_until
    )
    due[DueAction.SEND] += evaluate_runs(context, due[DueAction.EVALUATE])
    due[DueAction.FINISH] += still_failed
    done = stepped + reap(context, due[DueAction.REAP], now) + follow(context, due[DueAction.FOLLOW], now)
    swaps = [swap for action, handle in _HANDLERS.items() for swap in handle(context, due[action], now)]
    return done + (sum(swapped.done for swapped in context.store.runs.swap(swaps, now)) if swaps else 0)


def _send(context: Context, runs: Sequence[Run], now: int) -> list[Swap[Run]]:
    sent = send(context, runs, now)
    return [Swap(run, _after_send(run)) for run, done in zip(runs, sent, strict=True) if done]


def _after_send(run: Run) -> Run:
    return requeued(run) if run.state is RunState.RETRYING else due_again(run, None)


def _delay(context: Context, runs: Sequence[Run], _: int) -> list[Swap[Run]]:
    return [Swap(run, due_again(run, lease_end(run, context.rules.margin_ms))) for run in runs]


def _finish(context: Context, runs: Sequence[Run], now: int) -> list[Swap[Run]]:
    """Carry out the effects of ended runs, and wake the runs and jobs that wait for them."""
    jobs = context.store.jobs.read([run.id.job for run in runs])
    apply_effects(context, list(zip(runs, jobs, strict=True)))
    wake_heads(context, runs)
    joined = [run for run, job in zip(runs, jobs, strict=True) if job is not None and joins_cycles(run, job)]
    wake_cycles(context, [run for run in joined if run.count == 1])
    wake_children(context, [run.id.job for run in joined if run.count > 1])
    return _drop(context, runs, now)


def _drop(_: Context, runs: Sequence[Run], __: int) -> list[Swap[Run]]:
    return [Swap(run, due_again(run, None)) for run in runs]


_HANDLERS: Mapping[DueAction, Callable[[Context, Sequence[Run], int], list[Swap[Run]]]] = {
    DueAction.SEND: _send,
    DueAction.DELAY: _delay,
    DueAction.FINISH: _finish,
    DueAction.DROP: _drop,
}
"""The handlers of the actions that share one write: each returns its swaps of that write."""


def reap(context: Context, runs: Sequence[Run], now: int) -> int:
    """End the attempt of each run, whose lease has expired; return the number ended. Raises UnavailableError."""
    if not runs:
        return 0
    jobs = read_jobs_of(context, runs)
    swaps = [Swap(run, _over(run, job, expired_attempt(run), now)) for run, job in zip(runs, jobs, strict=True)]
    swapped = change_runs(context, {run.id: job for run, job in zip(runs, jobs, strict=True)}, swaps, now)
    done = [outcome.row for outcome in swapped if outcome.done and outcome.row is not None]
    keep_attempts(context, [(run.id, run.last) for run in done if run.last is not None], now)
    return len(done)


def follow(context: Context, runs: Sequence[Run], now: int) -> int:
    """Reconcile each run, whose lease has expired, with its execution; return the number of runs that changed.

    Raises UnavailableError.

    Order of writes of follow (an execution, after the run's lease):

    1. Poll it.
    2. Stop it, if the run must stop or is out of time, and poll again.
    3. Insert the attempt's own row, if it is over.
    4. Swap the run: its end, or `retrying`, with a due key; or a new lease, with a due key at its end.

    Safe: a run that is not over has a due key, so the scan polls again; step 1 and step 2 may be repeated; step 4 is
    refused if a report, or another scan, came first; an event about the end is a report. An execution that a lost or
    unanswered attempt may have started has that attempt's name, and the next attempt asks for it by the name.
    """
    if not runs:
        return 0
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
        None if standing == UNKNOWN and now < callback_of(run).called_at + _KNOWN_AFTER_MS else standing
        for run, standing in zip(runs, standings, strict=True)
    ]


def _is_over(standing: ExecutionStatus | None) -> bool:
    return standing is not None and standing.is_over


def _is_unwanted(run: Run, now: int) -> bool:
    return run.cancel_requested or callback_of(run).until <= now


def _ended_attempt(run: Run, standing: ExecutionStatus | None, now: int) -> Attempt | None:
    """Return the attempt's record if its execution has ended, or its time is up; None if it goes on.

    An execution that is out of time and cannot be stopped is given up after a while: AWS may never allow the stop.
    """
    if standing is not None and standing.is_over:
        return reported_attempt(run, now, standing.error, standing.body)
    until = callback_of(run).until
    return expired_attempt(evolve(run, lease_until=until)) if now >= until + _GIVEN_UP_AFTER_MS else None


def _over(run: Run, job: Job | None, attempt: Attempt, now: int) -> Run:
    if job is None:
        return ended(run, RunState.CANCELLED, now, Guarantor.SCAN, Reason.JOB_GONE, inline(attempt))
    return after_report(run, job, attempt, now)
