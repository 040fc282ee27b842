"""Graphs of jobs as people see them: the jobs around a job, and one cycle of its graph with its runs.

The graph of a recurring job consists of the jobs that share its fire times. A gate is shown with them, but not the
other jobs that depend on the gate, nor the two sides of an edge on which the latest cycle counts. A graph of one-offs
has one cycle, whatever the fire times of its jobs.

A large graph is shown in pages. Each page walks through the graph again and shows the jobs after a position: nothing is
stored, and a graph that does not change has each job on one page.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import partial

from timeball.domain.dependencies.named_cycle import MAX_JOBS, layers
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
from timeball.engine.dependencies.evaluate import ranges_over, standings_of_jobs, standings_of_runs
from timeball.engine.dependencies.examine import ANY, naming_in_cycle
from timeball.engine.dependencies.named_cycles import read_descendants, read_members
from timeball.engine.dependencies.walking import children_of, for_a_request, naming, walk

_AT_ONCE = 1_000
"""How many runs are read together in the search for one that is under way."""


Position = tuple[int | str, ...]
"""The position of a job in the pages of a graph: its side, if there are two, its layer, and its id."""


@dataclass(frozen=True)
class View:
    """The jobs of a graph that a page shows."""

    limit: int = MAX_JOBS
    """The most jobs."""
    after: Position = ()
    """The position at which the page before ended; empty: there was none."""
    within: Mapping[str, str] = field(default_factory=lambda: ANY)
    """The tags that each job must have."""

    def shows(self, job: Job) -> bool:
        """Say whether a job is on any page."""
        return self.within.items() <= job.spec.tags.items()


WHOLE = View()
"""All jobs on one page."""


class Side(IntEnum):
    """Whether a job stands above another one or below it, in the order of the pages."""

    ABOVE = 0
    BELOW = 1


@dataclass(frozen=True)
class Neighbour:
    """A job above or below another one, so many levels away."""

    job: Job
    side: Side
    level: int

    @property
    def position(self) -> Position:
        """Its position among the pages."""
        return self.side, self.level, self.job.key.job_id


@dataclass(frozen=True)
class Graph:
    """A job, and a page of its ancestors, and then of its descendants, the nearest first.

    `is_cut`: there are more than the walk finds; `ends_at`: the position after which another page begins, if any.
    """

    job: Job
    neighbours: tuple[Neighbour, ...]
    is_cut: bool
    ends_at: Position | None


@dataclass(frozen=True)
class Node:
    """A job of a cycle: its run there, if it exists yet; how it stands; the jobs that it still waits for.

    A `gate` is a one-off that recurring jobs wait for.
    """

    job: Job
    layer: int
    run: Run | None
    standing: ParentStanding
    waiting_for: tuple[str, ...] = ()
    is_gate: bool = False

    @property
    def position(self) -> Position:
        """Its position among the pages."""
        return self.layer, self.job.key.job_id


@dataclass(frozen=True)
class Cycle:
    """A page of the jobs of a graph in one cycle, parents first.

    `is_cut`: there are more than the walk finds; `ends_at`: the position after which another page begins, if any;
    `is_over`: no run of a job that any page shows is under way or to come.
    """

    nodes: tuple[Node, ...]
    is_cut: bool
    ends_at: Position | None
    is_over: bool


@dataclass(frozen=True)
class _Member:
    """A job of a cycle with its run, if it exists yet, and how it stands."""

    run: Run | None
    standing: ParentStanding
    parents: Sequence[ParentStanding] | None = None
    """How its parents stand, if the latest cycles of some count and its run waits."""


@dataclass(frozen=True)
class _CycleJobs:
    """The jobs that a cycle may have, and the reading of those that it has."""

    start: Job
    jobs: Sequence[Job]
    is_cut: bool
    read: Callable[[Sequence[Job]], Mapping[JobKey, _Member]]


def read_graph(context: Context, key: JobKey, view: View = WHOLE) -> Graph | None:
    """Read the graph around a job, level by level; None if there is no such job. Raises UnavailableError."""
    (job,) = context.store.jobs.read([key])
    if job is None:
        return None
    found, is_cut = list[Neighbour](), False
    for one, is_cut_here in _neighbours(context, job, view):
        is_cut = is_cut or is_cut_here
        found += [] if one is None else [one]
        if len(found) > view.limit:
            break
    page = found[: view.limit]
    return Graph(job, tuple(page), is_cut, ends_at=page[-1].position if len(found) > len(page) else None)


def _neighbours(context: Context, job: Job, view: View) -> Iterator[tuple[Neighbour | None, bool]]:
    """Yield the jobs of a view after its position, and whether there are more jobs than a walk finds."""

    def up(level: Sequence[Job]) -> list[JobKey]:
        return [key for one in level for key in one.spec.parent_keys]

    extent = for_a_request(context, context.rules.max_ancestors)
    sides = {
        Side.ABOVE: walk(context, job, extent, up, lambda rows, _: rows),
        Side.BELOW: walk(context, job, extent, partial(children_of, context), naming),
    }
    for side, levels in sides.items():
        if (side,) < view.after[:1]:
            continue  # its jobs were on the pages before
        for number, level in enumerate(levels, 1):
            rows = [Neighbour(one, side, number) for one in level.jobs if view.shows(one)]
            yield from ((one, False) for one in rows if one.position > view.after)
            yield None, level.is_cut


def next_after(page: Sequence[Neighbour] | Sequence[Node], shown: int, ends_at: Position | None) -> Position | None:
    """Return the position after which the next page begins, if only the first `shown` jobs of a page are shown."""
    return page[shown - 1].position if shown < len(page) else ends_at


def is_depended_on(context: Context, parent: JobKey) -> bool:
    """Return whether a job that may still run shares the cycles of another, on which it depends.

    An edge only names it. Raises UnavailableError.
    """
    rows = context.store.jobs.read(context.store.edges.children([parent])[0])
    return any(row.is_open for row in naming_in_cycle(rows, [parent]))


def read_cycle(context: Context, job: Job, cycle: CycleId, view: View = WHOLE) -> Cycle | None:
    """Read a page of a cycle of the graph around a job, level by level; None if there is no such cycle.

    Raises UnavailableError.
    """
    found = _find_named(context, job, cycle) if cycle.series else _find_of_schedule(context, job, cycle.fire_at)
    if found is None:
        return None
    placed = [(layer, one) for layer, row in enumerate(layers(found.jobs)) for one in row if view.shows(one)]
    rest = [(layer, one) for layer, one in placed if (layer, one.key.job_id) > view.after]
    page = rest[: view.limit]
    members = found.read(_with_parents([one for _, one in page], found.jobs))
    nodes = tuple(_nodes(found.start, page, members))
    is_over = not _is_any_going(found, [one for _, one in placed], members)
    ends_at = (page[-1][0], page[-1][1].key.job_id) if len(rest) > len(page) else None
    return Cycle(nodes, found.is_cut, ends_at, is_over)


def _latest_of(
    context: Context, jobs: Sequence[Job], runs: Mapping[JobKey, Run | None], now: int
) -> Mapping[JobKey, Sequence[ParentStanding]]:
    """Read how the parents stand of the jobs whose runs wait for a latest cycle. Other jobs cost no read."""
    judged = [job for job in jobs if job.spec.judges_latest]
    waiting = [(run, job) for job in judged if (run := runs[job.key]) is not None and run.waits]
    standings = standings_of_runs(context, waiting, now) if waiting else {}
    return {run.id.job: standings[run.id] for run, _ in waiting}


def _with_parents(page: Sequence[Job], jobs: Sequence[Job]) -> list[Job]:
    """Return jobs, and those of their parents that are among the jobs of the cycle."""
    known = {one.key: one for one in jobs}
    above = {key: known[key] for one in page for key in one.spec.parent_keys if key in known}
    return list(({one.key: one for one in page} | above).values())


def _is_any_going(found: _CycleJobs, jobs: Sequence[Job], members: Mapping[JobKey, _Member]) -> bool:
    """Return whether a job's run is under way or to come; some are read already.

    The last of the others are read first, because they end last.
    """
    if any(members[one.key].standing.state is State.GOING for one in jobs if one.key in members):
        return True
    others = [one for one in jobs if one.key not in members]
    for end in range(len(others), 0, -_AT_ONCE):
        more = found.read(others[max(end - _AT_ONCE, 0) : end])
        if any(member.standing.state is State.GOING for member in more.values()):
            return True
    return False


def _find_of_schedule(context: Context, start: Job, fire_at: int) -> _CycleJobs | None:
    """Find the jobs of the cycle of a fire time."""
    jobs, is_cut = _graph_of(context, start)

    def read(some: Sequence[Job]) -> dict[JobKey, _Member]:
        runs, now = _runs(context, start, some, fire_at), context.clock.now()
        rows = [ParentRows(one.key, one, runs[one.key]) for one in some]
        latest = _latest_of(context, some, runs, now)
        return {
            row.key: _Member(row.run, standing_in_cycle(row, one, fire_at, now), latest.get(row.key))
            for row, one in zip(rows, some, strict=True)
        }

    found = _CycleJobs(start, jobs, is_cut, read)
    if start.spec.schedule.is_one_off:
        return found if fire_at in [one.own_fire_at for one in jobs] else None
    if is_occurrence(start.spec.schedule, fire_at):
        return found
    return found if any(one.run is not None and one.run.covers(fire_at) for one in read(jobs).values()) else None


def _find_named(context: Context, job: Job, cycle: CycleId) -> _CycleJobs | None:
    """Find the jobs of the named cycle in which a job has a run; jobs that no longer exist are left out."""
    row = read_members(context, [job], cycle)[job.key]
    if row is None or row.root is None:
        return None
    (root,) = context.store.jobs.read([JobKey(job.key.tenant, row.root)])
    below, is_cut = ([], False) if root is None else read_descendants(context, root, context.rules.max_ancestors)
    jobs = {one.key: one for one in ([] if root is None else [root, *below])} | {job.key: job}

    def read(some: Sequence[Job]) -> dict[JobKey, _Member]:
        runs = read_members(context, some, cycle)
        standings = {one.key: cycle_of_parent(one.key.job_id, one, runs[one.key], cycle.fire_at) for one in some}
        return {one.key: _Member(runs[one.key], standings[one.key]) for one in some if runs[one.key] is not None}

    return _CycleJobs(job, list(jobs.values()), is_cut, read)


def _nodes(start: Job, page: Sequence[tuple[int, Job]], members: Mapping[JobKey, _Member]) -> Iterator[Node]:
    standings = {key: member.standing for key, member in members.items()}
    for layer, one in page:
        if (member := members.get(one.key)) is not None:
            yield Node(
                one,
                layer,
                member.run,
                member.standing,
                _waiting_for(one, member.run, standings, member.parents),
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
    if not is_occurrence(start.spec.schedule, fire_at):
        return rows
    return {**rows, **ranges_over(context, [one for one in jobs if rows[one.key] is None], fire_at)}


def _graph_of(context: Context, start: Job) -> tuple[list[Job], bool]:
    """Walk up and down from a job; return the jobs found, and whether there are more. A gate is found as a parent."""

    def is_alike(row: Job) -> bool:
        return row.spec.schedule.is_one_off is start.spec.schedule.is_one_off

    def following(level: Sequence[Job]) -> list[JobKey]:
        return [*(key for one in level for key in one.spec.cycle_keys), *children_of(context, level)]

    def belonging(rows: Sequence[Job], level: Sequence[Job]) -> list[Job]:
        above = {key for one in level for key in one.spec.cycle_keys}
        below = {row.key for row in naming_in_cycle(rows, [one.key for one in level]) if is_alike(row)}
        return [row for row in rows if row.key in above | below]

    extent = for_a_request(context, context.rules.max_ancestors)
    levels = [*walk(context, start, extent, following, belonging, is_alike)]
    return [start, *(row for level in levels for row in level.jobs)], any(level.is_cut for level in levels)
