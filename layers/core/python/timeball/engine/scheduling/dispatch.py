"""Dispatch jobs that are due: plan, insert, send, advance; in that order, so that a repeat changes nothing.

Each plan writes one row, at its job's next fire; the row that stands there decides. Nothing here is exclusive: any
number of scans may dispatch the same job at once, and whoever repeats a dispatch, at whatever later time, ends in the
same rows and in at least one message for each queued run.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.model.job import Job, JobStatus, advanced, looked_at, pushed_back, replanned, with_spec
from timeball.domain.model.run import Run, RunState
from timeball.domain.policy.effects import Conclusion, concludes
from timeball.domain.policy.ledger import met, planned_row
from timeball.domain.policy.planner import Plan, SkippedRange, Start, Wait, plan
from timeball.domain.time.instants import SECOND_MS
from timeball.engine.context import Context
from timeball.engine.metrics import skipped
from timeball.engine.runs.on_run_end import conclude, on_run_end
from timeball.engine.runs.send import send
from timeball.ports.rows import Swap

log = logging.getLogger(__name__)

_MAX_PUSH_BACK_SECONDS = 3600


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
    """A job and the row of its next fire: as planned, then as it stands; None if it is not ours to go on behind.

    `is_older`: a row of an older schedule stood there. `skipped`: fires that are skipped by this plan.
    """

    job: Job
    row: Run | None
    is_older: bool = False
    skipped: int = 0
    is_sent: bool = False
    has_moved: bool = False


def dispatch(context: Context, jobs: Sequence[Job], read_at: int) -> list[Dispatched]:
    """Write the row of each job's next fire, and send it if it is a run. The jobs are pending, and have no intent.

    They were read at `read_at` or later: a plan reaches no further than the look-ahead from then, for so far a change
    of the job refuses the inserts of older plans. Raises UnavailableError where the store's answer is unknown; all that
    was begun may be begun again.
    """
    horizon_at = read_at + context.rules.lookahead_ms
    plans = [_planned(context, job, read_at) for job in jobs]
    planned = list(zip(jobs, plans, strict=True))
    moved = _look_again(context, [(job, one.until) for job, one in planned if isinstance(one, Wait)], read_at)
    writings = _insert(context, [(job, one) for job, one in planned if isinstance(one, Start | SkippedRange)], read_at)
    _send(context, writings, read_at)
    _advance(context, writings, read_at)
    reports = {writing.job.key: _report(writing, horizon_at) for writing in writings}
    return [reports.get(job.key) or Dispatched(job, progressed=job.key in moved) for job in jobs]


def push_back(context: Context, job: Job) -> None:
    """Let a job that cannot be worked on be looked at again later, ever more seldom, so that it stops no other."""
    now = context.clock.now()
    delay = min(2**job.plan_failures, _MAX_PUSH_BACK_SECONDS) * SECOND_MS
    context.store.jobs.swap([Swap(job, pushed_back(job, now + delay))], now)


def _planned(context: Context, job: Job, now: int) -> Plan | None:
    try:
        return plan(job, now, now + context.rules.lookahead_ms, context.rules.misfire_ms)
    except Exception:
        log.exception("job cannot be planned", extra={"job_id": job.key.job_id, "failures": job.plan_failures + 1})
        push_back(context, job)
        return None


def _look_again(context: Context, waiting: Sequence[tuple[Job, int | None]], now: int) -> set[JobKey]:
    """End jobs whose ledger is written to its end, if their final run is over; return those that moved at all.

    The others stay due: at their next fire, or, at their ledger's end, for another look.
    """
    finals = {
        RunId(job.key, job.final_fire_at, Origin.SCHEDULE): job
        for job, _ in waiting
        if job.next_fire_at is None and job.final_fire_at is not None
    }
    rows = dict(zip(finals, context.store.runs.read(list(finals)), strict=True)) if finals else {}
    over = [(row, finals[name]) for name, row in rows.items() if row is not None and concludes(row, finals[name])]
    on_run_end(context, over)
    in_ranges = [name for name, row in rows.items() if row is None and not finals[name].spec.schedule.is_one_off]
    if in_ranges:
        conclude(context, [Conclusion(name.job, name.fire_at, JobStatus.COMPLETED, now) for name in in_ranges])
    ended = {*(job.key for _, job in over), *(name.job for name in in_ranges)}
    swaps = [
        Swap(job, replanned(job, until) if job.next_fire_at is not None else looked_at(job, now))
        for job, until in waiting
        if job.key not in ended
    ]
    swapped = context.store.jobs.swap(swaps, now) if swaps else []
    return ended | {swap.before.key for swap, outcome in zip(swaps, swapped, strict=True) if outcome.done}


def _insert(context: Context, planned: Sequence[tuple[Job, Start | SkippedRange]], now: int) -> list[_Writing]:
    """Insert the row of each plan; where one stands already, that one decides, and the plan about it where it may."""
    rows = [_row(context, job, one, now) for job, one in planned]
    inserted = context.store.runs.insert(rows, now) if rows else []
    writings: list[_Writing] = []
    changing: list[tuple[_Writing, Swap[Run]]] = []
    for (job, _), row, standing in zip(planned, rows, inserted, strict=True):
        if standing is None:
            writings.append(_Writing(job, row, skipped=0 if row.last_fire_at is None else row.count))
            continue
        is_older = standing.stamp < job.schedule_version
        writing = _Writing(job, standing, is_older)
        writings.append(writing)
        after = met(standing, row, now)
        if after.is_superseded:
            writing.row = None  # by a version of the job that is newer than this reading of it
        elif after != standing:
            changing.append((writing, Swap(standing, after)))
    swapped = context.store.runs.swap([swap for _, swap in changing], now) if changing else []
    for (writing, _), outcome in zip(changing, swapped, strict=True):
        writing.row = outcome.row if outcome.done else None
        writing.skipped = int(writing.row is not None and writing.row.is_terminal)
    for writing in writings:
        if writing.skipped and writing.row is not None and writing.row.reason is not None:
            skipped(context, writing.job.key, writing.row.reason, writing.skipped, writing.row.id.fire_at)
    return writings


def _row(context: Context, job: Job, planned: Start | SkippedRange, now: int) -> Run:
    """Return the row of a plan: a range ends before the next row that stands, whichever schedule wrote that."""
    if isinstance(planned, SkippedRange) and planned.last_at > planned.fire_at:
        ahead = context.store.runs.between(job.key, planned.fire_at + 1, planned.last_at)
        if ahead:
            planned = evolve(planned, last_at=ahead[0].id.fire_at - 1)
    return planned_row(job, planned, now, now + context.rules.lookahead_ms)


def _send(context: Context, writings: Sequence[_Writing], now: int) -> None:
    """Send the run of each row that waits without a due key, also one that stood there already: the claim decides."""
    sending = [
        (writing, row)
        for writing in writings
        if (row := writing.row) is not None and row.state is RunState.QUEUED and row.due_at is None
    ]
    sent = send(context, [row for _, row in sending], now) if sending else []
    for (writing, _), is_sent in zip(sending, sent, strict=True):
        writing.is_sent = is_sent
        if not is_sent:
            writing.row = None


def _advance(context: Context, writings: Sequence[_Writing], now: int) -> None:
    """Move each job on behind the row of its next fire; one whose final run is over has ended."""
    swaps = [
        (writing, Swap(writing.job, advanced(writing.job, writing.row, now, is_older=writing.is_older)))
        for writing in writings
        if writing.row is not None
    ]
    swapped = context.store.jobs.swap([swap for _, swap in swaps], now) if swaps else []
    for (writing, _), outcome in zip(swaps, swapped, strict=True):
        if outcome.done and outcome.row is not None:
            writing.job, writing.has_moved = with_spec(outcome.row, work=writing.job.spec.work), True
    on_run_end(context, [(one.row, one.job) for one in writings if one.has_moved and one.row is not None])


def _report(writing: _Writing, horizon_at: int) -> Dispatched:
    next_at = writing.job.next_fire_at
    more = writing.has_moved and next_at is not None and next_at <= horizon_at
    return Dispatched(writing.job, int(writing.is_sent), writing.skipped, writing.has_moved, more)
