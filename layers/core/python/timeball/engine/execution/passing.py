"""Pass runs that are about to be called the results of their jobs' parents, as they stand now.

A run whose job does not ask for that costs nothing.
"""

from collections.abc import Mapping, Sequence

from timeball.domain.graphs.join import kept_of, run_state_of
from timeball.domain.graphs.passing import PassedParent, handed
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.model.jobs.job import Job, JobStatus, with_spec
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.terms.dependency import Ended
from timeball.engine.context import Context
from timeball.engine.dependencies.cycles import range_over
from timeball.engine.dependencies.graph import parent_keys
from timeball.engine.runs.attempts import answer_of


def pass_parents(context: Context, runs: Sequence[tuple[Run, Job]]) -> list[Job | None]:
    """Return the job of each run with the payload for its call; None if its parents' answers are too large.

    Raises UnavailableError.
    """
    asking = [(run, job) for run, job in runs if job.spec.pass_parents]
    keys = list(dict.fromkeys(key for _, job in asking for key in parent_keys(job.spec)))
    jobs = dict(zip(keys, context.store.jobs.read(keys), strict=True)) if keys else {}
    names = list(dict.fromkeys(_run_of(jobs[key], key, run) for run, job in asking for key in parent_keys(job.spec)))
    rows = dict(zip(names, context.store.runs.read(names), strict=True)) if names else {}
    return [_handed(context, run, job, jobs, rows) if job.spec.pass_parents else job for run, job in runs]


def _run_of(parent: Job | None, key: JobKey, run: Run) -> RunId:
    """Return the parent's run in the cycle; a one-off has the same run in all cycles."""
    is_one_off = parent is not None and parent.spec.schedule.is_one_off
    fire_at = parent.final_fire_at or 0 if parent is not None and is_one_off else run.id.fire_at
    return RunId(key, fire_at, Origin.SCHEDULE)


def _handed(
    context: Context, run: Run, job: Job, jobs: Mapping[JobKey, Job | None], rows: Mapping[RunId, Run | None]
) -> Job | None:
    passed = []
    for key, parent in zip(parent_keys(job.spec), job.spec.depends_on, strict=True):
        standing = jobs[key]
        row = rows[_run_of(standing, key, run)] or range_over(context, standing, run.id.fire_at)
        kept = kept_of(job, parent.job_id) or kept_of(run, parent.job_id)
        passed.append(_passed(context, parent.name or parent.job_id, standing, row, kept))
    work = job.spec.work
    if work is None:
        return job  # the payload that the run was given is gone: its call reports that
    payload = handed(work.payload, passed)
    return None if payload is None else with_spec(job, work=evolve(work, payload=payload))


def _passed(context: Context, name: str, parent: Job | None, row: Run | None, kept: Ended | None) -> PassedParent:
    if row is None:
        if kept is not None:
            return PassedParent(name, run_state_of(kept.state).value)
        is_cancelled = parent is not None and parent.status is JobStatus.CANCELLED
        return PassedParent(name, RunState.CANCELLED.value if is_cancelled else None)
    if row.last_fire_at is not None:
        return PassedParent(name, row.state.value)
    return PassedParent(name, row.state.value, row.id, answer_of(context, row))
