"""Walk through the graph of a job level by level: each level is found from the one before, by one read of its rows.

A walk ends early at the largest size of a graph, and, for a request, after some seconds: a graph may have few jobs and
many levels, and each level waits for the one before.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.job import Job
from timeball.engine.context import Context
from timeball.engine.dependencies.examine import naming_any

WALK_MS = 15_000
"""How long a request walks through a graph: it has time left to answer. A level of 10,000 jobs takes some seconds."""


@dataclass(frozen=True)
class Level:
    """Jobs that are equally far from the first one, by their ids. `is_cut`: there are more jobs; the walk ends here."""

    jobs: list[Job]
    is_cut: bool = False


@dataclass(frozen=True)
class Extent:
    """How far a walk goes."""

    most: int
    """The most jobs beside the first one."""
    stop_at: int | None = None
    """No level is read from this instant on (ms); None: any time."""

    def left(self, found: int, now: int) -> int:
        """Return how many jobs may be read after so many, the first one among them."""
        is_late = self.stop_at is not None and now >= self.stop_at
        return 0 if is_late else self.most - found + 1


def walk(
    context: Context,
    start: Job,
    extent: Extent,
    following: Callable[[Sequence[Job]], Sequence[JobKey]],
    belonging: Callable[[Sequence[Job], Sequence[Job]], Sequence[Job]],
    goes_on: Callable[[Job], bool] = lambda _: True,
) -> Iterator[Level]:
    """Yield the levels around a job, the nearest first. Raises UnavailableError.

    `following` names the jobs beside a level. `belonging` gets those that exist, and the level, and selects some. The
    walk continues from those of them that `goes_on` selects.
    """
    found, level = {start.key}, [start]
    while keys := [key for key in dict.fromkeys(following(level)) if key not in found]:
        left = extent.left(len(found), context.clock.now())
        rows = [row for row in context.store.jobs.read(keys[:left]) if row is not None]
        added = sorted(belonging(rows, level), key=lambda job: job.key)
        yield Level(added, is_cut=len(keys) > left)
        if len(keys) > left:
            return
        found |= {row.key for row in added}
        level = [row for row in added if goes_on(row)]


def children_of(context: Context, parents: Sequence[Job]) -> list[JobKey]:
    """Return the children of jobs, by their edges. A job without children costs no read. Raises UnavailableError."""
    edges = context.store.edges.children([parent.key for parent in parents if parent.has_children])
    return [child for children in edges for child in children]


def naming(rows: Sequence[Job], level: Sequence[Job]) -> list[Job]:
    """Return the rows that still depend on a job of a level."""
    return naming_any(rows, [one.key for one in level])


def for_a_request(context: Context, most: int) -> Extent:
    """Return the extent of a walk that a request waits for, from now on."""
    return Extent(most, context.clock.now() + WALK_MS)
