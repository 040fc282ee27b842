"""Dispatch jobs that are due: plan, write the ledger, send, advance; in that order, so that a repeat changes nothing.

Whoever repeats a dispatch, at whatever later time, ends in the same rows and in at least one message for each queued
run. Nothing here is exclusive: any number of scans may dispatch the same job at once.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from timeball.domain.evolve import evolve
from timeball.domain.ids import Origin, RunId
from timeball.domain.instants import SECOND_MS
from timeball.domain.job import Job, JobStatus, advanced, fixed, pushed_back
from timeball.domain.ledger import queued_run, skipped_range
from timeball.domain.planner import Plan, SkippedRange, plan
from timeball.domain.reason import Reason
from timeball.domain.run import Run, RunState, ended, put_off
from timeball.engine.follow_up import conclude, follow_up
from timeball.engine.notice import skipped
from timeball.engine.send import send
from timeball.engine.world import World
from timeball.ports.jobs import Conclusion
from timeball.ports.queue import Dispatch
from timeball.ports.rows import Swap

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
    """A plan on its way into the store. `whole` turns False when something of it is unknown or not ours to finish.

    `covered_to` is the last instant that a row stands for, of those that were met; `met_older`: one of those, not over
    yet, is of an older schedule, and may have been claimed under that.
    """

    job: Job
    plan: Plan
    to_send: tuple[Run, ...] = ()
    whole: bool = True
    covered_to: int = -1
    met_older: bool = False


def dispatch(world: World, jobs: Sequence[Job], read_at: int) -> list[Dispatched]:
    """Write each job's plan and send its runs. The jobs are pending, and were read at `read_at` or later.

    A plan reaches no further than the look-ahead from `read_at`: so far a cancel refuses the inserts of older plans.
    Raises UnavailableError where the store's answer is unknown; all that was begun may be begun again.
    """
    writings = [_planned(world, job, read_at) for job in jobs]
    begun = [writing for writing in writings if writing is not None]
    _conclude(world, begun, read_at)
    _fix(world, begun, read_at)
    _insert(world, begun, read_at)
    _record_skips(world, begun, read_at)
    _send(world, begun, read_at)
    _advance(world, begun, read_at)
    return [
        Dispatched(job) if writing is None else _report(writing) for job, writing in zip(jobs, writings, strict=True)
    ]


def push_back(world: World, job: Job) -> None:
    """Let a job that cannot be worked on be looked at again later, ever more seldom, so that it stops no other."""
    now = world.clock.now()
    delay = min(2**job.plan_failures, _MAX_PUSH_BACK_SECONDS) * SECOND_MS
    world.store.jobs.swap([Swap(job, pushed_back(job, now + delay))], now)


def _planned(world: World, job: Job, now: int) -> _Writing | None:
    try:
        return _Writing(job, plan(job, now, now + world.rules.lookahead_ms, world.rules.misfire_ms))
    except Exception:
        log.exception("job cannot be planned", extra={"job_id": job.key.job_id, "failures": job.plan_failures + 1})
        push_back(world, job)
        return None


def _conclude(world: World, writings: Sequence[_Writing], now: int) -> None:
    """End jobs whose ledger is written to its end, if their final run is over, or was skipped in a range.

    The others stay due, and are looked at again, ever more seldom.
    """
    finals = {
        RunId(writing.job.key, writing.job.final_fire_at, Origin.SCHEDULE): writing.job
        for writing in writings
        if writing.job.next_fire_at is None and writing.job.final_fire_at is not None
    }
    if not finals:
        return
    rows = dict(zip(finals, world.store.runs.read(list(finals)), strict=True))
    follow_up(world, [(row, finals[run_id]) for run_id, row in rows.items() if row is not None and row.is_terminal])
    in_ranges = [run_id for run_id, row in rows.items() if row is None and not finals[run_id].schedule.is_one_off]
    if in_ranges:
        conclude(
            world,
            [Conclusion(run_id.job, run_id.fire_at, JobStatus.COMPLETED, now) for run_id in in_ranges],
        )


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
    swapped = world.store.jobs.swap([Swap(writing.job, after) for writing, after in changing], now)
    for (writing, _), outcome in zip(changing, swapped, strict=True):
        if outcome.done and outcome.row is not None:
            writing.job = evolve(outcome.row, work=writing.job.work)
        else:
            writing.whole = False  # another scan is at it, or a user; the next scan reads what they made of it
            writing.plan = Plan()


def _insert(world: World, writings: Sequence[_Writing], now: int) -> None:
    """Insert the runs of all plans: of each plan one after the other, for it may be an old one.

    Then a range of its instants may have been skipped since, or is being skipped just now. The row of a range refuses
    the run of its first instant; what it covers is left out. A batch would write runs behind that row.
    """
    for turn in range(max((len(writing.plan.starts) for writing in writings), default=0)):
        due = [writing for writing in writings if turn < len(writing.plan.starts)]
        open_for_it = [writing for writing in due if writing.plan.starts[turn].fire_at > writing.covered_to]
        if open_for_it:
            _insert_one_each(world, open_for_it, turn, now)


def _insert_one_each(world: World, writings: Sequence[_Writing], turn: int, now: int) -> None:
    """Insert a run of each plan; where one stands already and is queued, it is sent: the claim decides.

    Where one is over already, it may have ended before its job knew that it was the final one.
    """
    horizon_at = now + world.rules.lookahead_ms
    planned = [(writing, queued_run(writing.job, writing.plan.starts[turn], now, horizon_at)) for writing in writings]
    standing = world.store.runs.insert([run for _, run in planned], now)
    rows = _renewed(world, planned, standing, now)
    for (writing, _), row in zip(planned, rows, strict=True):
        if row is None:
            writing.whole = False
            continue
        writing.covered_to = row.last_fire_at or row.id.fire_at
        writing.met_older = writing.met_older or (row.stamp < writing.job.schedule_version and not row.is_terminal)
        if row.state is RunState.QUEUED and row.due_at is None:
            writing.to_send += (row,)
    over = [
        (found, writing.job)
        for (writing, _), found in zip(planned, standing, strict=True)
        if found is not None and found.is_terminal
    ]
    follow_up(world, over)


def _renewed(
    world: World, planned: Sequence[tuple[_Writing, Run]], standing: Sequence[Run | None], now: int
) -> list[Run | None]:
    """Return each planned run as it stands; None for one that changes just now.

    One that a slow pause withdrew is queued again; one with an older stamp gets the present one, so that whoever acts
    for an older schedule version can no longer withdraw or supersede it.
    """
    swaps: dict[int, Swap[Run]] = {}
    for position, ((writing, run), found) in enumerate(zip(planned, standing, strict=True)):
        stamp = writing.job.schedule_version
        if found is not None and found.state is RunState.WITHDRAWN:
            swaps[position] = Swap(found, put_off(found, run.not_before, run.due_at, stamp))
        elif found is not None and found.state is RunState.QUEUED and found.is_unstarted and found.stamp < stamp:
            swaps[position] = Swap(found, put_off(found, found.not_before, found.due_at, stamp))
    rows: list[Run | None] = [found or run for (_, run), found in zip(planned, standing, strict=True)]
    if swaps:
        for position, swapped in zip(swaps, world.store.runs.swap(list(swaps.values()), now), strict=True):
            rows[position] = swapped.row if swapped.done else None
    return rows


def _record_skips(world: World, writings: Sequence[_Writing], now: int) -> None:
    for writing in writings:
        if writing.plan.skip is None:
            continue
        standing = record_skip(world, writing.job, writing.plan.skip, now)
        if standing is None or not _skip_withdrawn(world, writing.job, standing, writing.plan.skip.reason, now):
            writing.whole = False
            continue
        writing.to_send += tuple(row for row in standing if row.state is RunState.QUEUED and row.due_at is None)


def _skip_withdrawn(world: World, job: Job, standing: Sequence[Run], reason: Reason, now: int) -> bool:
    swaps = [
        Swap(row, ended(row, RunState.SKIPPED, now, reason)) for row in standing if row.state is RunState.WITHDRAWN
    ]
    swapped = world.store.runs.swap(swaps, now) if swaps else []
    for swap, outcome in zip(swaps, swapped, strict=True):
        if outcome.done:
            skipped(world, job.key, reason, 1, swap.before.id.fire_at)
    return all(outcome.done for outcome in swapped)


def record_skip(world: World, job: Job, skip: SkippedRange, now: int) -> list[Run] | None:
    """Write a skipped range around the rows that stand in it; return those, or None if rows kept appearing.

    Whoever holds an older plan is refused by the range's first row, and leaves the rest of its plan out.
    """
    for _ in range(_TRIES):
        standing = world.store.runs.between(job.key, skip.first_at, skip.last_at)
        missing = skipped_range(job, skip.first_at, skip.last_at, skip.reason, standing, now)
        inserted = world.store.runs.insert(missing, now) if missing else []
        count = sum(row.count for row, found in zip(missing, inserted, strict=True) if found is None)
        if count:
            skipped(world, job.key, skip.reason, count, skip.first_at)
        if all(found is None for found in inserted):
            return standing
    return None


def _send(world: World, writings: Sequence[_Writing], now: int) -> None:
    sending = [(writing, run) for writing in writings for run in writing.to_send]
    if not sending:
        return
    sent = send(world, [Dispatch(run.id, run.priority, run.not_before) for _, run in sending], now)
    for (writing, _), done in zip(sending, sent, strict=True):
        writing.whole = writing.whole and done


def _advance(world: World, writings: Sequence[_Writing], now: int) -> None:
    complete = [writing for writing in writings if writing.whole]
    if not complete:
        return
    after = [
        advanced(writing.job, writing.plan.next_fire_at, len(writing.plan.starts), now, met_older=writing.met_older)
        for writing in complete
    ]
    swaps = [Swap(writing.job, job) for writing, job in zip(complete, after, strict=True)]
    for writing, outcome in zip(complete, world.store.jobs.swap(swaps, now), strict=True):
        writing.whole = outcome.done
        if outcome.done and outcome.row is not None:
            writing.job = evolve(outcome.row, work=writing.job.work)


def _report(writing: _Writing) -> Dispatched:
    skipped = writing.plan.skip.count if writing.plan.skip else 0
    return Dispatched(
        writing.job, len(writing.to_send), skipped, writing.whole, more=writing.whole and writing.plan.more
    )
