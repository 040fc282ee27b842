"""Graphs of jobs as people see them: the jobs around a job, and one cycle of its graph with its runs.

The graph of a recurring job consists of the jobs that share its fire times. A gate is shown with them, but not the
other jobs that depend on the gate, nor the two sides of an edge on which the latest cycle counts. A graph of one-offs
has one cycle, whatever the fire times of its jobs.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from types import MappingProxyType

from timeball.domain.dependencies.named_cycle import layers
from timeball.domain.dependencies.trigger_rule import (
    ParentRows,
    ParentStanding,
    by_its_end,
    cycle_of_parent,
    is_awaited,
    run_in_cycle,
    standing_in_cycle,
)
from timeball.domain.model.ids import CycleId, JobKey
from timeball.domain.model.jobs.job import Job, JobStatus
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.terms.dependency import State
from timeball.domain.time.schedule import is_occurrence
from timeball.engine.context import Context
from timeball.engine.dependencies.evaluate import range_over, standings_of_jobs, standings_of_runs
from timeball.engine.dependencies.examine import naming_any, naming_in_cycle
from timeball.engine.dependencies.named_cycles import read_descendants, read_members

NO_LATEST: Mapping[JobKey, Sequence[ParentStanding]] = MappingProxyType({})
"""No run waits for a latest cycle."""


@dataclass(frozen=True)
class Graph:
    """A job, its ancestors and its descendants, the nearest first; `is_cut`: there are more."""

    job: Job
    ancestors: tuple[Job, ...]
    descendants: tuple[Job, ...]
    is_cut: bool


@dataclass(frozen=True)
class Node:
    """A job of a cycle: its run there, if it exists yet; how it stands; the jobs that it still waits for.

    A `gate` is a one-off that recurring jobs wait for.
    """

    job: Job
    run: Run | None
    standing: ParentStanding
    waiting_for: tuple[str, ...] = ()
    is_gate: bool = False


@dataclass(frozen=True)
class Cycle:
    """The jobs of a graph in one cycle, parents first; `is_cut`: there are more."""

    nodes: tuple[Node, ...]
    is_cut: bool


def read_graph(context: Context, key: JobKey) -> Graph | None:
    """Read the graph around a job, level by level; None if there is no such job. Raises UnavailableError."""
    (job,) = context.store.jobs.read([key])
    if job is None:
        return None

    def up(level: Sequence[Job]) -> list[JobKey]:
        return [key for one in level for key in one.spec.parent_keys]

    ancestors, is_cut_above = _walk(context, job, up, lambda rows, _: rows)
    descendants, is_cut_below = _walk(context, job, partial(_children, context), _naming)
    return Graph(job, tuple(ancestors[1:]), tuple(descendants[1:]), is_cut_above or is_cut_below)


def is_depended_on(context: Context, parent: JobKey) -> bool:
    """Return whether a job that may still run shares the cycles of another, on which it depends.

    An edge only names it. Raises UnavailableError.
    """
    rows = context.store.jobs.read(context.store.edges.children([parent])[0])
    return any(row.is_open for row in naming_in_cycle(rows, [parent]))


def read_cycle(context: Context, job: Job, cycle: CycleId) -> Cycle | None:
    """Read a cycle of the graph around a job, level by level; None if there is no such cycle.

    Raises UnavailableError.
    """
    if cycle.series:
        return _read_named(context, job, cycle)
    fire_at = cycle.fire_at
    jobs, is_cut = _graph_of(context, job)
    runs = _runs(context, job, jobs, fire_at)
    if job.spec.schedule.is_one_off:
        is_cycle = fire_at in [one.own_fire_at for one in jobs]
    else:
        in_cycle = [run for run in runs.values() if run is not None and run.covers(fire_at)]
        is_cycle = bool(in_cycle) or is_occurrence(job.spec.schedule, fire_at)
    if not is_cycle:
        return None
    now = context.clock.now()
    standings = {one.key: standing_in_cycle(ParentRows(one.key, one, runs[one.key]), one, fire_at, now) for one in jobs}
    latest = _latest_of(context, jobs, runs, now)
    return Cycle(tuple(_nodes(job, jobs, runs, standings, latest)), is_cut)


def _latest_of(
    context: Context, jobs: Sequence[Job], runs: Mapping[JobKey, Run | None], now: int
) -> Mapping[JobKey, Sequence[ParentStanding]]:
    """Read how the parents stand of the jobs whose runs wait for a latest cycle. Other jobs cost no read."""
    judged = [job for job in jobs if job.spec.judges_latest]
    waiting = [(run, job) for job in judged if (run := runs[job.key]) is not None and run.waits]
    standings = standings_of_runs(context, waiting, now) if waiting else {}
    return {run.id.job: standings[run.id] for run, _ in waiting}


def _read_named(context: Context, job: Job, cycle: CycleId) -> Cycle | None:
    """Read the named cycle in which a job has a run; jobs that no longer exist are left out."""
    row = read_members(context, [job], cycle)[job.key]
    if row is None or row.root is None:
        return None
    (root,) = context.store.jobs.read([JobKey(job.key.tenant, row.root)])
    found = [] if root is None else [root, *read_descendants(context, root, context.rules.max_ancestors)]
    runs = read_members(context, found, cycle) | {job.key: row}
    jobs = {one.key: one for one in [*found, job] if runs[one.key] is not None}
    standings = {key: cycle_of_parent(key.job_id, one, runs[key], cycle.fire_at) for key, one in jobs.items()}
    nodes = tuple(_nodes(job, list(jobs.values()), runs, standings))
    return Cycle(nodes, is_cut=len(found) > context.rules.max_ancestors)


def _nodes(
    start: Job,
    jobs: Sequence[Job],
    runs: Mapping[JobKey, Run | None],
    standings: Mapping[JobKey, ParentStanding],
    latest: Mapping[JobKey, Sequence[ParentStanding]] = NO_LATEST,
) -> Iterator[Node]:
    for one in chain.from_iterable(layers(jobs)):
        yield Node(
            one,
            runs[one.key],
            standings[one.key],
            _waiting_for(one, runs[one.key], standings, latest.get(one.key)),
            is_gate=one.spec.schedule.is_one_off is not start.spec.schedule.is_one_off,
        )


def awaited_by_job(context: Context, job: Job) -> list[str]:
    """Return the jobs that a job still waits for. Costs no read if the job does not wait. Raises UnavailableError."""
    if not job.waits or job.status not in (JobStatus.PENDING, JobStatus.PAUSED):
        return []
    return _awaited(job, standings_of_jobs(context, [job], context.clock.now())[job.key])


def awaited_by_run(context: Context, run: Run) -> list[str]:
    """Return the jobs whose runs in its cycle a run still waits for, as `awaited_by_job`. Raises UnavailableError."""
    job = context.store.jobs.read([run.id.job])[0] if run.waits and run.state is RunState.QUEUED else None
    if job is None:
        return []
    return _awaited(job, standings_of_runs(context, [(run, job)], context.clock.now())[run.id])


def _children(context: Context, parents: Sequence[Job]) -> list[JobKey]:
    """Return the children of jobs, by their edges. A job without children costs no read."""
    edges = context.store.edges.children([parent.key for parent in parents if parent.has_children])
    return [child for children in edges for child in children]


def _naming(rows: Sequence[Job], level: Sequence[Job]) -> list[Job]:
    """Return the rows that still depend on a job of a level."""
    return naming_any(rows, [one.key for one in level])


def _walk(
    context: Context,
    start: Job,
    following: Callable[[Sequence[Job]], Sequence[JobKey]],
    belonging: Callable[[Sequence[Job], Sequence[Job]], Sequence[Job]],
    goes_on: Callable[[Job], bool] = lambda _: True,
) -> tuple[list[Job], bool]:
    """Walk from a job level by level; return the jobs found, and whether there are more.

    `following` names the jobs beside a level. `belonging` gets those that exist, and the level, and selects some. The
    walk continues from those of them that `goes_on` selects.
    """
    found = {start.key: start}
    level = [start]
    while level:
        keys = [key for key in dict.fromkeys(following(level)) if key not in found]
        left = context.rules.max_ancestors - len(found) + 1
        rows = [row for row in context.store.jobs.read(keys[:left]) if row is not None]
        added = belonging(rows, level)
        found |= {row.key: row for row in added}
        if len(keys) > left:
            return list(found.values()), True
        level = [row for row in added if goes_on(row)]
    return list(found.values()), False


def _awaited(job: Job, parents: Sequence[ParentStanding]) -> list[str]:
    rule = job.spec.trigger_rule
    return [
        parent.job_id for parent, one in zip(job.spec.depends_on, parents, strict=True) if is_awaited(rule, one.state)
    ]


def _waiting_for(
    job: Job,
    run: Run | None,
    standings: Mapping[JobKey, ParentStanding],
    parents: Sequence[ParentStanding] | None = None,
) -> tuple[str, ...]:
    """Return the jobs that a job waits for, among those shown. A job whose turn has come waits for none.

    `parents` says how its parents stand if the latest cycles of some count and its run waits.
    """
    is_to_wait = job.waits if job.spec.job_waits else run is None or run.waits
    if not is_to_wait or standings[job.key].state not in (State.GOING, State.BLOCKED):
        return ()
    if parents is not None:
        return tuple(_awaited(job, parents))
    gone = ParentStanding(State.CANCELLED)
    named = zip(job.spec.parent_keys, job.spec.depends_on, strict=True)
    known = [gone if one.is_latest else by_its_end(standings.get(key, gone), one.on) for key, one in named]
    return tuple(_awaited(job, known))


def _runs(context: Context, start: Job, jobs: Sequence[Job], fire_at: int) -> dict[JobKey, Run | None]:
    """Read the ledger row of each job that belongs to the cycle. A waiting one-off has no row that counts yet."""
    ids = {one.key: run_in_cycle(one.key, one, fire_at) for one in jobs}
    rows = dict(zip(ids, context.store.runs.read(list(ids.values())), strict=True))
    for one in jobs:
        if one.spec.schedule.is_one_off:
            row = rows[one.key]
            rows[one.key] = None if one.waits or row is None or row.decided_at_version < one.rerun_at_version else row
        elif rows[one.key] is None and is_occurrence(start.spec.schedule, fire_at):
            rows[one.key] = range_over(context, one, fire_at)
    return rows


def _graph_of(context: Context, start: Job) -> tuple[list[Job], bool]:
    """Walk up and down from a job; return the jobs found, and whether there are more. A gate is found as a parent."""

    def is_alike(row: Job) -> bool:
        return row.spec.schedule.is_one_off is start.spec.schedule.is_one_off

    def following(level: Sequence[Job]) -> list[JobKey]:
        return [*(key for one in level for key in one.spec.cycle_keys), *_children(context, level)]

    def belonging(rows: Sequence[Job], level: Sequence[Job]) -> list[Job]:
        above = {key for one in level for key in one.spec.cycle_keys}
        below = {row.key for row in naming_in_cycle(rows, [one.key for one in level]) if is_alike(row)}
        return [row for row in rows if row.key in above | below]

    return _walk(context, start, following, belonging, is_alike)
