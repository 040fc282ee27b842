"""The gates that a run passes before its claim, as one ordered list: each may keep the run from starting.

A run enters only the gates whose feature it or its job has; any other gate costs it a look at its fields. A gate
decides about all runs of a claim at once. A run's row or its decision names the lock and the slots that the run has
taken on its way. Whichever gate refuses the run, the claim gives back in one place what the run no longer needs.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from timeball.domain.attempts.claim import ClaimAction, Decision, after_lock
from timeball.domain.changes.reach import needs_note, noted
from timeball.domain.dependencies.passing import PassedParent, handed
from timeball.domain.dependencies.trigger_rule import ParentRows, run_state_of
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey, Origin
from timeball.domain.model.jobs.job import Job, JobStatus, with_spec
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.runs.transitions import ended
from timeball.domain.model.runs.values import Guarantor
from timeball.domain.planning.collecting import is_replaceable, is_replaced_by
from timeball.domain.planning.waiting_events import needs_event
from timeball.domain.run_ends.effects import guarantor_of
from timeball.domain.sharing.overlap import LockStep
from timeball.engine.compare_and_swap import change_all
from timeball.engine.context import Context
from timeball.engine.dependencies.evaluate import parents_of_runs
from timeball.engine.events.waiting import take_events
from timeball.engine.execution.circuits import check_circuits
from timeball.engine.execution.limits_gate import pass_limiters
from timeball.engine.runs.attempts import answer_of
from timeball.engine.runs.effects import change_runs
from timeball.engine.runs.overlap_lock import acquire_locks, needs_lock
from timeball.ports.collections import LedgerQuery
from timeball.ports.errors import ContendedError, UnavailableError
from timeball.ports.rows import Swap

log = logging.getLogger(__name__)

Starting = Sequence[tuple[Run, Job]]
"""Runs that would be claimed now, each with its job."""

Decisions = Sequence[Decision | None]
"""The decision about each of these runs; None: the run passes as it is."""

_MOST: Final = 20
"""How many of the newest runs are read. If more runs of a backfill, which replace none, are among them, a run starts
that need not."""

_NEWEST: Final = 20
"""How many of the newest runs with a result are read, of a parent outside a named cycle: some may be items."""

_RUNS: Final = frozenset(RunState) - {RunState.SKIPPED, RunState.CANCELLED}


@dataclass(frozen=True)
class Gate:
    """What may keep a run from starting."""

    applies: Callable[[Run, Job], bool]
    """Whether a run enters the gate: a check of its fields and its job's, without a request."""
    decide: Callable[[Context, Starting, int], Decisions]
    """Decides about the runs that enter it, now. May take something for a run. Raises UnavailableError."""


def may_be_replaced(run: Run, job: Job) -> bool:
    """Return whether newer runs of its job replace the run until it starts."""
    return is_replaceable(run, job.spec)


def _skip_replaced(context: Context, starting: Starting, _: int) -> Decisions:
    """Skip each run that a newer run of its job replaces.

    A waiting run is not searched for when a newer one comes: it finds that itself before it would start. But a run in a
    line is, when a newer one joins that line (`replace_older`): otherwise each would be admitted only to find that.
    """
    replaced = Decision(ClaimAction.END, RunState.SKIPPED, Reason.REPLACED)
    return [replaced if _is_replaced(context, run) else None for run, _ in starting]


def _is_replaced(context: Context, run: Run) -> bool:
    at = max(context.clock.now(), run.not_before)
    query = LedgerQuery(run.id.job, _MOST, from_at=run.id.fire_at, to_at=at, states=_RUNS)
    return any(is_replaced_by(run, other, at) for other in context.store.runs.ledger(query).runs)


def takes_answers(_: Run, job: Job) -> bool:
    """Return whether the run's call takes the results of its parents."""
    return job.spec.pass_parents


def _pass_parents(context: Context, starting: Starting, _: int) -> Decisions:
    """Give each run the payload that includes its parents' answers; it fails for good if these are too large."""
    parents = parents_of_runs(context, starting)
    return [_handed(context, job, parents[run.id]) for run, job in starting]


def _handed(context: Context, job: Job, parents: Sequence[ParentRows]) -> Decision:
    work = job.spec.work
    if work is None:
        return Decision(ClaimAction.CLAIM)  # the payload that the run was given is gone: its call reports that
    named = zip(job.spec.depends_on, parents, strict=True)
    payload = handed(work.payload, [_passed(context, one.name or one.job_id, rows) for one, rows in named])
    if payload is None:
        return Decision(ClaimAction.END, RunState.FAILED, Reason.PARENTS_TOO_LARGE)
    return Decision(ClaimAction.CLAIM, job=with_spec(job, work=evolve(work, payload=payload)))


def _newest_result(context: Context, parent: Job | None) -> Run | None:
    """Return the newest run that has succeeded or failed of a parent outside a named cycle."""
    if parent is None:
        return None
    query = LedgerQuery(parent.key, _NEWEST, states=frozenset({RunState.SUCCEEDED, RunState.FAILED}))
    return next((row for row in context.store.runs.ledger(query).runs if row.id.origin is not Origin.DEPENDENCY), None)


def _passed(context: Context, name: str, parent: ParentRows) -> PassedParent:
    run = _newest_result(context, parent.job) if parent.is_outside else parent.run
    if run is None:
        if parent.kept is not None:
            return PassedParent(name, run_state_of(parent.kept.state).value)
        is_cancelled = parent.job is not None and parent.job.status is JobStatus.CANCELLED
        return PassedParent(name, RunState.CANCELLED.value if is_cancelled else None)
    if run.last_fire_at is not None:
        return PassedParent(name, run.state.value)
    return PassedParent(name, run.state.value, run.id, answer_of(context, run))


def _take_locks(context: Context, starting: Starting, now: int) -> Decisions:
    """Take the lock for each run. If a lock cannot be read, its run waits."""
    try:
        steps = acquire_locks(context, starting, now)
    except UnavailableError as unavailable:
        log.warning("overlap locks not taken: %s", unavailable)
        steps = [LockStep.WAIT] * len(starting)
    again_at = now + context.rules.margin_ms
    return [
        after_lock(step, run, job, run.not_before if run.not_before > now else again_at)
        for step, (run, job) in zip(steps, starting, strict=True)
    ]


def calls_target(_: Run, job: Job) -> bool:
    """Return whether the run calls a target: its resource may have failed lately."""
    return job.spec.work is not None


def any_run(_: Run, __: Job) -> bool:
    """Return True: whether its tenant has quotas is in memory, but not in the fields of a run."""
    return True


def may_start_late(run: Run, job: Job) -> bool:
    """Return whether the run may start so late that no change of its job would search for it.

    A change finds a run that its backfill's row names. A retry may outlive that row.
    """
    is_named = run.id.origin is Origin.BACKFILL and run.budget_at is None
    return not is_named and not job.spec.schedule.is_one_off


def note_late_starts(context: Context, starting: Starting, now: int) -> Decisions:
    """Note on each job the earliest of its runs that start days after they were due: its changes search that far back.

    The executors were down for long, or a person retries the run. Before its claim the run need not be found, because
    the claim reads the job, and reads it once more here. So a cancel either came before, and is obeyed, or finds the
    note. Raises UnavailableError: then no run of this claim may be claimed.
    """
    earliest: dict[JobKey, int] = {}
    for run, job in starting:
        if needs_note(job, run.id.fire_at, now, context.rules.misfire_ms):
            earliest[job.key] = min(run.id.fire_at, earliest.get(job.key, run.id.fire_at))

    def change(_: int, job: Job) -> Job | None:
        if job.status is JobStatus.CANCELLED:
            raise ContendedError(f"job {job.key.job_id} was cancelled meanwhile")
        fire_at = earliest[job.key]
        return noted(job, fire_at, now) if needs_note(job, fire_at, now, context.rules.misfire_ms) else None

    jobs = context.store.jobs.read(list(earliest)) if earliest else []
    change_all(context.store.jobs.swap, jobs, change, now, "a job whose run starts late")
    return [None] * len(starting)


GATES = (
    Gate(may_be_replaced, _skip_replaced),  # first: a run that is skipped need not take anything
    Gate(needs_event, take_events),  # a run without an event must disturb no earlier run that holds the lock
    Gate(takes_answers, _pass_parents),  # this may fail the run for good, so before it takes anything
    Gate(needs_lock, _take_locks),  # before all waits for a time or a slot, so that runs of a job stay in order
    Gate(calls_target, check_circuits),  # before the limiters: a run that waits for its resource keeps no slot
    Gate(any_run, pass_limiters),  # the last one that defers a run: a rate token is lost if a run does not start
    Gate(may_start_late, note_late_starts),  # only runs that will be claimed are noted
)
"""The gates, in the order in which each run passes them. All runs take locks and slots in this one order: no two runs
wait for each other (limiter.py)."""


def replace_older(context: Context, claims: Sequence[tuple[Run, Job]]) -> None:
    """Skip runs in lines that are replaced by runs which have just joined a line. Other runs cost nothing.

    If this fails, the replaced runs find it out when they are admitted.
    """
    try:
        for run, job in claims:
            if run.stands_in_line and is_replaceable(run, job.spec):
                _replace_older(context, run, job)
    except UnavailableError as unavailable:
        log.warning("replaced runs are left until they are admitted: %s", unavailable)


def _replace_older(context: Context, run: Run, job: Job) -> None:
    now = context.clock.now()
    newest = context.store.runs.ledger(LedgerQuery(run.id.job, _MOST, to_at=run.id.fire_at)).runs
    waiting = [one for one in newest if one.stands_in_line and is_replaceable(one, job.spec)]
    older = [one for one in waiting if is_replaced_by(one, run, max(now, run.not_before))]
    guarantor = guarantor_of(run, job, Guarantor.SCAN)
    swaps = [Swap(one, ended(one, RunState.SKIPPED, now, guarantor, Reason.REPLACED)) for one in older]
    if swaps:
        change_runs(context, {one.id: job for one in older}, swaps, now)
