"""The overlap lock of a job: the run that holds it may start; at most one other run is the next holder.

The lock is a pair on the job's row, and each change of it is one conditional write. It is acquired before the claim of
its run and released after that run's end. The message of the next holder is sent before the lock is handed over: a
crash in between leaves a message whose claim takes the lock.
"""

from collections.abc import Callable, Mapping, Sequence

from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.model.jobs.job import Job, locked
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.runs.transitions import asked_to_stop, ended
from timeball.domain.model.runs.values import Guarantor
from timeball.domain.model.terms.policies import OverlapPolicy
from timeball.domain.run_ends.effects import guarantor_of, is_final
from timeball.domain.sharing.overlap import LockStep, decide_overlap, holds_nothing
from timeball.engine.compare_and_swap import TRIES, change_all, compare_and_swap
from timeball.engine.context import Context
from timeball.engine.metrics import moved
from timeball.engine.runs.send import send
from timeball.engine.runs.waiting_lines import release_slots
from timeball.ports.errors import UnavailableError
from timeball.ports.rows import Swap

LOCKED = frozenset({Origin.SCHEDULE, Origin.MANUAL, Origin.EVENT})
"""The origins whose runs need their job's lock. A backfill has an overlap policy of its own; items run together."""

_Rows = Mapping[RunId | None, Run | None]
"""The runs that locks name, as they were read after the jobs."""


def needs_lock(run: Run, job: Job) -> bool:
    """Return whether a run may start only while it holds its job's lock."""
    return job.spec.overlap is not OverlapPolicy.ALLOW and run.id.origin in LOCKED


def acquire_locks(context: Context, wanting: Sequence[tuple[Run, Job]], now: int) -> list[LockStep]:
    """Ask for the lock of each run's job; among runs of one job, the earliest fire asks first.

    Returns START (it holds the lock), SKIP, STAY (it is the next holder), or WAIT, also if a job keeps changing. Raises
    UnavailableError.
    """
    steps = [LockStep.WAIT] * len(wanting)
    jobs = {job.key: job for _, job in wanting}
    left = sorted(range(len(wanting)), key=lambda position: wanting[position][0].id)
    while left:
        first = {wanting[position][1].key: position for position in reversed(left)}
        asking = [wanting[position][0] for position in first.values()]
        for (key, position), answer in zip(first.items(), _admit_one_each(context, asking, jobs, now), strict=True):
            steps[position], jobs[key] = answer
        left = [position for position in left if position not in first.values()]
    return steps


def _admit_one_each(
    context: Context, runs: Sequence[Run], jobs: Mapping[JobKey, Job], now: int
) -> list[tuple[LockStep, Job]]:
    """Ask for the locks of different jobs; return the steps, and the jobs as they then stand."""
    asked = [jobs[run.id.job] for run in runs]
    named = _named_by(context, asked)
    steps = [LockStep.WAIT] * len(runs)

    def after_step(position: int, job: Job) -> Job | None:
        steps[position], after = _admitted(context, job, runs[position], named(job), now)
        return after

    standing = compare_and_swap(context.store.jobs.swap, asked, after_step, now)
    return [
        (step, one.row) if one.done and one.row is not None else (LockStep.WAIT, job)
        for step, one, job in zip(steps, standing, asked, strict=True)
    ]


def _admitted(context: Context, job: Job, run: Run, rows: _Rows, now: int) -> tuple[LockStep, Job | None]:
    """Return the step of a run that asks for the lock, and the job with its changed lock, or None if unchanged."""
    for _ in range(TRIES):
        holder, next_holder = rows.get(job.holder), rows.get(job.next_holder)
        supersedes = job.spec.flow.supersede
        overlap = decide_overlap(job.spec.overlap, run, holder, next_holder, supersedes=supersedes)
        if run.not_before > now and (overlap.stop_holder or overlap.step in (LockStep.SKIP, LockStep.REPLACE_NEXT)):
            return LockStep.WAIT, None  # at its instant none of this may be necessary
        stop = holder if overlap.stop_holder else None
        replace = next_holder if overlap.step is LockStep.REPLACE_NEXT else None
        if _make_way(context, job, run, stop, replace, now):
            return _granted(job, run, overlap.step)
        rows = _rows_of(context, [job])  # one of them has changed, or no longer holds anything: decide anew
    return LockStep.WAIT, None


def _granted(job: Job, run: Run, step: LockStep) -> tuple[LockStep, Job | None]:
    """Return what a run gets that nothing keeps from its step, and the job with its changed lock, if it changes."""
    match step:
        case LockStep.ACQUIRE:
            handed_at = job.handed_at if job.holder == run.id else None
            next_holder = None if job.next_holder == run.id else job.next_holder
            return LockStep.START, locked(job, run.id, next_holder, handed_at)
        case LockStep.BECOME_NEXT | LockStep.REPLACE_NEXT:
            return LockStep.STAY, locked(job, job.holder, run.id)
        case _:
            return step, None


def _make_way(context: Context, job: Job, run: Run, stop: Run | None, replace: Run | None, now: int) -> bool:
    """Stop the holder, and end the next holder, where a run needs that; return False if one of them has changed."""
    if stop is not None and not _is_asked_to_stop(context, job, stop, now):
        return False
    if replace is None:
        return True
    reason = Reason.OVERLAP if run.asked_at < replace.asked_at else Reason.REPLACED
    return _end(context, job, replace, now, reason)


def _is_asked_to_stop(context: Context, job: Job, holder: Run, now: int) -> bool:
    """Ask a running holder to stop; return whether that is written. End a holder that only waits: the lock is free."""
    if holder.state is not RunState.RUNNING:
        _end(context, job, holder, now)
        return False
    return context.store.runs.swap([Swap(holder, asked_to_stop(holder, Reason.REPLACED))], now)[0].done


def _end(context: Context, job: Job, run: Run, now: int, reason: Reason = Reason.REPLACED) -> bool:
    """End a run: skipped if it has not started, cancelled if it waits for a retry. Return False if it has changed.

    The run that asks for the lock takes the lock, or the position in line, from the ended run; the message that it
    holds guarantees the effects. The end of a job is left to the scan.
    """
    state = RunState.SKIPPED if run.state is RunState.QUEUED and run.is_unstarted else RunState.CANCELLED
    guarantor = Guarantor.SCAN if is_final(run, job) else guarantor_of(run, job, Guarantor.MESSAGE)
    swaps = [Swap(run, ended(run, state, now, guarantor, reason))]
    (swapped,) = context.store.runs.swap(swaps, now)
    moved(context, swaps, [swapped])
    release_slots(context, [] if swapped.row is None else [swapped.row])
    return swapped.done


def release(context: Context, runs: Sequence[RunId]) -> None:
    """Take the lock from ended runs. The next holder gets its message first, and then the lock. May be repeated.

    If a pause withdrew the holder, it and the next holder change places, if the latter may continue: it has started
    before. While a job is paused, a run that was its holder or next holder stays named there and does not misfire,
    unless a manual run takes the lock meanwhile. Raises UnavailableError.

    Order of writes of release (the overlap lock):

    1. Send the message of the next holder.
    2. Swap the job: the next holder holds the lock.

    Safe: the claim of that message takes the lock from a run that is over, so step 1 without step 2 loses nothing.
    """
    runs = list(dict.fromkeys(runs))
    jobs = context.store.jobs.read([run.job for run in runs])
    named = _named_by(context, [job for job in jobs if job is not None])
    now = context.clock.now()

    def released(position: int, job: Job) -> Job | None:
        return _released(context, job, runs[position], named(job), now)

    change_all(context.store.jobs.swap, jobs, released, now, "the overlap lock")


def _released(context: Context, job: Job, run: RunId, rows: _Rows, now: int) -> Job | None:
    """Return the job with its lock taken from a run; None if the run has no lock, or is retried meanwhile."""
    row, next_holder = rows.get(run), rows.get(job.next_holder)
    is_over = row is None or row.is_terminal
    if run not in (job.holder, job.next_holder) or not holds_nothing(row):
        return None
    if job.holder == run and next_holder is not None and next_holder.state is RunState.QUEUED:
        if not send(context, [next_holder], now)[0]:
            raise UnavailableError("the message of the next holder is not sent yet")
        return locked(job, next_holder.id, None if is_over else run, handed_at=now)
    if not is_over:
        return None
    return locked(job, job.next_holder if job.holder == run else job.holder, None)


def _named_by(context: Context, jobs: Sequence[Job]) -> Callable[[Job], _Rows]:
    """Read the runs that the locks of jobs name, all at once. For a job that has changed since, read them anew."""
    rows = _rows_of(context, jobs)
    return lambda job: rows if job in jobs else _rows_of(context, [job])


def _rows_of(context: Context, jobs: Sequence[Job]) -> _Rows:
    """Read the runs that the locks of jobs name."""
    names = list(dict.fromkeys(name for job in jobs for name in (job.holder, job.next_holder) if name is not None))
    return dict(zip(names, context.store.runs.read(names), strict=True))
