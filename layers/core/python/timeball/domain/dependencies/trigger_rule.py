"""Whether a job may run, given the states of its parents: one pure decision, by its trigger rule.

Invariant: the decision depends on the present states, not on past events. So any process may take it, at any time, and
repeatedly: a process that is notified of an end twice, or late, decides the same.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum, auto

from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.model.jobs.job import Job, JobStatus
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.terms.dependency import Blocked, Ended, ParentEnd, State, TriggerRule
from timeball.domain.time.instants import MINUTE_MS
from timeball.domain.time.schedule import is_occurrence

_NEW_MS = MINUTE_MS
"""How long a parent may be missing that is created together with its child."""


OVER = frozenset({State.SUCCEEDED, State.DEAD, State.SKIPPED, State.CANCELLED})
"""The states of a parent that has ended."""


@dataclass(frozen=True)
class ParentStanding:
    """The state of a parent."""

    state: State
    """Its state."""
    fire_at: int | None = None
    """Its fire time (ms); None: unknown."""
    blocked: Blocked | None = None
    """The run that blocks the jobs that wait for it; None: it does not block them."""
    ended: Ended | None = None
    """The record that a child stores of an ended parent, whichever end it waits for; None: it has not ended."""
    over_at: int | None = None
    """When its run in a cycle ended (ms); None: unknown, or it has not ended."""
    generation: int = 1
    """The generation of a parent that has not ended."""


@dataclass(frozen=True)
class ParentRows:
    """The rows of a parent of a run, as they were read."""

    key: JobKey
    """The parent."""
    job: Job | None
    """Its job; None: it is gone, or not stored yet."""
    run: Run | None
    """Its run in the cycle of the child's run, or the skipped range there; of a one-off its only run."""
    kept: Ended | None = None
    """The child's record of how the parent ended; None: it has none."""
    is_outside: bool = False
    """It has no run in the named cycle of the child's run."""
    is_latest: bool = False
    """`run` is its latest cycle that has ended."""


class CycleStep(StrEnum):
    """The decision about a cycle."""

    RUN = auto()
    SKIP = auto()
    WAIT = auto()
    NOTIFY = auto()
    """Its children must first learn what blocks it now (evaluation.py)."""


@dataclass(frozen=True)
class JoinDecision:
    """A decision about a cycle, with its reason."""

    step: CycleStep
    """The decision."""
    reason: Reason | None = None
    """Why the cycle is skipped; None: it is not."""
    blocked: Blocked | None = None
    """The run that blocks a cycle that waits; None: it is not blocked."""


_JOB_STATES: Mapping[JobStatus, State] = {
    JobStatus.COMPLETED: State.SUCCEEDED,
    JobStatus.FAILED: State.DEAD,
    JobStatus.SKIPPED: State.SKIPPED,
    JobStatus.CANCELLED: State.CANCELLED,
}
_RUN_STATES: Mapping[RunState, State] = {
    RunState.SUCCEEDED: State.SUCCEEDED,
    RunState.FAILED: State.DEAD,
    RunState.SKIPPED: State.SKIPPED,
    RunState.CANCELLED: State.CANCELLED,
}
"""The states of ended jobs and runs as parents."""


def standing_of(job_id: str, parent: Job | None, child: Job, now: int, kept: Ended | None = None) -> ParentStanding:
    """Return the state of a one-off parent, from its row, or from the child's record of a parent that is gone.

    A parent that is gone without a record was never stored, or will be: it is stored together with its child. A child
    that is run again does not wait for it, because such a parent ended long ago.
    """
    if kept is not None and (parent is None or parent.created_at != kept.created_at):
        return kept_standing(kept, child.key.tenant)
    if parent is None:
        is_new = now < child.created_at + _NEW_MS
        return ParentStanding(State.GOING if is_new else State.CANCELLED if child.rerun_at is None else State.SUCCEEDED)
    fire_at = parent.final_fire_at
    if parent.status in _JOB_STATES:
        ended = Ended(job_id, _JOB_STATES[parent.status], fire_at or 0, parent.created_at, parent.generation)
        return kept_standing(ended, parent.key.tenant)
    if parent.blocked is not None:
        return ParentStanding(State.BLOCKED, fire_at, parent.blocked.through(job_id), generation=parent.generation)
    return ParentStanding(State.GOING, fire_at, generation=parent.generation)


def standing_in_cycle(parent: ParentRows, child: Job, fire_at: int, now: int) -> ParentStanding:
    """Return the state of a parent in the cycle of a fire time. A one-off is a gate: it has one state in all cycles."""
    job_id = parent.key.job_id
    if parent.is_outside:
        return ParentStanding(State.OUTSIDE)
    if parent.job is not None and parent.job.spec.schedule.is_one_off:
        return standing_of(job_id, parent.job, child, now, parent.kept)
    if parent.run is None and parent.kept is not None and not (parent.is_latest and parent.job is not None):
        return kept_standing(parent.kept, parent.key.tenant)
    if parent.is_latest:
        return latest_of_parent(job_id, parent.job, parent.run)
    return cycle_of_parent(job_id, parent.job, parent.run, fire_at)


def run_in_cycle(key: JobKey, job: Job | None, fire_at: int) -> RunId:
    """Return a job's run in the cycle of a fire time. A one-off has one run, the same in all cycles."""
    if job is not None and job.spec.schedule.is_one_off:
        fire_at = job.own_fire_at or 0
    return RunId(key, fire_at, Origin.SCHEDULE) if job is None else job.run_id(fire_at)


def run_state_of(state: State) -> RunState:
    """Return the state of a parent's run, given how the parent ended."""
    return next(run for run, of in _RUN_STATES.items() if of is state)


def kept_of(child: Job | Run, job_id: str) -> Ended | None:
    """Return a child's record of an ended parent; None: it has none."""
    return next((one for one in child.ended if one.job_id == job_id), None)


def kept_by(child: Job | Run) -> dict[str, Ended]:
    """Return a child's records of its ended parents, by their ids."""
    return {one.job_id: one for one in child.ended}


def kept_standing(ended: Ended, tenant: str) -> ParentStanding:
    """Return the state of an ended parent."""
    by = RunId(JobKey(tenant, ended.job_id), ended.fire_at, Origin.SCHEDULE, generation=ended.generation)
    blocked = Blocked(by, (ended.job_id,)) if ended.state is State.DEAD else None
    return ParentStanding(ended.state, ended.fire_at or None, blocked, ended)


def cycle_of_parent(job_id: str, parent: Job | None, row: Run | None, fire_at: int) -> ParentStanding:
    """Return the state of a recurring parent in the cycle of a fire time, from its row and its ledger row there.

    A fire that the parent does not have, or no longer has, counts as skipped.
    """
    if parent is None:
        return ParentStanding(State.CANCELLED)
    if row is None:
        is_to_come = parent.next_fire_at is not None and parent.next_fire_at <= fire_at
        if parent.is_open and is_to_come and is_occurrence(parent.spec.schedule, fire_at):
            return ParentStanding(State.GOING, fire_at, generation=parent.generation)
        return ParentStanding(State.CANCELLED if parent.status is JobStatus.CANCELLED else State.SKIPPED, fire_at)
    if row.state in _RUN_STATES:
        ended = Ended(job_id, _RUN_STATES[row.state], fire_at, parent.created_at, row.id.generation)
        blocked = Blocked(row.id, (job_id,)) if ended.state is State.DEAD else None
        return evolve(kept_standing(ended, parent.key.tenant), blocked=blocked, over_at=row.finished_at)
    if row.blocked is not None:
        return ParentStanding(State.BLOCKED, fire_at, row.blocked.through(job_id), generation=row.id.generation)
    return ParentStanding(State.GOING, fire_at, generation=row.id.generation)


def is_latest_cycle(run: Run) -> bool:
    """Say whether a run may be the latest cycle of its job that has ended: it has succeeded, or failed for good.

    Skipped and cancelled runs have no result; backfills are about the past. A manual run counts in a cycle of its own.
    """
    is_of_a_cycle = run.id.origin is Origin.SCHEDULE or (run.id.origin is Origin.MANUAL and run.root is not None)
    return is_of_a_cycle and run.state in (RunState.SUCCEEDED, RunState.FAILED)


def latest_of_parent(job_id: str, parent: Job | None, row: Run | None) -> ParentStanding:
    """Return the state of a recurring parent by its latest cycle that has ended. It goes on until it has one."""
    if parent is not None and parent.is_open and row is None:
        return ParentStanding(State.GOING, generation=parent.generation)
    return cycle_of_parent(job_id, parent, row, 0 if row is None else row.id.fire_at)


def by_its_end(standing: ParentStanding, on: ParentEnd) -> ParentStanding:
    """Return the state of a parent for a child that may wait for another end than success."""
    if on in (ParentEnd.SUCCEEDED, ParentEnd.LATEST) or standing.state not in OVER:
        return standing
    if on is ParentEnd.DONE or standing.state is State.DEAD:
        return evolve(standing, state=State.SUCCEEDED, blocked=None)
    is_success = standing.state is State.SUCCEEDED
    return evolve(standing, state=State.SKIPPED if is_success else standing.state)


def join(rule: TriggerRule, parents: Sequence[ParentStanding]) -> JoinDecision:
    """Decide about a cycle, given the states of its parents.

    A blocking run is reported even if other parents may still let the cycle run. The cycle is skipped only after no
    parent is going or blocked: then no other order of the same ends would let it run. A job all of whose parents are
    outside a named cycle runs.
    """
    states = [parent.state for parent in parents if parent.state is not State.OUTSIDE]
    if parents and not states:
        return JoinDecision(CycleStep.RUN)
    blocked = next((parent.blocked for parent in parents if _holds_up(rule, parent.state)), None)
    if _is_met(rule, states):
        return JoinDecision(CycleStep.RUN)
    if rule is TriggerRule.ANY_SUCCEEDED and State.GOING in states:
        return JoinDecision(CycleStep.WAIT)
    if blocked is not None or State.GOING in states:
        return JoinDecision(CycleStep.WAIT, blocked=blocked)
    return JoinDecision(CycleStep.SKIP, _why_not(rule, states))


def is_awaited(rule: TriggerRule, parent: State) -> bool:
    """Say whether a waiting cycle waits for a parent in this state: the parent may still end, or may yet succeed."""
    return parent is State.GOING or _holds_up(rule, parent)


def _is_met(rule: TriggerRule, states: Sequence[State]) -> bool:
    match rule:
        case TriggerRule.ALL_SUCCEEDED:
            return all(state is State.SUCCEEDED for state in states)
        case TriggerRule.ALL_DONE:
            return not {State.GOING, State.BLOCKED} & set(states)
        case TriggerRule.ANY_SUCCEEDED:
            return State.SUCCEEDED in states
        case TriggerRule.ANY_FAILED:
            return State.DEAD in states


def _holds_up(rule: TriggerRule, state: State) -> bool:
    """Say whether a parent in this state blocks a child with this rule: the child could run if the parent succeeded."""
    if state is State.BLOCKED:
        return True
    return state is State.DEAD and rule in (TriggerRule.ALL_SUCCEEDED, TriggerRule.ANY_SUCCEEDED)


def _why_not(rule: TriggerRule, states: Sequence[State]) -> Reason:
    if rule is TriggerRule.ANY_FAILED:
        return Reason.RULE_UNMET
    return Reason.PARENT_CANCELLED if State.CANCELLED in states else Reason.PARENT_SKIPPED
