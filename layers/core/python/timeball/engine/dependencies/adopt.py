"""Give a job that exists other parents, so that no cycle is closed, also not by two who do so at once.

① the edges ② the parents that are wanted, *proposed* on the job's own row ③ a walk up, which counts what others have
proposed. Only then is the job changed. Of changes that would close a cycle together each proposes before it walks: so
the last one to propose sees all others, and is refused. A proposal counts for longer than its maker may act on it.
"""

from collections.abc import Mapping

from timeball.domain.changes.change import LONGEST_REQUEST_SECONDS
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.job import Job, JobSpec
from timeball.domain.model.terms.dependency import Edge, Proposed
from timeball.domain.time.instants import SECOND_MS
from timeball.engine.compare_and_swap import compare_and_swap
from timeball.engine.context import Context
from timeball.engine.dependencies.bind import note_children
from timeball.engine.dependencies.graph import ANY, PROPOSED_MS, Examined, examine, parent_keys
from timeball.ports.collections.rows import Swap
from timeball.ports.errors import ContendedError


def adopt(context: Context, job: Job, spec: JobSpec, within: Mapping[str, str] = ANY) -> Examined:
    """Examine what a change would make of a job as it was read; propose what parents it adds. Raises UnavailableError.

    Who asks knows of jobs with the tags of `within` only. A job that gets no new parent pays nothing.
    """
    added = _added(job, spec)
    if not added and (not spec.depends_on or spec.schedule == job.spec.schedule):
        return Examined(spec)
    (examined,) = examine(context, [spec], within, before=job.spec)
    is_renewed = spec.schedule.is_one_off is not job.spec.schedule.is_one_off
    if examined.faults or not (added or is_renewed):
        return examined
    now = context.clock.now()
    keys = [key for key in parent_keys(spec) if key.job_id in added or is_renewed]
    note_children(context, [Edge(key, job.key) for key in keys], _gates(spec), set(), now)
    (proposed,) = compare_and_swap(context.store.jobs.swap, [job], lambda _, row: _proposing(row, added, now), now)
    if proposed.row is None or not proposed.done:
        raise ContendedError(f"job {job.key.job_id} kept changing")
    (again,) = examine(context, [spec], within, before=job.spec)
    if again.faults:
        context.store.jobs.swap([Swap(proposed.row, evolve(proposed.row, proposed=job.proposed))], now)
    return again


def _gates(spec: JobSpec) -> set[JobKey]:
    return set() if spec.schedule.is_one_off else set(parent_keys(spec))


def may_adopt(row: Job, before: Job, spec: JobSpec, now: int) -> bool:
    """Say whether what a change adds to the parents of a job, read before, is still proposed on its row.

    Nor may a job change between running once and recurring that has got children meanwhile.
    """
    if row.has_children and row.spec.schedule.is_one_off is not spec.schedule.is_one_off:
        return False
    added = _added(before, spec)
    if not added:
        return True
    proposed = row.proposed
    is_in_time = proposed is not None and now <= proposed.at + LONGEST_REQUEST_SECONDS * SECOND_MS
    return is_in_time and proposed is not None and set(added) <= set(proposed.parents)


def _added(job: Job, spec: JobSpec) -> list[str]:
    had = {parent.job_id for parent in job.spec.depends_on}
    return [parent.job_id for parent in spec.depends_on if parent.job_id not in had]


def _proposing(row: Job, added: list[str], now: int) -> Job:
    """Return the row with parents that are proposed, beside what others propose for it just now."""
    others = row.proposed.parents if row.proposed is not None and now < row.proposed.at + PROPOSED_MS else ()
    return evolve(row, proposed=Proposed(now, tuple(dict.fromkeys((*others, *added)))))
