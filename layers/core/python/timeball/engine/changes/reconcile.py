"""Reconcile runs with their job after a user's change. It works from the rows alone; anyone may repeat it.

First the next fire of the old plan gets its row, so that a late insert by it is refused. Then the live runs end, are
asked to stop, are taken back or let go. Then the intent is dropped. What is too much for one call is left to the next:
the intent says where to go on.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

from timeball.domain.model.evolve import evolve
from timeball.domain.model.guarantor import Guarantor
from timeball.domain.model.ids import Origin, RunId
from timeball.domain.model.job import Intent, Job, JobStatus, Searched, Verb, settled, with_spec
from timeball.domain.model.reason import Reason
from timeball.domain.model.run import Run, RunState
from timeball.domain.model.transitions import asked_to_stop, ended, put_off, superseded, withdrawn
from timeball.domain.policy.overlap import holds_nothing
from timeball.domain.policy.planner import may_start_at
from timeball.domain.policy.search_window import Window, earliest_live, first_window, next_window, searched
from timeball.domain.time.schedule import is_occurrence
from timeball.engine.backfills.backfill import cancel_backfill
from timeball.engine.changes.close import close
from timeball.engine.compare_and_swap import compare_and_swap
from timeball.engine.context import Context
from timeball.engine.runs.due_runs import resend
from timeball.engine.runs.on_run_end import change_runs
from timeball.engine.runs.overlap_lock import release
from timeball.ports.errors import UnavailableError
from timeball.ports.rows import Swap, Swapped

log = logging.getLogger(__name__)
_BACKFILLS = 100
"""How many of a job's backfills are read at once."""
_SEARCH_MS = 2_000
"""How long one call begins new windows of its search for live runs."""


class UnfinishedError(UnavailableError):
    """One call may not do all that is left: what was done is kept, and the next call goes on from there."""


@dataclass(frozen=True)
class Reconciled:
    """The job without its intent, and the runs that were claimed before the change could reach them."""

    job: Job
    claimed: tuple[RunId, ...]


def reconcile(context: Context, jobs: Sequence[Job]) -> list[Reconciled]:
    """Reconcile the runs of each job. One without an intent is reconciled already; a repeat does no harm.

    Raises UnfinishedError if there is more to do than one call may, UnavailableError if it cannot be done just now.
    """
    return [_reconcile(context, job) for job in jobs]


def _reconcile(context: Context, job: Job) -> Reconciled:
    now = context.clock.now()
    intent = job.intent
    if intent is not None and intent.verb in (Verb.CANCEL, Verb.RESCHEDULE):
        following_at = close(context, job, intent, now)
        if following_at is not None:
            _leave(context, job, evolve(intent, next_fire_at=following_at), now)
    claimed, earliest = _align(context, job, now)
    if job.status is JobStatus.CANCELLED:
        claimed += _stop_backfills(context, job, now)
    if intent is None:
        return Reconciled(job, claimed)
    return Reconciled(_without_intent(context, job, intent, earliest, now), claimed)


def _without_intent(context: Context, job: Job, intent: Intent, earliest: int | None, now: int) -> Job:
    """Drop an intent that is reconciled, whatever else of the row moves meanwhile: its lock, or its final status."""
    begun_at = now if intent.searched is None else intent.asked_at

    def dropped(_: int, row: Job) -> Job | None:
        if row.intent is None or row.version != job.version or _without_place(row.intent) != _without_place(intent):
            return None
        return searched(settled(row), earliest, begun_at)

    (swapped,) = compare_and_swap(context.store.jobs.swap, [job], dropped, now)
    if swapped.row is None:
        return settled(job)
    if swapped.row.intent is not None:
        raise UnavailableError(f"job {job.key.job_id} kept changing")
    return with_spec(swapped.row, work=job.spec.work)


def _leave(context: Context, job: Job, intent: Intent, now: int) -> NoReturn:
    """Keep on the intent how far this call has come, and leave the rest to the next."""
    kept = context.store.jobs.swap([Swap(job, evolve(job, intent=intent))], now)[0]
    if not kept.done:
        raise UnavailableError(f"job {job.key.job_id} has more to reconcile, and changed meanwhile")
    raise UnfinishedError(f"job {job.key.job_id} has more to reconcile")


def _without_place(intent: Intent) -> Intent:
    """Return an intent as it was asked for, however far it is reconciled."""
    return evolve(intent, searched=None, stopped_through="")


def _stop_backfills(context: Context, job: Job, now: int) -> tuple[RunId, ...]:
    """Stop the backfills of a cancelled job, in the order of their names; the intent keeps how far this has come.

    Without an intent no place can be kept: it ends when its time is up.
    """
    stop_at = context.clock.now() + _SEARCH_MS
    after = job.intent.stopped_through if job.intent else ""
    stopped: tuple[RunId, ...] = ()
    while backfills := context.store.backfills.of_job(job.key, after, _BACKFILLS):
        for backfill in backfills:
            if context.clock.now() >= stop_at:
                if job.intent is None:
                    return stopped
                _leave(context, job, evolve(job.intent, stopped_through=after), now)
            stopped += cancel_backfill(context, backfill)[1]
            after = backfill.key.name
    return stopped


def _align(context: Context, job: Job, now: int) -> tuple[tuple[RunId, ...], int | None]:
    """Bring the live runs in line, the latest first: what is about to start is taken back before what is long past.

    Returns those that are under way and should not be, and the earliest fire time of all that were live. Without an
    intent nothing has to be found, nor can a place be kept: the search ends when its time is up.
    """
    searched_before = job.intent.searched if job.intent else None
    earliest = searched_before.earliest if searched_before else None
    reach_at = earliest_live(job, now, context.rules.misfire_ms)
    window = first_window(searched_before, reach_at, now)
    stop_at = context.clock.now() + _SEARCH_MS
    claimed: list[RunId] = []
    while window is not None:
        begun_at = context.clock.now()
        live = _align_within(context, job, window, reach_at, now)
        claimed += [run.id for run in live if run.state is RunState.RUNNING and _has_lost_its_reason(job, run)]
        earliest = min((run.id.fire_at for run in live), default=earliest)
        ended_at = context.clock.now()
        window = next_window(window, reach_at, ended_at - begun_at)
        if window is None or ended_at < stop_at:
            continue
        if job.intent is None:
            break
        _leave(context, job, evolve(job.intent, searched=Searched(window.through_at + 1, earliest)), now)
    _hand_over(context, job)
    return tuple(claimed), earliest


def _align_within(context: Context, job: Job, window: Window, reach_at: int, now: int) -> list[Run]:
    """Bring the live runs of a window in line, and return them as they then stand."""

    def aligned(_: int, run: Run) -> Run | None:
        return None if run.is_terminal else _aligned(context, job, run, now)

    def swap(swaps: Sequence[Swap[Run]], now: int) -> list[Swapped[Run]]:
        swapped = change_runs(context, {job.key: job}, swaps, now)
        resend(
            context,
            [one.row for one in swapped if one.done and one.row is not None and one.row.state is RunState.QUEUED],
        )
        return swapped

    standing = compare_and_swap(swap, _live(context, job, window, reach_at), aligned, now)
    if not all(one.done for one in standing):
        raise UnavailableError(f"the runs of job {job.key.job_id} kept changing")
    return [one.row for one in standing if one.row is not None]


def _live(context: Context, job: Job, window: Window, reach_at: int) -> list[Run]:
    """Read the live runs of a window; with the last one those that the lock names, which may be older than any."""
    live = context.store.runs.live(job.key, window.from_at, window.through_at)
    if window.from_at > reach_at:
        return live
    named = [run for run in (job.holder, job.parked) if run is not None and run.fire_at < reach_at]
    rows = context.store.runs.read(named)
    return [row for row in rows if row is not None and not row.is_terminal] + live


def _aligned(context: Context, job: Job, run: Run, now: int) -> Run | None:
    """Return what becomes of a live run, or None if it may stay as it is."""
    if job.status is JobStatus.CANCELLED:
        if run.state is not RunState.RUNNING:
            return ended(run, RunState.CANCELLED, now, Guarantor.OWNER, Reason.JOB_CANCELLED)
        return None if run.cancel_requested else asked_to_stop(run, Reason.JOB_CANCELLED)
    if run.id.origin is not Origin.SCHEDULE or not run.is_unstarted:
        return None
    if run.stamp > job.schedule_version:
        return None  # it was let go by a change that came later than this reading of the job
    if not is_occurrence(job.spec.schedule, run.id.fire_at):
        return superseded(run, job.schedule_version, now, Guarantor.OWNER)
    if job.status is JobStatus.PAUSED:
        return withdrawn(run) if run.state is RunState.QUEUED else None
    return _let_go(context, job, run, now)


def _let_go(context: Context, job: Job, run: Run, now: int) -> Run | None:
    """Decide about a run that a pause took back, as about any other that is late; send again one that it left.

    It stands in the due index until it is sent, as every run does that is not inserted by a plan.
    """
    if run.state is RunState.QUEUED:
        if run.stamp >= job.schedule_version:
            return None
        # Its plan may have died before the send.
        due_at = max(run.not_before, now) if run.due_at is None else run.due_at
        return put_off(run, run.not_before, due_at, job.schedule_version)
    start_at: int | None = run.not_before
    if run.id not in (job.holder, job.parked):  # one that waits for an earlier run is not late by our fault
        start_at = may_start_at(job, run.id.fire_at, run.not_before, now, context.rules.misfire_ms)
    if start_at is None:
        return ended(run, RunState.SKIPPED, now, Guarantor.OWNER, Reason.MISFIRED)
    return put_off(run, start_at, max(start_at, now), job.schedule_version)


def _hand_over(context: Context, job: Job) -> None:
    """Take the lock from one that holds nothing any more: a call that was cut off may have told nobody."""
    if job.holder is None or job.status is JobStatus.CANCELLED:
        return
    holder = context.store.runs.read([job.holder])[0]
    if holds_nothing(holder):
        release(context, [job.holder])


def _has_lost_its_reason(job: Job, run: Run) -> bool:
    """Say whether a running run would not have started under the job as it is now."""
    if job.status is JobStatus.CANCELLED:
        return True
    if run.id.origin is not Origin.SCHEDULE:
        return False
    return job.status is JobStatus.PAUSED or not is_occurrence(job.spec.schedule, run.id.fire_at)
