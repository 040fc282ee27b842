"""The effect of a cancel on a job that depends on the cancelled one: it is detached from it, or cancelled with it."""

from collections.abc import Collection, Mapping

from timeball.domain.changes.change import paused, revised
from timeball.domain.dependencies.trigger_rule import ParentStanding, by_its_end, kept_of, standing_of
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.job import Job, JobSpec, JobStatus
from timeball.domain.model.terms.dependency import ParentEnd, State, TriggerRule

_MAY_SUCCEED = frozenset({State.GOING, State.BLOCKED, State.SUCCEEDED, State.DEAD})
"""The states from which a parent may count as succeeded: a user may still repair a dead run."""
_MAY_FAIL = frozenset({State.GOING, State.BLOCKED, State.DEAD})


def detached(job: Job, parent_id: str, now: int) -> Job | None:
    """Return an open job without one of its parents; the same job if it does not name it, None if the job has ended.

    A job is paused if that parent alone gave it its fires, or its items. It keeps the fire times that it has inherited
    as its own.
    """
    if not job.is_open:
        return None
    spec = _without(job.spec, parent_id)
    if spec == job.spec:
        return job
    after = revised(job, spec, now)
    has_lost_all = (spec.inherits, spec.for_each) != (job.spec.inherits, job.spec.for_each)
    if not has_lost_all or (job.spec.schedule.is_one_off and not job.waits):
        return after
    if after.status is JobStatus.PENDING:
        after = evolve(paused(after, now), version=after.version)
    return evolve(after, lost_parent=True)


def _without(spec: JobSpec, parent_id: str) -> JobSpec:
    left = tuple(one for one in spec.depends_on if one.job_id != parent_id)
    if len(left) == len(spec.depends_on):
        return spec
    return evolve(
        spec,
        depends_on=left,
        trigger_rule=spec.trigger_rule if left else TriggerRule.ALL_SUCCEEDED,  # it holds without parents
        inherits=spec.inherits and bool(left),
        pass_parents=spec.pass_parents and bool(left),
        for_each=None if spec.for_each == parent_id else spec.for_each,
    )


def is_lost(job: Job, removed: Collection[JobKey], rows: Mapping[JobKey, Job | None], now: int) -> bool:
    """Say whether none of its remaining parents can let a job run after others were removed.

    `rows` has the remaining parents as they are stored.
    """
    states, are_left = [], False
    for key, parent in zip(job.spec.parent_keys, job.spec.depends_on, strict=True):
        is_left = key not in removed
        state = _state_of(job, key, rows.get(key), now, parent.on) if is_left else State.CANCELLED
        states.append((by_its_end(ParentStanding(state), parent.on).state, is_left))
        are_left = are_left or is_left
    return not (are_left and _may_hold(job.spec.trigger_rule, states))


def _may_hold(rule: TriggerRule, states: Collection[tuple[State, bool]]) -> bool:
    """Say whether a rule may still hold, given the state of each parent, and whether it remains."""
    match rule:
        case TriggerRule.ALL_SUCCEEDED:
            return all(state in _MAY_SUCCEED for state, _ in states)
        case TriggerRule.ALL_DONE:
            return True
        case TriggerRule.ANY_SUCCEEDED:
            return any(is_left and state in _MAY_SUCCEED for state, is_left in states)
        case TriggerRule.ANY_FAILED:
            return any(is_left and state in _MAY_FAIL for state, is_left in states)


def _state_of(child: Job, key: JobKey, parent: Job | None, now: int, on: ParentEnd) -> State:
    """Return the state of a remaining parent.

    A recurring parent that has ended skips every later cycle, but its latest cycle still counts.
    """
    if parent is None or parent.spec.schedule.is_one_off:
        return standing_of(key.job_id, parent, child, now, kept_of(child, key.job_id)).state
    if parent.is_open or on is ParentEnd.LATEST:
        return State.GOING
    return State.CANCELLED if parent.status is JobStatus.CANCELLED else State.SKIPPED
