"""Whether a job may run whose parents stand so: one pure decision, by its trigger rule.

Invariant: it is a decision about how things stand, not about what has happened. So it may be taken by anyone, at any
time, and again: who is told of an end twice, or late, decides the same.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum, auto

from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.model.jobs.job import Job, JobStatus
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.terms.dependency import Blocked, End, Ended, State, TriggerRule
from timeball.domain.time.instants import MINUTE_MS
from timeball.domain.time.schedule import is_occurrence

_NEW_MS = MINUTE_MS
"""For so long a parent may be missing that is created together with its child."""


OVER = frozenset({State.SUCCEEDED, State.DEAD, State.SKIPPED, State.CANCELLED})
"""The states of a parent that has ended."""


@dataclass(frozen=True)
class Standing:
    """A parent's state, its fire time if that is known, and what blocks those that wait for it, if anything does.

    `ended` is what a child keeps of a parent that has ended, whichever end the child waits for; `over_at` is when its
    run in a cycle did.
    """

    state: State
    fire_at: int | None = None
    blocked: Blocked | None = None
    ended: Ended | None = None
    over_at: int | None = None


class Step(StrEnum):
    """What becomes of the cycle."""

    RUN = auto()
    SKIP = auto()
    WAIT = auto()


@dataclass(frozen=True)
class Joined:
    """A step; why a cycle is skipped; what blocks one that waits, if anything does."""

    step: Step
    reason: Reason | None = None
    blocked: Blocked | None = None


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
"""How jobs and runs stand that have ended."""


def standing_of(job_id: str, parent: Job | None, child: Job, now: int, kept: Ended | None = None) -> Standing:
    """Return how a one-off parent stands: by its row, or by what was kept of a parent that is gone.

    A parent that is gone and was not kept was never stored, or will be: it is stored together with its child. A child
    that is run again does not wait for it: such a parent ended long ago.
    """
    if kept is not None and (parent is None or parent.created_at != kept.created_at):
        return kept_standing(kept, child.key.tenant)
    if parent is None:
        is_new = now < child.created_at + _NEW_MS
        return Standing(State.GOING if is_new else State.CANCELLED if child.rerun_at is None else State.SUCCEEDED)
    fire_at = parent.final_fire_at
    if parent.status in _JOB_STATES:
        ended = Ended(job_id, _JOB_STATES[parent.status], fire_at or 0, parent.created_at)
        return kept_standing(ended, parent.key.tenant)
    if parent.blocked is not None:
        return Standing(State.BLOCKED, fire_at, parent.blocked.through(job_id))
    return Standing(State.GOING, fire_at)


def run_state_of(state: State) -> RunState:
    """Return the state of the run of a parent that has ended so."""
    return next(run for run, of in _RUN_STATES.items() if of is state)


def kept_of(child: Job | Run, job_id: str) -> Ended | None:
    """Return what a child has kept of a parent that has ended; None: nothing."""
    return next((one for one in child.ended if one.job_id == job_id), None)


def kept_standing(ended: Ended, tenant: str) -> Standing:
    """Return how a parent stands that has ended so."""
    by = RunId(JobKey(tenant, ended.job_id), ended.fire_at, Origin.SCHEDULE)
    blocked = Blocked(by, (ended.job_id,)) if ended.state is State.DEAD else None
    return Standing(ended.state, ended.fire_at or None, blocked, ended)


def cycle_of_parent(job_id: str, parent: Job | None, row: Run | None, fire_at: int) -> Standing:
    """Return how a recurring parent stands in the cycle of a fire time, by its row and by that of its ledger there.

    A fire that it has not, or not any more, is as one that was skipped.
    """
    if parent is None:
        return Standing(State.CANCELLED)
    if row is None:
        is_to_come = parent.next_fire_at is not None and parent.next_fire_at <= fire_at
        if parent.is_open and is_to_come and is_occurrence(parent.spec.schedule, fire_at):
            return Standing(State.GOING, fire_at)
        return Standing(State.CANCELLED if parent.status is JobStatus.CANCELLED else State.SKIPPED, fire_at)
    if row.state in _RUN_STATES:
        ended = Ended(job_id, _RUN_STATES[row.state], fire_at, parent.created_at)
        return evolve(kept_standing(ended, parent.key.tenant), over_at=row.finished_at)
    if row.blocked is not None:
        return Standing(State.BLOCKED, fire_at, row.blocked.through(job_id))
    return Standing(State.GOING, fire_at)


def by_its_end(standing: Standing, on: End) -> Standing:
    """Return how a parent stands for a child that waits for an end of it other than its success, perhaps."""
    if on is End.SUCCEEDED or standing.state not in OVER:
        return standing
    if on is End.DONE or standing.state is State.DEAD:
        return evolve(standing, state=State.SUCCEEDED, blocked=None)
    is_success = standing.state is State.SUCCEEDED
    return evolve(standing, state=State.SKIPPED if is_success else standing.state)


def join(rule: TriggerRule, parents: Sequence[Standing]) -> Joined:
    """Decide about a cycle by how its parents stand. What blocks it is told even if others may still let it run.

    It is skipped only once nobody is going or blocked: then no other order of the same ends would let it run.
    """
    states = [parent.state for parent in parents]
    blocked = next((parent.blocked for parent in parents if _holds_up(rule, parent.state)), None)
    if _is_met(rule, states):
        return Joined(Step.RUN)
    if rule is TriggerRule.ANY_SUCCEEDED and State.GOING in states:
        return Joined(Step.WAIT)
    if blocked is not None or State.GOING in states:
        return Joined(Step.WAIT, blocked=blocked)
    return Joined(Step.SKIP, _why_not(rule, states))


def is_awaited(rule: TriggerRule, parent: State) -> bool:
    """Say whether a cycle that waits does so for a parent in this state: it may end yet, or be mended."""
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
    """Say whether a parent in this state blocks a child of this rule: mending would still let it run."""
    if state is State.BLOCKED:
        return True
    return state is State.DEAD and rule in (TriggerRule.ALL_SUCCEEDED, TriggerRule.ANY_SUCCEEDED)


def _why_not(rule: TriggerRule, states: Sequence[State]) -> Reason:
    if rule is TriggerRule.ANY_FAILED:
        return Reason.RULE_UNMET
    return Reason.PARENT_CANCELLED if State.CANCELLED in states else Reason.PARENT_SKIPPED
