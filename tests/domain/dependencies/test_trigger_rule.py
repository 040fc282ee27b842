"""What a trigger rule decides, for each combination of its parents' states: tables of cases."""

import pytest

from timeball.domain.dependencies.trigger_rule import (
    CycleStep,
    JoinDecision,
    ParentStanding,
    by_its_end,
    is_awaited,
    join,
)
from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.model.reason import Reason
from timeball.domain.model.terms.dependency import Blocked, ParentEnd, State, TriggerRule

BY_A = Blocked(RunId(JobKey("acme", "a"), 0, Origin.SCHEDULE), ("a",))
G, B, S = ParentStanding(State.GOING), ParentStanding(State.BLOCKED, blocked=BY_A), ParentStanding(State.SUCCEEDED)
D = ParentStanding(State.DEAD, blocked=BY_A)
K, C = ParentStanding(State.SKIPPED), ParentStanding(State.CANCELLED)
RUN, WAIT, BLOCKED = JoinDecision(CycleStep.RUN), JoinDecision(CycleStep.WAIT), JoinDecision(CycleStep.WAIT, None, BY_A)
SKIPPED = JoinDecision(CycleStep.SKIP, Reason.PARENT_SKIPPED)
CANCELLED = JoinDecision(CycleStep.SKIP, Reason.PARENT_CANCELLED)
UNMET = JoinDecision(CycleStep.SKIP, Reason.RULE_UNMET)

# The states of two parents, and the decision by allSucceeded, allDone, anySucceeded and anyFailed.
DECISIONS: dict[str, tuple[tuple[ParentStanding, ...], tuple[JoinDecision, ...]]] = {
    "both go on": ((G, G), (WAIT, WAIT, WAIT, WAIT)),
    "one has succeeded": ((S, G), (WAIT, WAIT, RUN, WAIT)),
    "both have succeeded": ((S, S), (RUN, RUN, RUN, UNMET)),
    "one is dead, one goes on: another may still let it run": ((D, G), (BLOCKED, WAIT, WAIT, RUN)),
    "one is dead, one has succeeded": ((D, S), (BLOCKED, RUN, RUN, RUN)),
    "both are dead": ((D, D), (BLOCKED, RUN, BLOCKED, RUN)),
    "one is blocked, one goes on": ((B, G), (BLOCKED, BLOCKED, WAIT, BLOCKED)),
    "one is blocked, one has succeeded": ((B, S), (BLOCKED, BLOCKED, RUN, BLOCKED)),
    "one was skipped, one goes on": ((K, G), (WAIT, WAIT, WAIT, WAIT)),
    "one was skipped, one has succeeded": ((K, S), (SKIPPED, RUN, RUN, UNMET)),
    "one was skipped, one was cancelled": ((K, C), (CANCELLED, RUN, CANCELLED, UNMET)),
}
RULES = (TriggerRule.ALL_SUCCEEDED, TriggerRule.ALL_DONE, TriggerRule.ANY_SUCCEEDED, TriggerRule.ANY_FAILED)


@pytest.mark.parametrize("case", DECISIONS)
def test_a_trigger_rule_decides_by_the_states_of_the_parents_in_any_order(case: str) -> None:
    parents, decisions = DECISIONS[case]
    assert tuple(join(rule, parents) for rule in RULES) == decisions
    assert tuple(join(rule, parents[::-1]) for rule in RULES) == decisions


# The state of a parent, and its state for children that wait for its success, its failure, and any end.
ENDS: dict[str, tuple[State, tuple[State, State, State]]] = {
    "going": (State.GOING, (State.GOING, State.GOING, State.GOING)),
    "succeeded": (State.SUCCEEDED, (State.SUCCEEDED, State.SKIPPED, State.SUCCEEDED)),
    "dead": (State.DEAD, (State.DEAD, State.SUCCEEDED, State.SUCCEEDED)),
    "skipped": (State.SKIPPED, (State.SKIPPED, State.SKIPPED, State.SUCCEEDED)),
    "cancelled": (State.CANCELLED, (State.CANCELLED, State.CANCELLED, State.SUCCEEDED)),
}


@pytest.mark.parametrize("case", ENDS)
def test_a_parent_counts_by_the_end_that_its_child_waits_for(case: str) -> None:
    state, expected = ENDS[case]
    ends = (ParentEnd.SUCCEEDED, ParentEnd.FAILED, ParentEnd.DONE)
    assert tuple(by_its_end(ParentStanding(state), end).state for end in ends) == expected


def test_only_a_parent_that_may_still_change_the_decision_is_awaited() -> None:
    awaited = {rule: [state for state in State if is_awaited(rule, state)] for rule in RULES}
    may_succeed = [State.GOING, State.BLOCKED, State.DEAD]
    assert awaited == {
        TriggerRule.ALL_SUCCEEDED: may_succeed,
        TriggerRule.ALL_DONE: [State.GOING, State.BLOCKED],
        TriggerRule.ANY_SUCCEEDED: may_succeed,
        TriggerRule.ANY_FAILED: [State.GOING, State.BLOCKED],
    }
