"""Give new jobs their parents, and existing jobs other parents.

A new job: its parents' rows say that they have children before its own row exists. So a parent's end either notifies
the child, or the child's first evaluation sees that end.

An existing job *proposes* its wanted parents on its own row, and then walks up the graph, counting the proposals of
other jobs too. If several changes would close a circle together, the last one to propose sees all others, and is
refused. A proposal counts for longer than the request that made it lasts.
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from enum import StrEnum, auto

from timeball.domain.changes.change import LONGEST_REQUEST_SECONDS
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.job import Job, JobSpec
from timeball.domain.model.terms.dependency import Edge, Proposed
from timeball.domain.time.instants import SECOND_MS
from timeball.engine.compare_and_swap import change_all, compare_and_swap
from timeball.engine.context import Context
from timeball.engine.dependencies.examine import ANY, Examined, examine, proposed_parents
from timeball.ports.errors import ContendedError
from timeball.ports.rows import Swap


class Adoption(StrEnum):
    """The examination that a change of a job needs."""

    NONE = auto()
    """Its parents and its fire times stay."""
    EXAMINE = auto()
    """Its fire times change, which its parents must share; or a parent whose latest cycle counted must share them."""
    PROPOSE = auto()
    """It gets new parents, or other cycles with the same parents: this might close a circle."""


def bind(context: Context, jobs: Sequence[Job], now: int) -> list[Job]:
    """Mark the parents of jobs that are about to be inserted together; return the jobs as they must be inserted.

    Raises UnavailableError.

    Order of writes of bind (a new job to its parents):

    1. Insert the edges.
    2. Swap the parents: they have children; then submit.

    Safe: a parent that ends after step 2 notifies the child; the first evaluation sees an earlier end.
    """
    edges = [Edge(parent, job.key) for job in jobs for parent in job.spec.parent_keys]
    if not edges:
        return list(jobs)
    gates = {key for job in jobs for key in _gates(job.spec)}
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
    change_all(context.store.jobs.swap, rows, lambda _, job: _with_children(job, gates), now, "a parent job")


def adoption_of(before: JobSpec, after: JobSpec) -> Adoption:
    """Classify a change of a job by its specs."""
    if not after.depends_on:
        return Adoption.NONE
    if _added(before, after) or _is_renewed(before, after):
        return Adoption.PROPOSE
    is_as_before = before.schedule == after.schedule and set(after.cycle_keys) <= set(before.cycle_keys)
    return Adoption.NONE if is_as_before else Adoption.EXAMINE


def adopt(context: Context, job: Job, spec: JobSpec, within: Mapping[str, str] = ANY) -> Examined:
    """Examine what a change would make of a job as it was read, and propose the parents that it adds.

    The caller sees only jobs with the tags of `within`. A job that gets no new parent costs nothing. Raises
    UnavailableError, and ContendedError if the job kept changing.

    Order of writes of adopt (a job that exists gets other parents):

    1. The edges and the parents' rows, as bind does.
    2. Swap the job: the parents are proposed.
    3. Walk up the graph, counting the proposals of others.
    4. Change the job, if its proposal stands and is young.

    Safe: of the changes that close a circle together, the last to propose sees all others.
    """
    adoption = adoption_of(job.spec, spec)
    if adoption is Adoption.NONE:
        return Examined(spec)
    (examined,) = examine(context, [spec], within, before=job.spec)
    if examined.faults or adoption is Adoption.EXAMINE:
        return examined
    now = context.clock.now()
    proposed = _propose(context, job, spec, now)
    (again,) = examine(context, [spec], within, before=job.spec)
    if again.faults:
        context.store.jobs.swap([Swap(proposed, evolve(proposed, proposed=job.proposed))], now)
    return again


def may_adopt(row: Job, before: Job, spec: JobSpec, now: int) -> bool:
    """Return whether the parents that a change adds to a job, read before, are still proposed on its row.

    A job that has got children meanwhile may also not change between one-off and recurring.
    """
    if row.has_children and _is_renewed(row.spec, spec):
        return False
    added, proposed = _added(before.spec, spec), row.proposed
    if not added or proposed is None:
        return not added
    is_in_time = now <= proposed.at + LONGEST_REQUEST_SECONDS * SECOND_MS
    return is_in_time and set(added) <= set(proposed.parents)


def _with_children(job: Job, gates: AbstractSet[JobKey]) -> Job | None:
    is_gate = job.is_gate or (job.key in gates and job.spec.schedule.is_one_off)
    return None if job.has_children and job.is_gate == is_gate else evolve(job, has_children=True, is_gate=is_gate)


def _propose(context: Context, job: Job, spec: JobSpec, now: int) -> Job:
    """Write the edges of a changed job, and propose its new parents; return its row."""
    added = _added(job.spec, spec)
    keys = [key for key in spec.parent_keys if key.job_id in added or _is_renewed(job.spec, spec)]
    note_children(context, [Edge(key, job.key) for key in keys], _gates(spec), set(), now)
    (proposed,) = compare_and_swap(context.store.jobs.swap, [job], lambda _, row: _proposing(row, added, now), now)
    if proposed.row is None or not proposed.done:
        raise ContendedError(f"job {job.key.job_id} kept changing")
    return proposed.row


def _proposing(row: Job, added: list[str], now: int) -> Job:
    """Return the row with the proposed parents, added to those that other changes propose for it at the moment."""
    return evolve(row, proposed=Proposed(now, tuple(dict.fromkeys((*proposed_parents(row, now), *added)))))


def _is_renewed(before: JobSpec, after: JobSpec) -> bool:
    return before.schedule.is_one_off is not after.schedule.is_one_off


def _added(before: JobSpec, after: JobSpec) -> list[str]:
    had = {parent.job_id for parent in before.depends_on}
    return [parent.job_id for parent in after.depends_on if parent.job_id not in had]


def _gates(spec: JobSpec) -> set[JobKey]:
    """Return the jobs that are gates if they are one-offs: a recurring job waits for them."""
    return set() if spec.schedule.is_one_off else set(spec.parent_keys)
