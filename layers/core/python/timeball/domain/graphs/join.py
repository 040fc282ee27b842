"""Whether a job may run whose parents stand so: one pure decision, by its trigger rule.

Invariant: it is a decision about how things stand, not about what has happened. So it may be taken by anyone, at any
time, and again: who is told of an end twice, or late, decides the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum, auto

from timeball.domain.model.ids import Origin, RunId
from timeball.domain.model.jobs.job import Job, JobStatus
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.terms.dependency import Blocked, End, TriggerRule
from timeball.domain.time.instants import MINUTE_MS
from timeball.domain.time.schedule import is_occurrence

_NEW_MS = MINUTE_MS
"""For so long a parent may be missing that is created together with its child."""


class State(StrEnum):
    """How a parent stands in a cycle of its child."""

    GOING = auto()
    """It is to run, or does."""
    BLOCKED = auto()
    """It waits for a dead one itself."""
    SUCCEEDED = auto()
    DEAD = auto()
    """It failed for good: it may be mended."""
    SKIPPED = auto()
    CANCELLED = auto()


@dataclass(frozen=True)
class Standing:
    """A parent's state, its fire time if that is known, and what blocks those that wait for it, if anything does."""

    state: State
    fire_at: int | None = None
    blocked: Blocked | None = None


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


def standing_of(job_id: str, parent: Job | None, child: Job, now: int) -> Standing:
    """Return how a one-off parent stands, by its row; None: it is gone, or not there yet."""
    if parent is None:
        return Standing(State.GOING if now < child.created_at + _NEW_MS else State.CANCELLED)
    fire_at = parent.final_fire_at
    match parent.status:
        case JobStatus.COMPLETED:
            return Standing(State.SUCCEEDED, fire_at)
        case JobStatus.FAILED:
            by = RunId(parent.key, fire_at or 0, Origin.SCHEDULE)
            return Standing(State.DEAD, fire_at, Blocked(by, (job_id,)))
        case JobStatus.SKIPPED:
            return Standing(State.SKIPPED, fire_at)
        case JobStatus.CANCELLED:
            return Standing(State.CANCELLED, fire_at)
    if parent.blocked is not None:
        return Standing(State.BLOCKED, fire_at, parent.blocked.through(job_id))
    return Standing(State.GOING, fire_at)


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
    match row.state:
        case RunState.SUCCEEDED:
            return Standing(State.SUCCEEDED, fire_at)
        case RunState.FAILED:
            return Standing(State.DEAD, fire_at, Blocked(row.id, (job_id,)))
        case RunState.SKIPPED:
            return Standing(State.SKIPPED, fire_at)
        case RunState.CANCELLED:
            return Standing(State.CANCELLED, fire_at)
    if row.blocked is not None:
        return Standing(State.BLOCKED, fire_at, row.blocked.through(job_id))
    return Standing(State.GOING, fire_at)


def by_its_end(standing: Standing, on: End) -> Standing:
    """Return how a parent stands for a child that waits for an end of it other than its success, perhaps."""
    is_success = standing.state is State.SUCCEEDED
    is_over = standing.state not in (State.GOING, State.BLOCKED)
    if on is End.SUCCEEDED or not is_over:
        return standing
    if on is End.DONE or standing.state is State.DEAD:
        return Standing(State.SUCCEEDED, standing.fire_at)
    return Standing(State.SKIPPED if is_success else standing.state, standing.fire_at)


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
