"""Find the jobs of a named cycle, and insert their rows before its first run starts."""

import logging
from collections.abc import Sequence
from functools import partial

from timeball.domain.dependencies.named_cycle import MAX_JOBS, layers, member_run, names_of, takes_part
from timeball.domain.model.ids import CycleId, JobKey, RunId
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.runs.run import Run
from timeball.engine.blackouts.read import within_ceilings
from timeball.engine.context import Context
from timeball.engine.dependencies.examine import naming_in_cycle
from timeball.engine.dependencies.walking import Extent, children_of, walk

log = logging.getLogger(__name__)

_ROWS_AT_ONCE = 1_000
"""How many rows are inserted together."""
_CALL_MS = 5_000
"""How long one call begins to fill cycles: a graph may take some seconds, and other runs are due."""


def read_descendants(
    context: Context, start: Job, most: int = MAX_JOBS - 1, stop_at: int | None = None
) -> tuple[list[Job], bool]:
    """Read the jobs that depend on a job, also indirectly, and take part in its named cycles: the nearest first.

    A job for which the latest cycles of its parents count takes no part. Return the jobs, and whether there are more
    than `most`, or than are found until `stop_at`. Raises UnavailableError.
    """

    def taking_part(rows: Sequence[Job], level: Sequence[Job]) -> list[Job]:
        return [row for row in naming_in_cycle(rows, [one.key for one in level]) if takes_part(row)]

    levels = [*walk(context, start, Extent(most, stop_at), partial(children_of, context), taking_part)]
    return [job for level in levels for job in level.jobs], any(level.is_cut for level in levels)


def read_members(context: Context, jobs: Sequence[Job], cycle: CycleId) -> dict[JobKey, Run | None]:
    """Read the runs of jobs in a named cycle; None: a job has none. Raises UnavailableError."""
    names = [(job.key, name) for job in jobs for name in names_of(job.key, job, cycle)]
    rows = zip(names, context.store.runs.read([name for _, name in names]), strict=True)
    found: dict[JobKey, Run | None] = {job.key: None for job in jobs}
    for (key, _), row in rows:
        found[key] = found[key] or row
    return found


def fill_cycles(context: Context, runs: Sequence[Run]) -> list[Run]:
    """Insert the rows of the other jobs of the named cycles that begin with some of these runs.

    Return the runs without those whose cycles are not filled, because that takes too long: these stay due, and a later
    scan comes to them. Raises UnavailableError.

    Order of writes of fill cycles (a manual trigger of a whole graph, a fire of such a backfill, or an event):

    0. The trigger, the backfill or the event has inserted the root, which waits and is due.
    1. Insert the rows of the descendants, parents first: each waits, and is due later.
    2. Swap the root: released, and due. Then resend.

    Safe: until step 2 the scan repeats step 1, which ends in the same rows. A row finds the rows of all its parents in
    the cycle, so a parent without a row is outside. The root's end wakes the rows that wait for it.
    """
    stop_at = context.clock.now() + _CALL_MS
    left: set[RunId] = set()
    members: dict[JobKey, list[list[Job]]] = {}
    for root, start in _roots(context, runs):
        if members and context.clock.now() >= stop_at:
            left.add(root.id)
            continue
        if start.key not in members:
            found, is_cut = read_descendants(context, start)
            if is_cut:
                log.error("cycle %s leaves out the jobs behind its first %d", root.id, MAX_JOBS)
            members[start.key] = [within_ceilings(context, layer) for layer in layers(found)]
        _fill(context, root, members[start.key])
    return [run for run in runs if run.id not in left]


def _roots(context: Context, runs: Sequence[Run]) -> list[tuple[Run, Job]]:
    """Return the runs that begin a cycle, each with its job, if that is stored."""
    roots = [run for run in runs if run.begins_cycle and run.is_unstarted]
    names = list(dict.fromkeys(root.id.job for root in roots))
    jobs = dict(zip(names, context.store.jobs.read(names), strict=True))
    return [(root, job) for root in roots if (job := jobs[root.id.job]) is not None]


def _fill(context: Context, root: Run, members: Sequence[Sequence[Job]]) -> None:
    """Insert the rows of the layers of a cycle. Of many, those that a call before has inserted are left out."""
    is_large = sum(map(len, members)) > _ROWS_AT_ONCE
    for layer in members:
        for begin in range(0, len(layer), _ROWS_AT_ONCE):
            rows = [member_run(root, job, context.clock.now()) for job in layer[begin : begin + _ROWS_AT_ONCE]]
            standing = context.store.runs.read([row.id for row in rows]) if is_large else [None] * len(rows)
            new = [row for row, there in zip(rows, standing, strict=True) if there is None]
            context.store.runs.insert(new, context.clock.now())
