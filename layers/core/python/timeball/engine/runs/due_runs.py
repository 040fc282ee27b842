"""Advance the runs in the due index: the scan processes each run at the time for which it waits.

A message is always sent before the row says so; the due key is dropped last.
"""

import logging
from collections.abc import Sequence

from timeball.domain.ends.effects import joins_cycles
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.runs.transitions import due_again, requeued
from timeball.engine.context import Context
from timeball.engine.dependencies.cycles import evaluate_cycles, wake_cycles
from timeball.engine.dependencies.evaluation import wake_children
from timeball.engine.runs.fan_out import STEPS_MS, wake_heads, work_through
from timeball.engine.runs.follow import follow
from timeball.engine.runs.on_run_end import on_run_end
from timeball.engine.runs.reap import is_reapable, reap
from timeball.engine.runs.send import send
from timeball.ports.collections.rows import Swap
from timeball.ports.errors import UnavailableError

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
    runs = [run for run in runs if run.id not in apart] + evaluate_cycles(context, waiting) + dead
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
    on_run_end(context, list(zip(over, jobs, strict=True)))
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
