"""Find the jobs of a named cycle, and insert their rows before its first run starts."""

from collections.abc import Sequence

from timeball.domain.dependencies.named_cycle import MAX_JOBS, layers, member_run, names_of, takes_part
from timeball.domain.model.ids import CycleId, JobKey
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.runs.run import Run
from timeball.engine.blackouts.read import within_ceilings
from timeball.engine.context import Context
from timeball.engine.dependencies.examine import naming_in_cycle

_ROWS_AT_ONCE = 1_000
"""How many rows are inserted together."""


def read_descendants(context: Context, start: Job, most: int = MAX_JOBS) -> list[Job]:
    """Read the jobs that depend on a job, also indirectly, and take part in its named cycles: the nearest first.

    A job for which the latest cycles of its parents count takes no part.

    The search ends when more than `most` are found. Raises UnavailableError.
    """
    found: dict[JobKey, Job] = {}
    level = [start]
    while level and len(found) <= most:
        edges = context.store.edges.children([job.key for job in level if job.has_children])
        keys = dict.fromkeys(key for children in edges for key in children if key not in found)
        rows = naming_in_cycle(context.store.jobs.read(list(keys)), [job.key for job in level])
        level = [row for row in rows if takes_part(row)]
        found |= {row.key: row for row in level}
    return list(found.values())


def read_members(context: Context, jobs: Sequence[Job], cycle: CycleId) -> dict[JobKey, Run | None]:
    """Read the runs of jobs in a named cycle; None: a job has none. Raises UnavailableError."""
    names = [(job.key, name) for job in jobs for name in names_of(job.key, job, cycle)]
    rows = zip(names, context.store.runs.read([name for _, name in names]), strict=True)
    found: dict[JobKey, Run | None] = {job.key: None for job in jobs}
    for (key, _), row in rows:
        found[key] = found[key] or row
    return found


def fill_cycles(context: Context, roots: Sequence[Run]) -> None:
    """Insert the rows of the other jobs of named cycles, which these runs begin. Raises UnavailableError.

    Order of writes of fill cycles (a manual trigger of a whole graph, a fire of such a backfill, or an event):

    0. The trigger, the backfill or the event has inserted the root, which waits and is due.
    1. Insert the rows of the descendants, parents first: each waits, and is due later.
    2. Swap the root: released, and due. Then resend.

    Safe: until step 2 the scan repeats step 1, which ends in the same rows. A row finds the rows of all its parents in
    the cycle, so a parent without a row is outside. The root's end wakes the rows that wait for it.
    """
    first = list(dict.fromkeys(root.id.job for root in roots))
    for start in context.store.jobs.read(first) if first else ():
        if start is None:
            continue
        now = context.clock.now()
        own = [root for root in roots if root.id.job == start.key]
        for layer in layers(read_descendants(context, start)):
            rows = [member_run(root, job, now) for root in own for job in within_ceilings(context, layer)]
            for begin in range(0, len(rows), _ROWS_AT_ONCE):
                context.store.runs.insert(rows[begin : begin + _ROWS_AT_ONCE], now)
