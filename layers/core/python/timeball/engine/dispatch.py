"""Dispatch jobs that are due: plan, write the ledger, send, advance; in that order, so that a repeat changes nothing.

Whoever repeats a dispatch, at whatever later time, ends in the same rows and in at least one message for each queued
run. Nothing here is exclusive: any number of scans may dispatch the same job at once.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace

from timeball.domain.instants import SECOND_MS
from timeball.domain.job import Job, advanced, fixed, pushed_back
from timeball.domain.ledger import queued_run, skipped_range
from timeball.domain.planner import Plan, SkippedRange, plan
from timeball.domain.run import Run, RunState
from timeball.engine.follow_up import follow_up
from timeball.engine.world import World
from timeball.ports import Dispatch, Swap

log = logging.getLogger(__name__)

_MAX_PUSH_BACK_SECONDS = 3600
_TRIES = 5


@dataclass(frozen=True)
class Dispatched:
    """What came of one job: runs sent, instants skipped, whether its ledger moved on, and if more is due now."""

    job: Job
    sent: int = 0
    skipped: int = 0
    progressed: bool = False
    more: bool = False


@dataclass
class _Writing:
    """A plan on its way into the store. `whole` turns False when something of it is unknown or not ours to finish."""

    job: Job
    plan: Plan
    to_send: tuple[Run, ...] = ()
    whole: bool = True


def dispatch(world: World, jobs: Sequence[Job]) -> list[Dispatched]:
    """Write each job's plan and send its runs. The jobs are pending, and as just read from the store.

    Raises UnavailableError where the store's answer is unknown; all that was begun may be begun again.
    """
    now = world.clock.now()
    writings = [_planned(world, job, now) for job in jobs]
    begun = [writing for writing in writings if writing is not None]
    _fix(world, begun, now)
    _insert(world, begun, now)
    _record_skips(world, begun, now)
    _send(world, begun, now)
    _advance(world, begun, now)
    return [
        Dispatched(job) if writing is None else _report(writing) for job, writing in zip(jobs, writings, strict=True)
    ]


def _planned(world: World, job: Job, now: int) -> _Writing | None:
    try:
        return _Writing(job, plan(job, now, now + world.rules.lookahead_ms, world.rules.misfire_ms))
    except Exception:
        delay = min(2**job.plan_failures, _MAX_PUSH_BACK_SECONDS) * SECOND_MS
        log.exception("job cannot be planned", extra={"job_id": job.key.job_id, "failures": job.plan_failures + 1})
        world.store.swap_jobs([Swap(job, pushed_back(job, now + delay))], now)
        return None


def _fix(world: World, writings: Sequence[_Writing], now: int) -> None:
    """Store what a repeat of the plan must find again: the end of a skipped range, and the final fire."""
    changing = []
    for writing in writings:
        skip_through = writing.plan.skip.last_at if writing.plan.skip else None
        if (skip_through, writing.plan.final_fire_at) != (
            writing.job.skip_through,
            writing.job.final_fire_at,
        ):
            changing.append((writing, fixed(writing.job, skip_through, writing.plan.final_fire_at)))
    if not changing:
        return
    swapped = world.store.swap_jobs([Swap(writing.job, after) for writing, after in changing], now)
    for (writing, _), outcome in zip(changing, swapped, strict=True):
        if outcome.done and outcome.row is not None:
            writing.job = replace(outcome.row, work=writing.job.work)
        else:
            writing.whole = False  # another scan is at it, or a user; the next scan reads what they made of it
            writing.plan = Plan()


def _insert(world: World, writings: Sequence[_Writing], now: int) -> None:
    """Insert the runs; where one stands already and is queued, it is sent whatever the plan says: the claim decides.

    Where one is over already, it may have ended before its job knew that it was the final one.
    """
    planned = [
        (writing, queued_run(writing.job, fire_at, now)) for writing in writings for fire_at in writing.plan.runs
    ]
    if not planned:
        return
    standing = world.store.insert_runs([run for _, run in planned], now)
    for (writing, run), found in zip(planned, standing, strict=True):
        row = found or run
        if row.state is RunState.QUEUED:
            writing.to_send += (row,)
    over = [
        (found, writing.job)
        for (writing, _), found in zip(planned, standing, strict=True)
        if found is not None and found.is_terminal
    ]
    follow_up(world, over)


def _record_skips(world: World, writings: Sequence[_Writing], now: int) -> None:
    for writing in writings:
        if writing.plan.skip is not None:
            standing = record_skip(world, writing.job, writing.plan.skip, now)
            if standing is None:
                writing.whole = False
            else:
                writing.to_send += tuple(row for row in standing if row.state is RunState.QUEUED)


def record_skip(world: World, job: Job, skip: SkippedRange, now: int) -> list[Run] | None:
    """Write a skipped range around the rows that stand in it; return those, or None if rows kept appearing.

    A late insert by somebody with an older plan may still land inside the range. Its claim skips it as well.
    """
    for _ in range(_TRIES):
        standing = world.store.runs_between(job.key, skip.first_at, skip.last_at)
        missing = skipped_range(job, skip.first_at, skip.last_at, skip.reason, standing, now)
        if not missing:
            return standing
        if all(found is None for found in world.store.insert_runs(missing, now)):
            log.info(
                "instants skipped",
                extra={"job_id": job.key.job_id, "count": skip.count, "reason": skip.reason.value},
            )
            return standing
    return None


def _send(world: World, writings: Sequence[_Writing], now: int) -> None:
    sending = [(writing, run) for writing in writings for run in writing.to_send]
    if not sending:
        return
    sent = world.queue.send([Dispatch(run.id, run.priority, run.not_before) for _, run in sending], now)
    for (writing, _), done in zip(sending, sent, strict=True):
        writing.whole = writing.whole and done


def _advance(world: World, writings: Sequence[_Writing], now: int) -> None:
    complete = [writing for writing in writings if writing.whole]
    if not complete:
        return
    after = [advanced(writing.job, writing.plan.next_fire_at, len(writing.plan.runs)) for writing in complete]
    swaps = [Swap(writing.job, job) for writing, job in zip(complete, after, strict=True)]
    for writing, outcome in zip(complete, world.store.swap_jobs(swaps, now), strict=True):
        writing.whole = outcome.done
        if outcome.done and outcome.row is not None:
            writing.job = replace(outcome.row, work=writing.job.work)


def _report(writing: _Writing) -> Dispatched:
    skipped = writing.plan.skip.count if writing.plan.skip else 0
    return Dispatched(
        writing.job, len(writing.to_send), skipped, writing.whole, more=writing.whole and writing.plan.more
    )
