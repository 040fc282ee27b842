"""The expected state of a job that depends on others, computed from how all of them stand at the end.

For a recurring job the state is computed in each of its cycles.
"""

from collections.abc import Mapping, Sequence

from timeball.domain.dependencies.named_cycle import names_of
from timeball.domain.model.ids import JobKey, RunId
from timeball.domain.model.jobs.job import Job, JobSpec, JobStatus
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.terms.dependency import ParentEnd, TriggerRule

GOING, BLOCKED, OVER = "going", "blocked", "over"

_DONE = {JobStatus.COMPLETED, JobStatus.FAILED, JobStatus.SKIPPED, JobStatus.CANCELLED}


def reckoned(jobs: Mapping[JobKey, Job], key: JobKey, below: frozenset[JobKey] = frozenset()) -> str:
    """Return whether a job must wait, because it is blocked or a parent goes on, or whether its wait is over.

    A job that also stands `below` itself, in a circle, goes on.
    """
    if key in below:
        return GOING
    parents = [jobs[JobKey(key.tenant, parent.job_id)] for parent in jobs[key].spec.depends_on]
    below |= {key}
    stands = [parent.status if parent.status in _DONE else _stands(jobs, parent.key, below) for parent in parents]
    return _with_items(jobs[key].spec, stands, _by_rule(jobs[key].spec.trigger_rule, stands))


def reckoned_cycle(
    jobs: Mapping[JobKey, Job], runs: Mapping[RunId, Run], run: Run, below: frozenset[RunId] = frozenset()
) -> str:
    """Return the same for a waiting run, by how its parents stand in its cycle."""
    if run.id in below:
        return GOING
    below |= {run.id}
    spec = jobs[run.id.job].spec
    stands: list[str] = []
    for parent in spec.depends_on:
        job = jobs[JobKey(run.id.job.tenant, parent.job_id)]
        if run.root is not None:
            stands += [] if parent.on is ParentEnd.LATEST else _stands_in_named(jobs, runs, run, job, below)
            continue
        if job.spec.schedule.is_one_off:
            stands.append(job.status if job.status in _DONE else _stands(jobs, job.key, frozenset()))
            continue
        if parent.on is ParentEnd.LATEST:
            latest = latest_of([one for one in runs.values() if one.id.job == job.key])
            none = GOING if job.is_open else JobStatus.SKIPPED
            stands.append(none if latest is None else AS_JOBS[latest.state])
            continue
        row = runs.get(job.run_id(run.id.fire_at))
        if row is not None and row.is_terminal:
            stands.append(AS_JOBS[row.state])
        elif row is not None and row.waits and row.state is RunState.QUEUED:
            stands.append(BLOCKED if reckoned_cycle(jobs, runs, row, below) == BLOCKED else GOING)
        else:
            is_over = row is None and (not job.is_open or job.next_fire_at is None or job.next_fire_at > run.id.fire_at)
            stands.append(JobStatus.SKIPPED if is_over else GOING)
    if run.root is not None:
        return _by_rule(spec.trigger_rule, stands) if stands else OVER
    return _with_items(spec, stands, _by_rule(spec.trigger_rule, stands))


def latest_of(rows: Sequence[Run]) -> Run | None:
    """Return the latest cycle of a job that has succeeded or failed, among its rows."""
    of_cycles = [row for row in rows if row.id.origin == "schedule" or (row.id.origin == "manual" and row.root)]
    over = [row for row in of_cycles if row.state in (RunState.SUCCEEDED, RunState.FAILED)]
    return max(over, key=lambda row: (row.id.fire_at, row.id.origin, row.id.series, row.id.generation), default=None)


def _stands_in_named(
    jobs: Mapping[JobKey, Job], runs: Mapping[RunId, Run], run: Run, parent: Job, below: frozenset[RunId]
) -> list[str]:
    """Return how a parent stands in the named cycle of a run; a parent without a row there does not count."""
    names = names_of(parent.key, parent, run.id.cycle)
    row = next((runs[name] for name in names if name in runs), None)
    if row is None:
        return []
    if row.is_terminal:
        return [AS_JOBS[row.state]]
    is_waiting = row.waits and row.state is RunState.QUEUED
    return [BLOCKED if is_waiting and reckoned_cycle(jobs, runs, row, below) == BLOCKED else GOING]


def _with_items(spec: JobSpec, stands: Sequence[str], state: str) -> str:
    """Return the state of a job whose rule gives `state`: the parent that names its items must be over, too."""
    naming = {stand for one, stand in zip(spec.depends_on, stands, strict=True) if one.job_id == spec.for_each}
    return next(iter(naming & {GOING, BLOCKED}), state) if state == OVER else state


AS_JOBS = {
    RunState.SUCCEEDED: JobStatus.COMPLETED,
    RunState.FAILED: JobStatus.FAILED,
    RunState.SKIPPED: JobStatus.SKIPPED,
    RunState.CANCELLED: JobStatus.CANCELLED,
}


def _by_rule(rule: TriggerRule, stands: Sequence[str]) -> str:
    dead, blocks = JobStatus.FAILED in stands, False
    match rule:
        case TriggerRule.ALL_SUCCEEDED:
            blocks = dead or BLOCKED in stands
        case TriggerRule.ANY_SUCCEEDED:
            if JobStatus.COMPLETED in stands:
                return OVER
            blocks = (dead or BLOCKED in stands) and GOING not in stands
        case TriggerRule.ALL_DONE:
            blocks = BLOCKED in stands
        case TriggerRule.ANY_FAILED:
            if dead:
                return OVER
            blocks = BLOCKED in stands
    return BLOCKED if blocks else GOING if GOING in stands else OVER


def _stands(jobs: Mapping[JobKey, Job], key: JobKey, below: frozenset[JobKey]) -> str:
    """Return whether an open parent is blocked. A paused parent goes on after its resume."""
    is_waiting = jobs[key].waits and jobs[key].status is JobStatus.PENDING
    return BLOCKED if is_waiting and reckoned(jobs, key, below) == BLOCKED else GOING


def waiting_for_nothing(jobs: Mapping[JobKey, Job], runs: Mapping[RunId, Run], live: Sequence[Run]) -> list[str]:
    """Return the faults of waiting jobs: one has no parent to wait for, or is not blocked as it should be."""
    found = []
    for run in live:
        job = jobs[run.id.job]
        parents = [jobs[JobKey(job.key.tenant, parent.job_id)] for parent in job.spec.depends_on]
        if any(parent.status is JobStatus.PAUSED and not parent.spec.schedule.is_one_off for parent in parents):
            continue  # no process is notified of a withdrawn cycle: the next evaluation sees it
        if run.waits and run.state is RunState.QUEUED and job.status is JobStatus.PENDING:
            state = reckoned_cycle(jobs, runs, run)
            if state == OVER or (state == BLOCKED) != (run.blocked is not None):
                found.append(f"{run} should be {state}")
    for key, job in jobs.items():
        if not job.waits or job.status is not JobStatus.PENDING:
            continue
        state = reckoned(jobs, key)
        if state == OVER or (state == BLOCKED) != (job.blocked is not None):
            found.append(f"{key.job_id} should be {state}: {job}")
        elif job.blocked is not None and jobs[job.blocked.by.job].status is not JobStatus.FAILED:
            found.append(f"{key.job_id} is blocked by a job that is not dead: {job}")
    return found
