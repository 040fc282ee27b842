"""Evaluate the parents of waiting jobs and runs, and wake the children of jobs and runs whose state has changed.

To wake a child only means to make it due: it is then evaluated by the rows as they stand. Waking writes the child's
row, so it refuses an evaluation that began before. A job or run is due until its children are notified, so no chain of
jobs depends on one process: the scan finds each.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from timeball.domain.backfill import BackfillStatus
from timeball.domain.changes.reach import earliest_live
from timeball.domain.dependencies.evaluation import (
    Need,
    Waiting,
    is_as_notified,
    is_early,
    job_evaluated,
    need_of,
    run_evaluated,
    stopped_with_backfill,
    with_children_notified,
    woken,
)
from timeball.domain.dependencies.named_cycle import names_of, run_of
from timeball.domain.dependencies.trigger_rule import (
    ParentRows,
    ParentStanding,
    by_its_end,
    is_latest_cycle,
    kept_by,
    run_in_cycle,
    standing_in_cycle,
    standing_of,
)
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import BackfillKey, CycleId, JobKey, Origin, RunId
from timeball.domain.model.jobs.job import Job, JobStatus
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.terms.dependency import Blocked, Ended
from timeball.domain.run_ends.notices import notice_of_block
from timeball.engine.compare_and_swap import change_all, compare_and_swap
from timeball.engine.context import Context
from timeball.engine.dependencies.examine import judging_any, naming_any, naming_in_cycle
from timeball.engine.dependencies.latest import read_latest_cycles
from timeball.engine.dependencies.named_cycles import fill_cycles
from timeball.engine.metrics import moved
from timeball.engine.notices import notify_of_blocks, post
from timeball.ports.collections import LedgerQuery
from timeball.ports.rows import Swap, Swapped

_CHILDREN_AT_ONCE = 1_000
"""How many children are notified together: their rows are read, and then written, side by side."""
_PAGE = 100
"""How many rows of a ledger are read together: rows that wait, or rows that were skipped."""
_NEWEST = 10
"""How many of a job's newest rows show whether its runs wait for a latest cycle."""
_ROUNDS = 2
"""A row that must first notify its children is evaluated again at once, in a second round."""


def evaluate_jobs(context: Context, jobs: Sequence[Job]) -> dict[JobKey, Job]:
    """Evaluate the parents of waiting jobs. Return, as they stand, the jobs that may run and can be planned.

    ① Notify the children of jobs that must notify them. ② Read the parents. ③ Swap: let the job run, or skip it; or
    note what blocks it, and then ① and ② again; or set the next evaluation. Raises UnavailableError.

    Order of writes of evaluate (the parents of a job that waits):

    1. Notify its children, if they were not notified.
    2. Read the parents.
    3. Swap the job: released, or skipped, at the fire time that the parents give; or blocked, with its children to
       notify; or the next evaluation, and how the parents ended that have ended: their rows may expire before the
       others end. Then dispatch.

    Safe: step 3 fixes the one fire that is planned; it is refused if the job was notified since it was read.
    """
    if any(job.waits or job.must_notify_children for job in jobs):  # most scans find no such job
        jobs = _evaluate(jobs, partial(notify_children, context), partial(_next_jobs, context))
    return {job.key: job for job in jobs}


def evaluate_runs(context: Context, runs: Sequence[Run]) -> list[Run]:
    """Evaluate the parents of waiting runs, as for jobs; return the runs that may be sent. Raises UnavailableError.

    Order of writes of evaluate (the parents of a run of a cycle that waits):

    1. Read the parents' jobs, and their rows at its fire time, or their latest cycles.
    2. Swap the run: released or skipped, and due now; or blocked, with its children to notify; or due at the next
       evaluation. Then resend.

    Safe: the plan of the run's job inserts its row, waiting and due. A cycle that ends after step 1 wakes the run, and
    step 2 is refused.
    """
    return _evaluate(runs, partial(_notify_cycles, context), partial(_next_runs, context))


def notify_children(context: Context, jobs: Sequence[Job]) -> list[Job]:
    """Notify the children of jobs; return, as they stand, the jobs whose children are notified.

    Another process may have written such a job since it was read. The job keeps its mark if its children would see
    another state of it by now. Raises UnavailableError.

    Order of writes of notify (the children of a job that has ended, was blocked, or is no longer blocked):

    0. The write that changes the job leaves it due, and marked `must_notify_children`.
    1. Swap each child that waits and still names it: due now.
    2. Swap the job as it stands by then: unmark it, unless its status or its block has changed since step 0.

    Safe: until step 2 the scan repeats step 1; an edge of a former parent wakes no job, so two jobs do not wake each
    other.
    """
    if not jobs:
        return []
    wake_children(context, [job.key for job in jobs])
    now = context.clock.now()

    return _without_mark(context.store.jobs.swap, jobs, lambda job: with_children_notified(job, now), now)


def wake_children(context: Context, parents: Sequence[JobKey]) -> None:
    """Schedule an evaluation for each waiting child that still names one of these parents, once if it names several.

    An edge may be out of date. If two jobs have swapped their dependency, they would otherwise wake each other forever.
    Raises UnavailableError.
    """
    for page in _pages_of_children(context, parents):
        _wake_jobs(context, naming_any(context.store.jobs.read(page), parents))


def wake_cycles(context: Context, runs: Sequence[Run]) -> None:
    """Wake each run that waits in the cycle of one of these runs, and whose job still names that run's job.

    If one of the runs may be its job's latest cycle now, runs that wait for such a cycle wake too. Raises
    UnavailableError.
    """
    by_cycle: dict[CycleId, list[JobKey]] = {}
    for run in runs:
        by_cycle.setdefault(run.id.cycle, []).append(run.id.job)
    latest = {run.id.job for run in runs if is_latest_cycle(run)}
    for cycle, parents in by_cycle.items():
        for page in _pages_of_children(context, parents):
            children = context.store.jobs.read(page)
            _wake_cycle(context, naming_in_cycle(children, parents), cycle)
            wake_newest_of(context, judging_any(children, latest.intersection(parents)))


def _wake_cycle(context: Context, jobs: Sequence[Job], cycle: CycleId) -> None:
    """Wake the runs that jobs have in a cycle, if they wait."""
    rows = context.store.runs.read([run_of(job, cycle) for job in jobs]) if jobs else []
    _wake(context, [run for run in rows if run is not None and _is_waiting(run)])


def wake_runs_of(context: Context, jobs: Sequence[Job]) -> None:
    """Wake all waiting runs of jobs. Raises UnavailableError."""
    now = context.clock.now()
    for job in jobs:
        earliest_at = earliest_live(job, now, context.rules.misfire_ms)
        query = LedgerQuery(job.key, _PAGE, earliest_at, states=frozenset({RunState.QUEUED}))
        page = context.store.runs.ledger(query)
        _wake(context, page.runs)
        while page.next_before is not None:
            page = context.store.runs.ledger(evolve(query, before=page.next_before))
            _wake(context, page.runs)


def wake_newest_of(context: Context, jobs: Sequence[Job]) -> None:
    """Wake the newest waiting runs of jobs that are judged by latest cycles: page by page, as long as runs wait.

    All runs of a job wait for the same latest cycles. So if none of the newest waits, older ones hardly do.
    """
    queries = [LedgerQuery(job.key, _NEWEST) for job in jobs]
    while queries:
        pages = context.store.runs.ledgers(queries)
        waiting = [[run for run in page.runs if _is_waiting(run)] for page in pages]
        _wake(context, [run for runs in waiting for run in runs])
        queries = [
            evolve(query, before=page.next_before, limit=_PAGE)
            for query, page, runs in zip(queries, pages, waiting, strict=True)
            if runs and page.next_before is not None
        ]


def ends_for_paused(context: Context, jobs: Sequence[Job], now: int) -> Mapping[JobKey, list[ParentStanding]]:
    """Read how the parents of paused, waiting jobs stand: nothing else evaluates them before the resume.

    Other jobs cost no read. Raises UnavailableError.
    """
    paused = [job for job in jobs if job.waits and job.status is JobStatus.PAUSED]
    return standings_of_jobs(context, paused, now) if paused else {}


def standings_of_jobs(context: Context, jobs: Sequence[Job], now: int) -> Mapping[JobKey, list[ParentStanding]]:
    """Read how the parents of one-offs stand. Raises UnavailableError."""
    rows = _read_parents(context, jobs)

    def standings(job: Job) -> list[ParentStanding]:
        kept = kept_by(job)
        return [standing_of(key.job_id, rows[key], job, now, kept.get(key.job_id)) for key in job.spec.parent_keys]

    return {job.key: _as_awaited(job, standings(job)) for job in jobs}


def _read_parents(context: Context, jobs: Sequence[Job]) -> Mapping[JobKey, Job | None]:
    keys = list(dict.fromkeys(key for job in jobs for key in job.spec.parent_keys))
    return dict(zip(keys, context.store.jobs.read(keys), strict=True))


def standings_of_runs(
    context: Context, runs: Sequence[tuple[Run, Job]], now: int
) -> Mapping[RunId, list[ParentStanding]]:
    """Read how the parents of runs stand in the cycles of these runs. Raises UnavailableError."""
    rows = parents_of_runs(context, runs)
    return {
        run.id: _as_awaited(job, [standing_in_cycle(parent, job, run.id.fire_at, now) for parent in rows[run.id]])
        for run, job in runs
    }


def parents_of_runs(context: Context, runs: Sequence[tuple[Run, Job]]) -> Mapping[RunId, list[ParentRows]]:
    """Read the parents of runs, in the order of `depends_on`, with their runs in the cycles of these runs.

    A parent whose latest cycle counts has that cycle's run, and none in a named cycle. Raises UnavailableError.
    """
    jobs = _read_parents(context, [job for _, job in runs])
    edges = [edge for run, child in runs for edge in _edges_of(run, child, jobs)]
    rows = _rows_in_cycles(context, [edge for edge in edges if not edge.is_latest])
    judged = [edge.key for edge in edges if edge.is_latest and edge.run.root is None]
    latest = read_latest_cycles(context, list(dict.fromkeys(judged)))
    found: dict[RunId, list[ParentRows]] = {run.id: [] for run, _ in runs}
    for edge in edges:
        found[edge.run.id].append(_latest_parent(edge, latest) if edge.is_latest else _in_cycle(context, edge, rows))
    return found


@dataclass(frozen=True)
class _EdgeOfRun:
    """A run, its job, and a parent of that job, as they were read. `is_latest`: the parent's latest cycle counts.

    `kept` and `kept_by_job` are the records that the run and its job have of the parent's end.
    """

    run: Run
    child: Job
    key: JobKey
    parent: Job | None
    is_latest: bool
    kept: Ended | None
    kept_by_job: Ended | None

    @property
    def names(self) -> Sequence[RunId]:
        """The names that the run of the parent may have in the cycle of the run."""
        if self.run.root is None:
            return [run_in_cycle(self.key, self.parent, self.run.id.fire_at)]
        return names_of(self.key, self.parent, self.run.id.cycle)


def _edges_of(run: Run, child: Job, jobs: Mapping[JobKey, Job | None]) -> Iterator[_EdgeOfRun]:
    """Yield the edges of a run in the order of `depends_on`. A one-off has one cycle alone, so no latest one."""
    by_run, by_job = kept_by(run), kept_by(child)
    for key, named in zip(child.spec.parent_keys, child.spec.depends_on, strict=True):
        parent, name = jobs[key], key.job_id
        is_one_off = parent is not None and parent.spec.schedule.is_one_off
        is_latest = named.is_latest and not is_one_off
        yield _EdgeOfRun(run, child, key, parent, is_latest, by_run.get(name), by_job.get(name))


def _rows_in_cycles(context: Context, edges: Sequence[_EdgeOfRun]) -> Mapping[RunId, Run | None]:
    names = list(dict.fromkeys(name for edge in edges for name in edge.names))
    return dict(zip(names, context.store.runs.read(names), strict=True))


def _latest_parent(edge: _EdgeOfRun, latest: Mapping[JobKey, Run]) -> ParentRows:
    """Return the rows of a parent whose latest cycle counts, unless the run is in a named cycle."""
    if edge.run.root is not None:
        return ParentRows(edge.key, edge.parent, None, is_outside=True)
    return ParentRows(edge.key, edge.parent, latest.get(edge.key), edge.kept, is_latest=True)


def _in_cycle(context: Context, edge: _EdgeOfRun, rows: Mapping[RunId, Run | None]) -> ParentRows:
    """Return the rows of a parent whose run in the cycle counts."""
    row = next((row for name in edge.names if (row := rows[name]) is not None), None)
    kept = edge.kept
    if edge.run.root is not None:
        return ParentRows(edge.key, edge.parent, row, kept, is_outside=row is None and kept is None)
    kept = kept or edge.kept_by_job
    row = row or (None if kept else _range_over(context, edge.parent, edge.run.id.fire_at))
    return ParentRows(edge.key, edge.parent, row, kept)


def _range_over(context: Context, parent: Job | None, fire_at: int) -> Run | None:
    return None if parent is None else ranges_over(context, [parent], fire_at).get(parent.key)


def ranges_over(context: Context, jobs: Sequence[Job], fire_at: int) -> dict[JobKey, Run]:
    """Return the skipped range over a fire time of each recurring job whose ledger is written that far and has one.

    Raises UnavailableError.
    """
    queries = [
        LedgerQuery(job.key, _PAGE, to_at=fire_at, states=frozenset({RunState.SKIPPED}))
        for job in jobs
        if not job.spec.schedule.is_one_off and (job.next_fire_at is None or job.next_fire_at > fire_at)
    ]
    pages = context.store.runs.ledgers(queries) if queries else []
    return {row.id.job: row for page in pages for row in page.runs if row.covers(fire_at)}


def _evaluate(
    rows: Sequence[Waiting],
    notify: Callable[[list[Waiting]], list[Waiting]],
    evaluate: Callable[[list[Waiting]], list[Waiting]],
) -> list[Waiting]:
    """Give rows what they need, and again what they need after that; return the rows that may start."""
    due = _by_need(rows)
    free, waiting = due[Need.START], due[Need.EVALUATE]
    for _ in range(_ROUNDS):
        waiting = _by_need(notify(due[Need.NOTIFY]))[Need.EVALUATE] + waiting
        if not waiting:
            break
        due, waiting = _by_need(evaluate(waiting)), []
        free += due[Need.START]
    return free


def _by_need(rows: Sequence[Waiting]) -> dict[Need, list[Waiting]]:
    groups: dict[Need, list[Waiting]] = {need: [] for need in Need}
    for row in rows:
        groups[need_of(row)].append(row)
    return groups


def _next_jobs(context: Context, jobs: Sequence[Job]) -> list[Job]:
    """Write the next rows of waiting jobs; return those that were written."""
    now = context.clock.now()
    standings = standings_of_jobs(context, jobs, now)
    swaps = [Swap(job, job_evaluated(job, standings[job.key], now)) for job in jobs]
    news = [(job.depth, notice_of_block(job, blocked, now)) for job, blocked in _new_blocks(swaps)]
    post(context, news)
    return _written(context.store.jobs.swap(swaps, now))


def _next_runs(context: Context, runs: Sequence[Run]) -> list[Run]:
    """Write the next rows of waiting runs; return those that were written."""
    runs = fill_cycles(context, runs)
    jobs = dict(zip([run.id for run in runs], context.store.jobs.read([run.id.job for run in runs]), strict=True))
    now = context.clock.now()
    swaps = _run_swaps(context, runs, jobs, now)
    blocks = [(jobs[run.id], run, blocked) for run, blocked in _new_blocks(swaps)]
    post(context, [(run.depth, notice_of_block(job, blocked, now, run)) for job, run, blocked in blocks if job])
    swapped = context.store.runs.swap(swaps, now)
    moved(context, swaps, swapped)
    written = _written(swapped)
    notify_of_blocks(context, [(run, jobs[run.id]) for run in written if run.blocked is not None])
    return written


def _run_swaps(context: Context, runs: Sequence[Run], jobs: Mapping[RunId, Job | None], now: int) -> list[Swap[Run]]:
    """Evaluate the parents of waiting runs; return the changes of these runs. Early ones wait for their start."""
    known = [(run, job) for run in runs if (job := jobs[run.id]) is not None]
    early = {run.id for run, job in known if is_early(run, job, now)}
    standings = standings_of_runs(context, [(run, job) for run, job in known if run.id not in early], now)
    stopped = _of_cancelled_backfills(context, runs)

    def after(run: Run) -> Run:
        if run.id in stopped:
            return stopped_with_backfill(run, now)
        if run.id in early:
            return evolve(run, due_at=run.not_before + context.rules.lookahead_ms)
        return run_evaluated(run, jobs[run.id], standings.get(run.id, []), now)

    return [Swap(run, after(run)) for run in runs]


def _of_cancelled_backfills(context: Context, runs: Sequence[Run]) -> set[RunId]:
    """Return the runs of named cycles whose backfill is cancelled: a cancel may not have found them."""
    keys = {
        run.id: BackfillKey(JobKey(run.id.job.tenant, run.root), run.id.series)
        for run in runs
        if run.root is not None and run.id.origin is Origin.BACKFILL
    }
    if not keys:
        return set()
    distinct = list(dict.fromkeys(keys.values()))
    rows = dict(zip(distinct, context.store.backfills.read(distinct), strict=True))
    is_over = {key for key, row in rows.items() if row is not None and row.status is BackfillStatus.CANCELLED}
    return {run_id for run_id, key in keys.items() if key in is_over}


def _new_blocks(swaps: Sequence[Swap[Waiting]]) -> list[tuple[Waiting, Blocked]]:
    """Return the rows that another run blocks than before, with that run."""
    rows = [(one.before.blocked, one.after) for one in swaps]
    return [(row, row.blocked) for before, row in rows if row.blocked is not None and row.blocked != before]


def _written(swapped: Sequence[Swapped[Waiting]]) -> list[Waiting]:
    return [one.row for one in swapped if one.done and one.row is not None]


def _notify_cycles(context: Context, runs: Sequence[Run]) -> list[Run]:
    """Notify the children of runs in their cycles, as those of jobs."""
    wake_cycles(context, runs)
    swap, now = context.store.runs.swap, context.clock.now()
    return _without_mark(swap, runs, lambda run: evolve(run, must_notify_children=False), now)


def _without_mark(
    swap: Callable[[list[Swap[Waiting]], int], list[Swapped[Waiting]]],
    rows: Sequence[Waiting],
    unmarked: Callable[[Waiting], Waiting],
    now: int,
) -> list[Waiting]:
    """Remove the mark from rows whose children know them as they stand; return those that have none any more."""

    def after(position: int, row: Waiting) -> Waiting | None:
        return unmarked(row) if is_as_notified(row, rows[position]) else None

    return [row for row in _written(compare_and_swap(swap, rows, after, now)) if not row.must_notify_children]


def _wake_jobs(context: Context, jobs: Sequence[Job]) -> None:
    now = context.clock.now()
    ends = ends_for_paused(context, jobs, now)
    swap, subject = context.store.jobs.swap, "jobs that wait for others"
    change_all(swap, jobs, lambda _, job: woken(job, now, ends.get(job.key)), now, subject)
    wake_runs_of(context, [job for job in jobs if job.spec.runs_wait])


def _pages_of_children(context: Context, parents: Sequence[JobKey]) -> Iterator[list[JobKey]]:
    """Yield the children of jobs, each once, in pages that are notified together."""
    children = [*dict.fromkeys(child for page in context.store.edges.children(parents) for child in page)]
    for start in range(0, len(children), _CHILDREN_AT_ONCE):
        yield children[start : start + _CHILDREN_AT_ONCE]


def _wake(context: Context, runs: Sequence[Run]) -> None:
    now = context.clock.now()
    swap, subject = context.store.runs.swap, "runs that wait for others"
    change_all(swap, runs, lambda _, run: evolve(run, due_at=now) if _is_waiting(run) else None, now, subject)


def _is_waiting(run: Run) -> bool:
    return run.waits and run.state is RunState.QUEUED


def _as_awaited(child: Job, parents: Sequence[ParentStanding]) -> list[ParentStanding]:
    """Return the states of a job's parents by the ends that it waits for."""
    return [by_its_end(one, parent.on) for one, parent in zip(parents, child.spec.depends_on, strict=True)]
