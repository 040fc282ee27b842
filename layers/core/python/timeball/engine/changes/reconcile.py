"""Reconcile runs with their job after a user's change. It works from the rows alone, and any process may repeat it.

First the next fire of the old plan gets its row, so that a late insert by that plan is refused. Then the live runs end,
are asked to stop, are withdrawn or are released. Then the intent is dropped. If there is too much for one call, the
intent records where the next call continues.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from timeball.domain.changes.change import Alignment, alignment_of, may_never_begin
from timeball.domain.changes.reach import earliest_live
from timeball.domain.dependencies.evaluation import keeping_ends
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import Origin, RunId
from timeball.domain.model.jobs.job import Job, JobStatus, Verb, with_spec
from timeball.domain.model.jobs.job_states import settled
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import LIVE, Run, RunState
from timeball.domain.model.runs.transitions import asked_to_stop, ended, put_off, superseded, withdrawn
from timeball.domain.model.runs.values import Guarantor
from timeball.domain.planning.blackouts import blackouts_of
from timeball.domain.planning.planner import may_start_at
from timeball.domain.run_ends.effects import guarantor_of
from timeball.domain.time.schedule import is_occurrence
from timeball.engine.backfills import cancel_backfill
from timeball.engine.changes.close import close
from timeball.engine.changes.skip import skip_fire
from timeball.engine.compare_and_swap import change_all, compare_and_swap
from timeball.engine.context import Context
from timeball.engine.dependencies.evaluate import ends_for_paused
from timeball.engine.resolving import resolved
from timeball.engine.runs.due_runs import resend
from timeball.engine.runs.effects import apply_effects, change_runs
from timeball.ports.collections import LedgerQuery
from timeball.ports.errors import UnavailableError
from timeball.ports.rows import Swap, Swapped

log = logging.getLogger(__name__)
_BACKFILLS = 100
"""How many of a job's backfills are read at once."""
_RUNS = 1_000
"""How many live runs are reconciled at once."""
_CALL_MS = 2_000
"""How long one call begins to read more of its job's runs, or to stop more of its backfills."""


class UnfinishedError(UnavailableError):
    """One call may not finish all that is left. The finished part is kept, and the next call continues from there."""


@dataclass(frozen=True)
class Reconciled:
    """The job without its intent, and the runs that were claimed before the change could reach them."""

    job: Job
    claimed: tuple[RunId, ...]


def reconcile(context: Context, job: Job) -> Reconciled:
    """Reconcile the runs of a job. A job without an intent is reconciled already. A repeat does no harm.

    Raises UnfinishedError if there is more to do than one call may, UnavailableError if it cannot be done at the
    moment.

    Order of writes of reconcile (the runs of a changed job):

    1. Cancel and reschedule: *close* the old plan: its next fire gets a row, and fires that were due before the change
       and never written become ranges.
    2. Cancel: waiting runs end, running ones are asked to stop; reschedule: runs of older plans whose fires the new
       schedule lacks are superseded; pause: queued runs are withdrawn; resume: withdrawn runs are queued again, with a
       due key; skip: the fire that the intent names gets a skipped row, and only then, if it was the job's next fire,
       the job advances past it.

    Safe: any process can do it, from the rows alone; a plan from before the change is refused by step 1, and stops.
    """
    now = context.clock.now()
    intent = job.intent
    if intent is not None and intent.verb is Verb.SKIP:
        return Reconciled(with_spec(skip_fire(context, job, intent, now), work=job.spec.work), ())
    if intent is not None and intent.verb in (Verb.CANCEL, Verb.RESCHEDULE):
        following_at = close(context, job, intent, now)
        if following_at is not None:
            _leave(context, job, now, next_fire_at=following_at)
    claimed = _align(context, job, now)
    if job.status is JobStatus.CANCELLED:
        claimed += _stop_backfills(context, job, now)
    settled_job = job if intent is None else _without_intent(context, job, now)
    return Reconciled(settled_job, tuple(dict.fromkeys(claimed)))


def _without_intent(context: Context, job: Job, now: int) -> Job:
    """Drop a reconciled intent, even if other parts of the row change meanwhile: its lock, or its final status."""
    ends = ends_for_paused(context, [job], now)

    def dropped(_: int, row: Job) -> Job | None:
        if row.intent is None or row.version != job.version:
            return None
        return keeping_ends(settled(row), ends[job.key]) if job.key in ends else settled(row)

    (swapped,) = compare_and_swap(context.store.jobs.swap, [job], dropped, now)
    if swapped.row is None:
        return settled(job)
    if swapped.row.intent is not None:
        raise UnavailableError(f"job {job.key.job_id} kept changing")
    return with_spec(swapped.row, work=job.spec.work)


def _leave(context: Context, job: Job, now: int, **progress: Any) -> None:  # noqa: ANN401 - as `evolve`
    """Record on the intent how far this call has come, and leave the rest to the next call. Raises UnfinishedError.

    Without an intent no process has to continue the work, and there is no row to record progress on.
    """
    if job.intent is None:
        return
    kept = context.store.jobs.swap([Swap(job, evolve(job, intent=evolve(job.intent, **progress)))], now)[0]
    if not kept.done:
        raise UnavailableError(f"job {job.key.job_id} has more to reconcile, and changed meanwhile")
    raise UnfinishedError(f"job {job.key.job_id} has more to reconcile")


def _stop_backfills(context: Context, job: Job, now: int) -> tuple[RunId, ...]:
    """Stop the backfills of a cancelled job, in the order of their names. Return their runs that are under way."""
    stop_at = context.clock.now() + _CALL_MS
    after = job.intent.stopped_through if job.intent else ""
    stopped: tuple[RunId, ...] = ()
    while backfills := context.store.backfills.of_owner(job.key, after, _BACKFILLS):
        for backfill in backfills:
            if context.clock.now() >= stop_at:
                _leave(context, job, now, stopped_through=after)
                return stopped
            stopped += cancel_backfill(context, backfill)[1]
            after = backfill.key.name
    return stopped


def _align(context: Context, job: Job, now: int) -> list[RunId]:
    """Reconcile the live runs, the latest first: withdraw runs that are about to start before runs that are long past.

    Return the runs that are under way and should not be.
    """
    stop_at = context.clock.now() + _CALL_MS
    claimed = _align_named(context, job, now)
    reach_at = earliest_live(resolved(context, [job])[0], now, context.rules.misfire_ms)
    searched_to = job.intent.searched_to if job.intent else None
    while True:
        page = context.store.runs.ledger(LedgerQuery(job.key, _RUNS, reach_at, states=LIVE, before=searched_to))
        claimed += _align_runs(context, job, page.runs, now)
        searched_to = page.next_before
        if searched_to is None:
            return claimed
        if context.clock.now() >= stop_at:
            _leave(context, job, now, searched_to=searched_to)
            return claimed


def _align_named(context: Context, job: Job, now: int) -> list[RunId]:
    """Reconcile the job's last run, and the runs that the lock names, which may be older than all others.

    The effects of their ends are carried out first, because a call that was cut off may not have done so.
    """
    named = list(dict.fromkeys(run for run in (job.holder, job.next_holder, _last_run(job)) if run is not None))
    rows = [row for row in (context.store.runs.read(named) if named else []) if row is not None]
    apply_effects(context, [(row, job) for row in rows])
    return _align_runs(context, job, rows, now)


def _last_run(job: Job) -> RunId | None:
    """Return the run whose end concludes a job without a next fire. The job was due for it, and may no longer be."""
    if job.next_fire_at is not None or job.final_fire_at is None:
        return None
    return job.run_id(job.final_fire_at)


def _align_runs(context: Context, job: Job, runs: Sequence[Run], now: int) -> list[RunId]:
    """Reconcile runs; return the runs that are under way and should not be."""

    def aligned(_: int, run: Run) -> Run | None:
        return None if run.is_terminal else _aligned(job, run, now, context.rules.misfire_ms)

    def swap(swaps: Sequence[Swap[Run]], now: int) -> list[Swapped[Run]]:
        swapped = change_runs(context, {swap.before.id: job for swap in swaps}, swaps, now)
        changed = [one.row for one in swapped if one.done and one.row is not None]
        if released := [run for run in changed if run.state is RunState.QUEUED]:
            resend(context, released)
        return swapped

    rows = change_all(swap, runs, aligned, now, f"a run of job {job.key.job_id}")
    return [row.id for row in rows if row.state is RunState.RUNNING and _has_lost_its_reason(job, row)]


def _aligned(job: Job, run: Run, now: int, misfire_ms: int) -> Run | None:
    """Return the new state of a live run, or None if it may stay as it is."""
    guarantor = guarantor_of(run, job, Guarantor.OWNER)
    reason = Reason.JOB_CANCELLED if job.owns(run.id) else Reason.EARLIER_GENERATION
    match alignment_of(run, job):
        case Alignment.END:
            return ended(run, RunState.CANCELLED, now, guarantor, reason)
        case Alignment.STOP:
            return asked_to_stop(run, reason)
        case Alignment.SUPERSEDE:
            return superseded(run, job.schedule_version, now, guarantor)
        case Alignment.WITHDRAW:
            return withdrawn(run)
        case Alignment.RELEASE:
            return _let_go(job, run, now, misfire_ms)
        case Alignment.KEEP:
            return None


def _let_go(job: Job, run: Run, now: int, misfire_ms: int) -> Run:
    """Return a run to send again: a pause withdrew it, or its plan may have died before the send.

    Fires that the pause made late are caught up from now on, however late the executors are. The claim skips missed
    fires. The run stays in the due index until it is sent, like every run that a plan did not insert.
    """
    start_at: int | None = None
    if run.state is RunState.WITHDRAWN and run.id not in (job.holder, job.next_holder):
        start_at = may_start_at(job, run, now, misfire_ms, blackouts_of(job, None, ()))
    not_before = run.not_before if start_at is None else start_at
    due_at = max(not_before, now) if run.due_at is None else run.due_at
    let_go = put_off(run, not_before, due_at, job.schedule_version)
    # Its parents may be newer than its plan.
    return evolve(let_go, joined=bool(job.spec.depends_on), waits=job.spec.runs_wait, fan=None)


def _has_lost_its_reason(job: Job, run: Run) -> bool:
    """Return whether a running run would not have started under the job as it is now."""
    if may_never_begin(run, job):
        return True
    if run.id.origin is not Origin.SCHEDULE:
        return False
    return job.status is JobStatus.PAUSED or not is_occurrence(job.spec.schedule, run.id.fire_at)
