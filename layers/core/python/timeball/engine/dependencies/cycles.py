"""Evaluate the parents of runs that wait for them, each in the cycle of its fire time; and wake such runs.

A waiting run is in the due index. To notify it only means to make it due; the evaluation decides by the rows as they
stand.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from timeball.domain.changes.reach import earliest_live
from timeball.domain.ends.notices import notice_of_block
from timeball.domain.graphs.join import ParentStanding, by_its_end, cycle_of_parent, kept_of, kept_standing, standing_of
from timeball.domain.graphs.waiting import cycle_evaluated, is_run_as_notified
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.model.jobs.job import Job, JobStatus
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.runs.transitions import ended, withdrawn
from timeball.domain.model.runs.values import Guarantor
from timeball.engine.compare_and_swap import compare_and_swap
from timeball.engine.context import Context
from timeball.engine.dependencies.graph import naming_any, parent_keys
from timeball.engine.metrics import moved
from timeball.engine.notices import post
from timeball.ports.collections import LedgerQuery
from timeball.ports.errors import UnavailableError
from timeball.ports.rows import Swap

_CHILDREN_AT_ONCE = 1_000
"""How many children are notified together: their rows are read, and then written, side by side."""
_PAGE = 100
"""How many rows of a ledger are read together: rows that wait, or rows that were skipped."""

_QUEUED = frozenset({RunState.QUEUED})


def evaluate_cycles(context: Context, runs: Sequence[Run]) -> list[Run]:
    """Evaluate the parents of waiting runs; return the runs that may be sent. Raises UnavailableError."""
    if not runs:
        return []
    notified = _notify_children(context, [run for run in runs if run.must_notify_children]) + [
        run for run in runs if not run.must_notify_children
    ]
    waiting = [run for run in notified if run.state is RunState.QUEUED and run.waits]
    jobs = dict(zip(waiting, context.store.jobs.read([run.id.job for run in waiting]), strict=True))
    now = context.clock.now()
    standings = standings_of_runs(context, [(run, job) for run, job in jobs.items() if job is not None], now)
    swaps = [Swap(run, _after(run, jobs[run], standings.get(run, []), now)) for run in waiting]
    _notify_of_blocks(context, [(one, jobs[one.before]) for one in swaps], now)
    swapped = context.store.runs.swap(swaps, now)
    moved(context, swaps, swapped)
    standing = [one.row for one in swapped if one.done and one.row is not None]
    to_notify = [run for run in standing if run.must_notify_children]
    return [run for run in standing if run.state is RunState.QUEUED and not run.waits] + evaluate_cycles(
        context, to_notify
    )


def _notify_children(context: Context, runs: Sequence[Run]) -> list[Run]:
    """Wake the children of the runs' jobs in their cycles; return the runs whose children are notified now.

    A run keeps its mark if its children would see another state of it by now.
    """
    wake_cycles(context, runs)

    def after(position: int, run: Run) -> Run | None:
        return evolve(run, must_notify_children=False) if is_run_as_notified(run, runs[position]) else None

    standing = compare_and_swap(context.store.runs.swap, runs, after, context.clock.now())
    return [one.row for one in standing if one.done and one.row is not None and not one.row.must_notify_children]


def wake_cycles(context: Context, runs: Sequence[Run]) -> None:
    """Wake each run that waits in the cycle of one of these runs, and whose job still names that run's job.

    Raises UnavailableError.
    """
    by_fire: dict[int, list[JobKey]] = {}
    for run in runs:
        by_fire.setdefault(run.id.fire_at, []).append(run.id.job)
    for fire_at, parents in by_fire.items():
        for page in pages_of_children(context, parents):
            rows = context.store.runs.read([RunId(child, fire_at, Origin.SCHEDULE) for child in page])
            waiting = {run.id.job: run for run in rows if run is not None and _is_to_be_woken(run)}
            jobs = naming_any(context.store.jobs.read(list(waiting)), parents)
            _wake(context, [waiting[job.key] for job in jobs])


def pages_of_children(context: Context, parents: Sequence[JobKey]) -> Iterator[list[JobKey]]:
    """Yield the children of jobs, each once, in pages that are notified together. Raises UnavailableError."""
    children = [*dict.fromkeys(child for page in context.store.edges.children(parents) for child in page)]
    for start in range(0, len(children), _CHILDREN_AT_ONCE):
        yield children[start : start + _CHILDREN_AT_ONCE]


def has_runs_that_wait(job: Job) -> bool:
    """Return whether a run of the job may wait, rather than the job itself."""
    return not job.spec.schedule.is_one_off or job.spec.for_each is not None


def wake_runs_of(context: Context, jobs: Sequence[Job]) -> None:
    """Wake all waiting runs of jobs. Raises UnavailableError."""
    now = context.clock.now()
    for job in jobs:
        query = LedgerQuery(job.key, _PAGE, earliest_live(job, now, context.rules.misfire_ms), states=_QUEUED)
        page = context.store.runs.ledger(query)
        _wake(context, page.runs)
        while page.next_before is not None:
            page = context.store.runs.ledger(evolve(query, before=page.next_before))
            _wake(context, page.runs)


def _wake(context: Context, runs: Sequence[Run | None]) -> None:
    now = context.clock.now()
    standing = compare_and_swap(context.store.runs.swap, runs, partial(_woken, now), now)
    if not all(one.done for one in standing):
        raise UnavailableError("runs that wait for others kept changing")


def _notify_of_blocks(context: Context, swaps: Sequence[tuple[Swap[Run], Job | None]], now: int) -> None:
    news = [(job, one.after) for one, job in swaps if job and one.after.blocked not in (None, one.before.blocked)]
    post(context, [(run.depth, notice_of_block(job, run.blocked, now, run)) for job, run in news if run.blocked])


def _woken(now: int, _: int, run: Run) -> Run | None:
    return evolve(run, due_at=now) if _is_to_be_woken(run) else None


def _is_to_be_woken(run: Run) -> bool:
    return run.waits and run.state is RunState.QUEUED


def _after(run: Run, job: Job | None, parents: list[ParentStanding], now: int) -> Run:
    if job is None or job.status is JobStatus.CANCELLED:
        return ended(run, RunState.CANCELLED, now, Guarantor.SCAN, Reason.JOB_CANCELLED)
    if job.status is JobStatus.PAUSED and run.is_unstarted:  # a run of a rerun goes on, as a retry does
        return withdrawn(run)
    return cycle_evaluated(run, job, parents, now)


def standings_of_runs(
    context: Context, runs: Sequence[tuple[Run, Job]], now: int
) -> Mapping[Run, list[ParentStanding]]:
    """Read how the parents of runs stand in the cycles of these runs. Raises UnavailableError."""
    keys = list(dict.fromkeys(key for _, job in runs for key in parent_keys(job.spec)))
    jobs = dict(zip(keys, context.store.jobs.read(keys), strict=True))
    names = list(
        dict.fromkeys(RunId(key, run.id.fire_at, Origin.SCHEDULE) for run, job in runs for key in parent_keys(job.spec))
    )
    rows = dict(zip(names, context.store.runs.read(names), strict=True))

    def standing(key: JobKey, run: Run, child: Job) -> ParentStanding:
        parent, kept = jobs[key], kept_of(run, key.job_id) or kept_of(child, key.job_id)
        if parent is not None and parent.spec.schedule.is_one_off:
            return standing_of(key.job_id, parent, child, now, kept)
        row = rows[RunId(key, run.id.fire_at, Origin.SCHEDULE)]
        if row is None and kept is not None:
            return kept_standing(kept, key.tenant)
        row = row or range_over(context, parent, run.id.fire_at)
        return cycle_of_parent(key.job_id, parent, row, run.id.fire_at)

    return {
        run: [
            by_its_end(standing(key, run, job), parent.on)
            for key, parent in zip(parent_keys(job.spec), job.spec.depends_on, strict=True)
        ]
        for run, job in runs
    }


def range_over(context: Context, parent: Job | None, fire_at: int) -> Run | None:
    """Return a recurring job's skipped range over a fire time, if its ledger is written that far.

    Raises UnavailableError.
    """
    if parent is None or parent.spec.schedule.is_one_off:
        return None
    if parent.next_fire_at is not None and parent.next_fire_at <= fire_at:
        return None
    query = LedgerQuery(parent.key, _PAGE, to_at=fire_at, states=frozenset({RunState.SKIPPED}))
    return next((row for row in context.store.runs.ledger(query).runs if row.covers(fire_at)), None)
