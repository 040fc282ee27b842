"""Dispatch due jobs: plan, insert, send, advance. This order makes a repeat harmless.

Each plan writes one row, at its job's next fire. If a row stands there already, that row decides. Nothing here is
exclusive: any number of scans may dispatch the same job at once. A repeat at any later time ends in the same rows and
in at least one message for each queued run.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import RunId
from timeball.domain.model.jobs.job import Job, JobStatus, advanced, rechecked_later, with_spec
from timeball.domain.model.jobs.job_states import concluded, held_back, pushed_back, replanned
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.planning.blackouts import Blackouts
from timeball.domain.planning.ledger import met, planned_row
from timeball.domain.planning.planner import Hold, Plan, SkippedRange, Start, Wait, plan
from timeball.domain.run_ends.effects import concludes, final_status
from timeball.domain.time.instants import SECOND_MS
from timeball.engine.blackouts.read import read_blackouts
from timeball.engine.context import Context
from timeball.engine.dependencies.evaluate import evaluate_jobs
from timeball.engine.metrics import missed, skipped
from timeball.engine.notices import post_ahead, sort_out
from timeball.engine.resolving import resolved_for_runs
from timeball.engine.runs.effects import apply_effects
from timeball.engine.runs.send import send
from timeball.engine.scheduling.rewinding import by_present_rules
from timeball.ports.errors import UnavailableError
from timeball.ports.rows import Swap

log = logging.getLogger(__name__)

_MAX_PUSH_BACK_SECONDS = 3600


@dataclass
class Dispatched:
    """A job, and the result of its dispatch."""

    job: Job
    """The job, as this dispatch wrote it."""
    row: Run | None = None
    """The row of its next fire: first as planned, then as it stands. None: the job cannot advance after a row."""
    is_older: bool = False
    """A row of an older schedule stood there."""
    is_held: bool = False
    """A freeze defers the next fire."""
    is_left: bool = False
    """It is unknown whether the job advanced. If it did not, it is still due, and the next scan advances it."""
    sent: int = 0
    """Runs that were sent."""
    skipped: int = 0
    """Fires that this plan skipped."""
    more: bool = False
    """More of the job is due now."""


def dispatch(context: Context, jobs: Sequence[Job], read_at: int) -> list[Dispatched]:
    """Write the row of each job's next fire, and send it if it is a run. The jobs are pending and have no intent.

    The parents of waiting jobs are evaluated first. Only jobs whose parents allow it are planned.

    The jobs were read at `read_at` or later. A plan reaches no further than the look-ahead from `read_at`, because a
    change of the job refuses the inserts of older plans only that far ahead. Raises UnavailableError if the store's
    answer is unknown, except for the last step. A dispatch that failed can be repeated.

    Order of writes of dispatch (one row a job):

    0. Compute the next fire anew, if a former era computed it. Read the blackouts: a frozen job is checked again later,
       and nothing is written.
    1. Insert a row at the job's next fire: a run, or a range that ends before the next row that stands.
    2. If step 1 is refused, the row that stands decides: a plan at least as new as that row's decided version revives a
       superseded or withdrawn run, or makes a skipped range of it.
    3. Send the run, if it is queued without a due key.
    4. Swap the job: its next fire is the first after the row's end; if it is unknown whether a job was advanced, that
       job stays due, and no other job of the batch is repeated for it.

    Safe: a repeat by any process, at any later time, ends in the same rows and at least one message for each queued
    run.
    """
    jobs = by_present_rules(context, jobs)
    wanted, needless = sort_out(context, jobs)
    free = evaluate_jobs(context, wanted)
    dispatched = [Dispatched(_with_work_of(job, free.get(job.key))) for job in jobs]
    planning = [one for one in dispatched if one.job.key in free]
    excluded = read_blackouts(context, [one.job for one in planning])
    plans = [
        (one, _skip_needless(one.job) if one.job.key in needless else _planned(context, one.job, read_at, kept))
        for one, kept in zip(planning, excluded, strict=True)
    ]
    _write(context, plans, read_at)
    rows = [(one.job, one.row, kept) for one, kept in zip(planning, excluded, strict=True) if one.row is not None]
    post_ahead(context, rows)
    _send(context, dispatched, read_at)
    _advance(context, dispatched, read_at)
    return dispatched


def _with_work_of(job: Job, after: Job | None) -> Job:
    return job if after is None else with_spec(after, work=job.spec.work)


def _write(context: Context, plans: Sequence[tuple[Dispatched, Plan | None]], now: int) -> None:
    """Write what each plan says: the job is checked again later, or the row of its next fire is inserted."""
    waiting = [(one.job, planned.until) for one, planned in plans if isinstance(planned, Wait)]
    _recheck_later(context, waiting, now)
    _hold_back(context, [(one, planned.until) for one, planned in plans if isinstance(planned, Hold)], now)
    _insert(context, [(one, planned) for one, planned in plans if isinstance(planned, Start | SkippedRange)], now)


def push_back(context: Context, job: Job) -> None:
    """Defer a job that cannot be planned. The delay doubles with each failure, so that the job stops no other."""
    now = context.clock.now()
    delay = min(2**job.plan_failures, _MAX_PUSH_BACK_SECONDS) * SECOND_MS
    context.store.jobs.swap([Swap(job, pushed_back(job, now + delay))], now)


def _planned(context: Context, job: Job, now: int, excluded: Blackouts) -> Plan | None:
    try:
        return plan(job, now, now + context.rules.lookahead_ms, context.rules.misfire_ms, excluded)
    except Exception:
        log.exception("job cannot be planned", extra={"job_id": job.key.job_id, "failures": job.plan_failures + 1})
        push_back(context, job)
        return None


def _skip_needless(notice: Job) -> Plan:
    """Return the plan of a needless notice: skip it. A notice that is in the queue already is sent all the same."""
    at = notice.next_fire_at or 0
    return SkippedRange(at, at, Reason.IN_TIME)


def _hold_back(context: Context, held: Sequence[tuple[Dispatched, int]], now: int) -> None:
    """Defer jobs whose next fire a freeze blocks. A scan reads jobs that are due within the look-ahead, so add that."""
    for one, _ in held:
        one.is_held = True
    lookahead_ms = context.rules.lookahead_ms
    context.store.jobs.swap([Swap(one.job, held_back(one.job, until + lookahead_ms)) for one, until in held], now)


def _recheck_later(context: Context, waiting: Sequence[tuple[Job, int | None]], now: int) -> None:
    """Conclude jobs whose ledger is complete, if their final run is over.

    The other jobs stay due: at their next fire or, if their ledger is complete, for another check.
    """
    finals = _final_runs([job for job, _ in waiting])
    rows = dict(zip(finals, context.store.runs.read(list(finals)), strict=True))
    over = [(row, finals[name]) for name, row in rows.items() if row is not None and concludes(row, finals[name])]
    apply_effects(context, over)
    ended = {job.key for _, job in over}
    in_ranges = {name.job for name, row in rows.items() if row is None and not finals[name].spec.schedule.is_one_off}
    swaps = [
        Swap(job, _after_wait(job, until, now, is_in_range=job.key in in_ranges))
        for job, until in waiting
        if job.key not in ended
    ]
    if swaps:
        context.store.jobs.swap(swaps, now)


def _final_runs(jobs: Sequence[Job]) -> dict[RunId, Job]:
    """Return the final run of each job whose ledger is complete."""
    complete = [job for job in jobs if job.next_fire_at is None]
    return {job.run_id(at): job for job in complete if (at := job.final_fire_at) is not None}


def _after_wait(job: Job, until: int | None, now: int, *, is_in_range: bool) -> Job:
    if is_in_range:
        return concluded(job, JobStatus.COMPLETED, now)
    return rechecked_later(job, now) if job.next_fire_at is None else replanned(job, until)


def _insert(context: Context, planned: Sequence[tuple[Dispatched, Start | SkippedRange]], now: int) -> None:
    """Insert the row of each plan. If a row stands already, that row decides, and the plan changes it where it may."""
    jobs = resolved_for_runs(context, [one.job for one, _ in planned])
    rows = [_row(context, job, plan, now) for job, (_, plan) in zip(jobs, planned, strict=True)]
    inserted = context.store.runs.insert(rows, now)
    changing: list[tuple[Dispatched, Swap[Run]]] = []
    for (one, _), row, standing in zip(planned, rows, inserted, strict=True):
        if standing is None:
            _note_inserted(context, one, row)
            continue
        one.is_older = standing.decided_at_version < one.job.schedule_version
        after = met(standing, row, now, one.job.rerun_at_version)
        if after.is_superseded:
            continue  # by a version of the job that is newer than this reading of it
        one.row = standing
        if after != standing:
            changing.append((one, Swap(standing, after)))
    swapped = context.store.runs.swap([swap for _, swap in changing], now)
    for (one, _), outcome in zip(changing, swapped, strict=True):
        one.row = outcome.row if outcome.done else None
        one.skipped = int(one.row is not None and one.row.is_terminal)
        _record_skipped(context, one)


def _note_inserted(context: Context, one: Dispatched, row: Run) -> None:
    is_counted = row.last_fire_at is not None and row.reason is not Reason.IN_TIME
    one.row, one.skipped = row, row.count if is_counted else 0
    _record_skipped(context, one)


def _record_skipped(context: Context, one: Dispatched) -> None:
    """Record the fires that a plan has skipped. Only the process whose write skips them does so."""
    if one.row is not None and one.skipped:
        skipped(context, one.row, one.skipped)
        missed(context, one.row, one.job, one.skipped)


def _row(context: Context, job: Job, planned: Start | SkippedRange, now: int) -> Run:
    """Return the row of a plan. A range ends before the next row that stands, whichever schedule wrote that row."""
    if isinstance(planned, SkippedRange) and planned.last_at > planned.fire_at:
        ahead = context.store.runs.between(job.key, planned.fire_at + 1, planned.last_at)
        if ahead:
            planned = evolve(planned, last_at=ahead[0].id.fire_at - 1)
    return planned_row(job, planned, now, now + context.rules.lookahead_ms)


def _send(context: Context, dispatched: Sequence[Dispatched], now: int) -> None:
    """Send each queued run without a due key, also one whose row stood there already: the claim decides."""
    sending = [
        (one, row)
        for one in dispatched
        if (row := one.row) is not None and row.state is RunState.QUEUED and row.due_at is None
    ]
    sent = send(context, [row for _, row in sending], now)
    for (one, _), is_sent in zip(sending, sent, strict=True):
        one.sent = int(is_sent)
        if not is_sent:
            one.row = None


def _behind(one: Dispatched, row: Run, now: int) -> Job:
    """Return a job advanced past the row of its next fire. A one-off whose only fire is skipped ends here."""
    after = advanced(one.job, row, now, is_older=one.is_older)
    is_skipped = row.last_fire_at is not None and after.spec.schedule.is_one_off
    status = final_status(row, after) if is_skipped else None
    return after if status is None else concluded(after, status, now)


def _advance(context: Context, dispatched: Sequence[Dispatched], now: int) -> None:
    """Advance each job past the row of its next fire. Conclude jobs whose final run is over."""
    horizon_at = now + context.rules.lookahead_ms
    moving = [(one, row) for one in dispatched if (row := one.row) is not None]
    swaps = [Swap(one.job, _behind(one, row, now)) for one, row in moving]
    try:
        swapped = context.store.jobs.swap(swaps, now)
    except UnavailableError as unavailable:
        # The runs are sent. A repeat would send all of them again, because of one throttled write.
        log.warning("%d jobs, of which some have not advanced: %s", len(moving), unavailable)
        for one, _ in moving:
            one.is_left = True
        return
    moved: list[tuple[Run, Job]] = []
    for (one, row), outcome in zip(moving, swapped, strict=True):
        if outcome.done and outcome.row is not None:
            one.job = with_spec(outcome.row, work=one.job.spec.work)
            one.more = one.job.next_fire_at is not None and one.job.next_fire_at <= horizon_at
            moved.append((row, one.job))
    apply_effects(context, moved)
