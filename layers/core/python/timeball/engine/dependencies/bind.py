"""Bind new jobs to their parents, so that every parent that a job names knows that it has children.

① Write the edges. ② Swap the parents' rows: from then on their ends notify the children. The children's rows come last
and are due at once. So a parent's end either comes after ② and notifies the child, or the first evaluation sees it.
"""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.terms.dependency import Edge
from timeball.engine.compare_and_swap import compare_and_swap
from timeball.engine.context import Context
from timeball.engine.dependencies.graph import parent_keys
from timeball.ports.errors import UnavailableError


def bind(context: Context, jobs: Sequence[Job], now: int) -> list[Job]:
    """Mark the parents of jobs that are about to be inserted together; return the jobs as they must be inserted.

    Raises UnavailableError.
    """
    edges = [Edge(parent, job.key) for job in jobs for parent in parent_keys(job.spec)]
    if not edges:
        return list(jobs)
    gates = {key for job in jobs for key in parent_keys(job.spec) if not job.spec.schedule.is_one_off}
    note_children(context, edges, gates, {job.key for job in jobs}, now)
    named = {edge.parent for edge in edges}
    return [
        evolve(job, has_children=job.key in named, is_gate=job.key in gates and job.spec.schedule.is_one_off)
        for job in jobs
    ]


def note_children(
    context: Context, edges: Sequence[Edge], gates: AbstractSet[JobKey], new: AbstractSet[JobKey], now: int
) -> None:
    """Write edges, and mark each parent that is not new: it has children, or is a gate of recurring jobs.

    Raises UnavailableError.
    """
    context.store.edges.note(edges, now)
    keys = [key for key in dict.fromkeys(edge.parent for edge in edges) if key not in new]
    rows = context.store.jobs.read(keys)
    swapped = compare_and_swap(context.store.jobs.swap, rows, lambda _, job: _with_children(job, gates), now)
    if not all(one.done for one in swapped):
        raise UnavailableError("a parent job kept changing")


def _with_children(job: Job, gates: AbstractSet[JobKey]) -> Job | None:
    is_gate = job.is_gate or (job.key in gates and job.spec.schedule.is_one_off)
    return None if job.has_children and job.is_gate == is_gate else evolve(job, has_children=True, is_gate=is_gate)
