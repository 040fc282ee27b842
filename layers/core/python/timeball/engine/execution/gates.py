"""Decide before a claim whether a run may begin, by the limits of its job and by the quotas of its tenant.

A run without limits costs no request here.

① Read the limiters. ② If a limiter is full, read the runs that have its slots. ③ Swap the limiters: each names the runs
that may begin before their claims are written, and expects any other run in its line. If the process dies after ③, the
run keeps its slot until a check finds that its row no longer needs it. A run that one limiter refuses keeps the slots
that others gave while it waits in that limiter's line; a rate token is lost.

Pass runs that are about to be called the results of their jobs' parents, as they stand now.

A run whose job does not ask for that costs nothing.

Before a claim, find a newer run of the job that replaces this one. Only jobs that ask for it cost a read.

A waiting run is not searched for when a newer one comes: it finds that itself before it would start. But a run in a
line is, when a newer one joins that line: otherwise each would be admitted, one after the other, only to find that.

Note on a job, beforehand, that a run starts days after it was due: changes of the job search that far back.

The executors were down for long, or a person retries the run. Before its claim the run need not be found, because the
claim reads the job, and reads it once more here. So a cancel either came before, and is obeyed, or finds the note.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from timeball.domain.changes.reach import needs_note, noted
from timeball.domain.ends.effects import guarantor_of
from timeball.domain.graphs.passing import PassedParent, handed
from timeball.domain.graphs.trigger_rule import kept_of, run_state_of
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey, LimiterKey, Origin, RunId, fraction_of
from timeball.domain.model.jobs.job import Job, JobStatus, with_spec
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.limiter import Limiter, new_limiter
from timeball.domain.model.runs.run import Run, RunState, Waiting
from timeball.domain.model.runs.transitions import ended
from timeball.domain.model.runs.values import Guarantor
from timeball.domain.model.terms.dependency import Ended
from timeball.domain.planning.collecting import is_replaceable, is_replaced_by
from timeball.domain.sharing.limiter import LimiterDecision, acquire, must_read_holders, without_ended
from timeball.domain.sharing.stated import Ask, asks_of
from timeball.engine.blackouts.read import read_quotas
from timeball.engine.compare_and_swap import compare_and_swap
from timeball.engine.context import Context
from timeball.engine.dependencies.evaluate import range_over
from timeball.engine.runs.attempts import answer_of
from timeball.engine.runs.effects import change_runs
from timeball.engine.runs.limiters import read_named
from timeball.ports.collections import LedgerQuery
from timeball.ports.errors import ContendedError, UnavailableError
from timeball.ports.rows import Swap

log = logging.getLogger(__name__)

_CONTENDED_MS = 800
"""How long, at most, a run waits before it asks again if other processes always wrote the limiter first."""


@dataclass(frozen=True)
class Admitted:
    """The answer to a run: it may begin at `begins_at` (ms), waits in a line, or is skipped. `slots` are its slots.

    With `again_at` the answer is not known yet.
    """

    begins_at: int = 0
    slots: tuple[str, ...] = ()
    waiting: Waiting | None = None
    is_skipped: bool = False
    again_at: int | None = None

    @property
    def may_begin(self) -> bool:
        """Whether the run may begin."""
        return self.waiting is None and not self.is_skipped and self.again_at is None


def pass_limiters(context: Context, starting: Sequence[tuple[Run, Job]], now: int) -> dict[RunId, Admitted]:
    """Return for each run that has limits whether it may begin; it then has its slots and its rate token.

    A run whose answer is unknown asks again. Raises UnavailableError only if the quotas cannot be read.
    """
    quotas = read_quotas(context, list(dict.fromkeys(run.id.job.tenant for run, _ in starting)))
    asks = {run.id: asks_of(job.spec, quotas[run.id.job.tenant]) for run, job in starting}
    runs = {run.id: run for run, _ in starting if asks[run.id]}
    admitted = {name: Admitted(max(now, run.not_before)) for name, run in runs.items()}
    for stage in range(max((len(of_run) for of_run in asks.values()), default=0)):
        asking = [
            (run, asks[name][stage])
            for name, run in runs.items()
            if admitted[name].may_begin and len(asks[name]) > stage
        ]
        try:
            admitted |= _ask(context, asking, admitted, now)
        except UnavailableError as unavailable:
            log.warning("limiters not asked: %s", unavailable)
            admitted |= {run.id: evolve(admitted[run.id], again_at=now + context.rules.margin_ms) for run, _ in asking}
    return admitted


def _ask(
    context: Context, asking: Sequence[tuple[Run, Ask]], before: Mapping[RunId, Admitted], now: int
) -> dict[RunId, Admitted]:
    """Ask one limiter for each run; return the answers so far."""
    by_key: dict[LimiterKey, list[tuple[Run, Ask]]] = {}
    for run, ask in sorted(asking, key=lambda one: before[one[0].id].begins_at):
        by_key.setdefault(ask.key, []).append((run, ask))
    decided: dict[RunId, Admitted] = {}

    def with_those(_: int, limiter: Limiter) -> Limiter:
        own = by_key[limiter.key]
        if must_read_holders(limiter, own):
            limiter = without_ended(limiter, read_named(context, limiter, now), now)
        for run, ask in own:
            earlier = before[run.id]
            limiter, passed = acquire(limiter, run, ask, earlier.begins_at, now, context.rules.lease_ms)
            decided[run.id] = _after(earlier, passed, ask)
        return limiter

    rows = _rows(context, by_key, now)
    swapped = compare_and_swap(context.store.limiters.swap, rows, with_those, now)
    written = {row.key for row, one in zip(rows, swapped, strict=True) if one.done}
    names = sorted((str(run.id), run.attempt) for run, _ in asking)
    again_at = now + 1 + int(fraction_of("contended", *names, now) * _CONTENDED_MS)
    lost = {run.id: evolve(before[run.id], again_at=again_at) for run, ask in asking if ask.key not in written}
    return decided | lost


def _after(earlier: Admitted, passed: LimiterDecision, ask: Ask) -> Admitted:
    if passed.is_skipped:
        return evolve(earlier, is_skipped=True)
    slots = (*earlier.slots, ask.key.name) if passed.has_slot else earlier.slots
    if passed.waits_for is not None:
        return evolve(earlier, waiting=Waiting(ask.key.name, passed.waits_for), slots=slots)
    return evolve(earlier, begins_at=passed.begins_at, slots=slots)


def _rows(context: Context, keys: Mapping[LimiterKey, Sequence[tuple[Run, Ask]]], now: int) -> list[Limiter]:
    """Read the limiter of each key; a limiter that no run has asked for yet gets its first row."""
    stored = context.store.limiters.read(list(keys)) if keys else []
    new = [new_limiter(key, context.shards) for key, row in zip(keys, stored, strict=True) if row is None]
    inserted = context.store.limiters.insert(new, now) if new else []
    return [row for row in stored if row] + [found or row for row, found in zip(new, inserted, strict=True)]


def pass_parents(context: Context, runs: Sequence[tuple[Run, Job]]) -> list[Job | None]:
    """Return the job of each run with the payload for its call; None if its parents' answers are too large.

    Raises UnavailableError.
    """
    asking = [(run, job) for run, job in runs if job.spec.pass_parents]
    keys = list(dict.fromkeys(key for _, job in asking for key in job.spec.parent_keys))
    jobs = dict(zip(keys, context.store.jobs.read(keys), strict=True)) if keys else {}
    names = list(dict.fromkeys(_run_of(jobs[key], key, run) for run, job in asking for key in job.spec.parent_keys))
    rows = dict(zip(names, context.store.runs.read(names), strict=True)) if names else {}
    return [_handed(context, run, job, jobs, rows) if job.spec.pass_parents else job for run, job in runs]


def _run_of(parent: Job | None, key: JobKey, run: Run) -> RunId:
    """Return the parent's run in the cycle; a one-off has the same run in all cycles."""
    is_one_off = parent is not None and parent.spec.schedule.is_one_off
    fire_at = parent.final_fire_at or 0 if parent is not None and is_one_off else run.id.fire_at
    return RunId(key, fire_at, Origin.SCHEDULE)


def _handed(
    context: Context, run: Run, job: Job, jobs: Mapping[JobKey, Job | None], rows: Mapping[RunId, Run | None]
) -> Job | None:
    passed = []
    for key, parent in zip(job.spec.parent_keys, job.spec.depends_on, strict=True):
        standing = jobs[key]
        row = rows[_run_of(standing, key, run)] or range_over(context, standing, run.id.fire_at)
        kept = kept_of(job, parent.job_id) or kept_of(run, parent.job_id)
        passed.append(_passed(context, parent.name or parent.job_id, standing, row, kept))
    work = job.spec.work
    if work is None:
        return job  # the payload that the run was given is gone: its call reports that
    payload = handed(work.payload, passed)
    return None if payload is None else with_spec(job, work=evolve(work, payload=payload))


def _passed(context: Context, name: str, parent: Job | None, row: Run | None, kept: Ended | None) -> PassedParent:
    if row is None:
        if kept is not None:
            return PassedParent(name, run_state_of(kept.state).value)
        is_cancelled = parent is not None and parent.status is JobStatus.CANCELLED
        return PassedParent(name, RunState.CANCELLED.value if is_cancelled else None)
    if row.last_fire_at is not None:
        return PassedParent(name, row.state.value)
    return PassedParent(name, row.state.value, row.id, answer_of(context, row))


_MOST: Final = 20
"""How many of the newest runs are read. If more runs of a backfill, which replace none, are among them, a run starts
that need not."""

_RUNS: Final = frozenset(RunState) - {RunState.SKIPPED, RunState.CANCELLED}


def replaced(context: Context, starting: Sequence[tuple[Run, Job]]) -> set[RunId]:
    """Return which of these runs, about to start, newer runs of their jobs replace. Raises UnavailableError."""
    return {run.id for run, job in starting if is_replaceable(run, job.spec) and _is_replaced(context, run)}


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


def _is_replaced(context: Context, run: Run) -> bool:
    at = max(context.clock.now(), run.not_before)
    query = LedgerQuery(run.id.job, _MOST, from_at=run.id.fire_at, to_at=at, states=_RUNS)
    return any(is_replaced_by(run, other, at) for other in context.store.runs.ledger(query).runs)


def note_late_starts(context: Context, starting: Sequence[tuple[RunId, Job]], now: int) -> None:
    """Note the earliest of these runs on each job. Raises UnavailableError: then none of them may be claimed."""
    earliest: dict[JobKey, int] = {}
    for run_id, job in starting:
        if needs_note(job, run_id.fire_at, now, context.rules.misfire_ms):
            earliest[job.key] = min(run_id.fire_at, earliest.get(job.key, run_id.fire_at))

    def change(_: int, job: Job) -> Job | None:
        if job.status is JobStatus.CANCELLED:
            raise ContendedError(f"job {job.key.job_id} was cancelled meanwhile")
        fire_at = earliest[job.key]
        return noted(job, fire_at, now) if needs_note(job, fire_at, now, context.rules.misfire_ms) else None

    jobs = context.store.jobs.read(list(earliest)) if earliest else []
    if not all(one.done for one in compare_and_swap(context.store.jobs.swap, jobs, change, now)):
        raise ContendedError("a job whose run starts late kept changing")
