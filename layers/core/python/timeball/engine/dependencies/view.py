"""The graph around a job, as people see it: the jobs that it depends on, and the jobs that depend on it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.job import Job
from timeball.engine.context import Context
from timeball.engine.dependencies.graph import parent_keys


@dataclass(frozen=True)
class Graph:
    """A job, its ancestors and its descendants, the nearest first; `is_cut`: there are more."""

    job: Job
    ancestors: tuple[Job, ...]
    descendants: tuple[Job, ...]
    is_cut: bool


def read_graph(context: Context, key: JobKey) -> Graph | None:
    """Read the graph around a job, level by level; None if there is no such job. Raises UnavailableError."""
    (job,) = context.store.jobs.read([key])
    if job is None:
        return None

    def parents(level: Sequence[Job]) -> Sequence[Sequence[JobKey]]:
        return [parent_keys(one.spec) for one in level]

    up, is_cut_above = _walk(context, job, parents, lambda _, __: True)
    down, is_cut_below = _walk(
        context, job, partial(children, context), lambda parent, child: parent in parent_keys(child.spec)
    )
    return Graph(job, tuple(up), tuple(down), is_cut_above or is_cut_below)


def children(context: Context, parents: Sequence[Job]) -> list[list[JobKey]]:
    """Return each job's children, by its edges. A job without children costs no read. Raises UnavailableError."""
    named = [parent.key for parent in parents if parent.has_children]
    found = dict(zip(named, context.store.edges.children(named), strict=True))
    return [found.get(parent.key, []) for parent in parents]


def is_depended_on(context: Context, parent: JobKey) -> bool:
    """Return whether a job that may still run depends on another. An edge only names it. Raises UnavailableError."""
    rows = context.store.jobs.read(context.store.edges.children([parent])[0])
    return any(row is not None and row.is_open and parent in parent_keys(row.spec) for row in rows)


def _walk(
    context: Context,
    start: Job,
    following: Callable[[Sequence[Job]], Sequence[Sequence[JobKey]]],
    is_edge: Callable[[JobKey, Job], bool],
) -> tuple[list[Job], bool]:
    """Walk from a job along `following`, level by level; return the jobs found, and whether there are more."""
    found: dict[JobKey, Job] = {start.key: start}
    level = [start]
    while level:
        named = dict(zip([one.key for one in level], following(level), strict=True))
        keys = list(dict.fromkeys(key for keys in named.values() for key in keys if key not in found))
        left = context.rules.max_ancestors - len(found) + 1
        rows = {row.key: row for row in context.store.jobs.read(keys[:left]) if row is not None}
        level = [
            row for row in rows.values() if any(row.key in keys and is_edge(of, row) for of, keys in named.items())
        ]
        found |= {row.key: row for row in level}
        if len(keys) > left:
            return [*found.values()][1:], True
    return [*found.values()][1:], False
