"""What a trigger rule decides, for each combination of its parents' states: tables of cases."""

from dataclasses import replace

import pytest

from tests.engine.play import NOW, spec
from timeball.domain.dependencies.trigger_rule import (
    CycleStep,
    JoinDecision,
    ParentRows,
    ParentStanding,
    by_its_end,
    is_awaited,
    is_latest_cycle,
    join,
    run_in_cycle,
    standing_in_cycle,
)
from timeball.domain.model.ids import JobKey, Origin, RunId, Shards
from timeball.domain.model.jobs.job import Job, JobStatus
from timeball.domain.model.jobs.job_states import new_job
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.terms.dependency import Blocked, Ended, ParentEnd, State, TriggerRule
from timeball.domain.time.instants import MINUTE_MS
from timeball.domain.time.schedule import At, Every

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
    assert by_its_end(ParentStanding(state), ParentEnd.LATEST).state is expected[0]


def test_only_a_parent_that_may_still_change_the_decision_is_awaited() -> None:
    awaited = {rule: [state for state in State if is_awaited(rule, state)] for rule in RULES}
    may_succeed = [State.GOING, State.BLOCKED, State.DEAD]
    assert awaited == {
        TriggerRule.ALL_SUCCEEDED: may_succeed,
        TriggerRule.ALL_DONE: [State.GOING, State.BLOCKED],
        TriggerRule.ANY_SUCCEEDED: may_succeed,
        TriggerRule.ANY_FAILED: [State.GOING, State.BLOCKED],
    }


A = JobKey("acme", "a")
AT = NOW + MINUTE_MS
ONCE = new_job(spec("a", At(NOW)), NOW, Shards(1))
OFTEN = replace(new_job(spec("a", Every(60, NOW)), NOW, Shards(1)), next_fire_at=AT + MINUTE_MS)
OVER = Run(RunId(A, AT, Origin.SCHEDULE), RunState.SUCCEEDED, 1, "normal", 0, AT, AT)

# A parent's job, its run in the cycle, the child's record of it; the fire time of its run there, and its state.
IN_A_CYCLE: dict[str, tuple[Job | None, Run | None, State | None, int, State]] = {
    "a gate that goes on": (ONCE, None, None, NOW, State.GOING),
    "a gate that has succeeded": (replace(ONCE, status=JobStatus.COMPLETED), OVER, None, NOW, State.SUCCEEDED),
    "a recurring parent that has succeeded": (OFTEN, OVER, None, AT, State.SUCCEEDED),
    "one whose run goes on": (OFTEN, replace(OVER, state=RunState.RUNNING), None, AT, State.GOING),
    "one whose run is still to come": (replace(OFTEN, next_fire_at=AT), None, None, AT, State.GOING),
    "one that has no run there": (OFTEN, None, None, AT, State.SKIPPED),
    "one whose run has expired": (OFTEN, None, State.DEAD, AT, State.DEAD),
    "one that was deleted": (None, None, None, AT, State.CANCELLED),
    "one that was deleted after its run": (None, None, State.SUCCEEDED, AT, State.SUCCEEDED),
}


@pytest.mark.parametrize("case", IN_A_CYCLE)
def test_a_parent_in_a_cycle_stands_as_its_run_there_or_as_a_gate(case: str) -> None:
    job, run, kept, fire_at, state = IN_A_CYCLE[case]
    ended = None if kept is None else Ended("a", kept, AT, NOW)
    assert run_in_cycle(A, job, AT) == RunId(A, fire_at, Origin.SCHEDULE)
    assert standing_in_cycle(ParentRows(A, job, run, ended), OFTEN, AT, NOW).state is state


GONE_DEAD = Ended("a", State.DEAD, AT, NOW)
CLOSED, CANCELLED_JOB = (replace(OFTEN, status=status) for status in (JobStatus.COMPLETED, JobStatus.CANCELLED))

# A parent whose latest cycle counts: its job, that cycle, the child's record of it, and its state.
LATEST: dict[str, tuple[Job | None, Run | None, Ended | None, State]] = {
    "its latest cycle has succeeded": (OFTEN, OVER, None, State.SUCCEEDED),
    "its latest cycle has failed": (OFTEN, replace(OVER, state=RunState.FAILED), None, State.DEAD),
    "no cycle has ended yet": (OFTEN, None, None, State.GOING),
    "it is paused before its first cycle": (replace(OFTEN, status=JobStatus.PAUSED), None, None, State.GOING),
    "the one that had failed is being tried again": (OFTEN, None, GONE_DEAD, State.GOING),
    "it has ended after a cycle": (CLOSED, OVER, None, State.SUCCEEDED),
    "it was cancelled after a cycle": (CANCELLED_JOB, OVER, None, State.SUCCEEDED),
    "it has ended without a cycle": (CLOSED, None, None, State.SKIPPED),
    "it was cancelled without a cycle": (CANCELLED_JOB, None, None, State.CANCELLED),
    "it was deleted": (None, None, None, State.CANCELLED),
    "it was deleted after a cycle": (None, None, GONE_DEAD, State.DEAD),
    "it runs once, and goes on": (ONCE, None, None, State.GOING),
    "it runs once, and has succeeded": (replace(ONCE, status=JobStatus.COMPLETED), None, None, State.SUCCEEDED),
}


@pytest.mark.parametrize("case", LATEST)
def test_a_parent_whose_latest_cycle_counts_stands_as_that_cycle(case: str) -> None:
    job, run, kept, state = LATEST[case]
    rows = ParentRows(A, job, run, kept, is_latest=True)
    assert standing_in_cycle(rows, OFTEN, AT + 5 * MINUTE_MS, NOW).state is state


def test_the_latest_cycle_that_blocks_a_child_is_named() -> None:
    dead = replace(OVER, state=RunState.FAILED, finished_at=AT + 5)
    standing = standing_in_cycle(ParentRows(A, OFTEN, dead, is_latest=True), OFTEN, AT + 5 * MINUTE_MS, NOW)
    assert (standing.blocked, standing.fire_at, standing.over_at) == (Blocked(dead.id, ("a",)), AT, AT + 5)
    assert standing.ended == Ended("a", State.DEAD, AT, NOW)


OF_A_TRIGGER = RunId(A, AT, Origin.MANUAL, "cycle")
OF_A_BACKFILL = RunId(A, AT, Origin.BACKFILL, "name")

# A run, and whether it may be the latest cycle of its job.
CANDIDATES: dict[str, tuple[Run, bool]] = {
    "it has succeeded": (OVER, True),
    "it has failed for good": (replace(OVER, state=RunState.FAILED), True),
    "it will be tried again": (replace(OVER, state=RunState.RETRYING), False),
    "it is under way": (replace(OVER, state=RunState.RUNNING), False),
    "it was skipped": (replace(OVER, state=RunState.SKIPPED), False),
    "it was cancelled": (replace(OVER, state=RunState.CANCELLED), False),
    "a cycle that a trigger began": (replace(OVER, id=OF_A_TRIGGER, root="a"), True),
    "a plain manual run": (replace(OVER, id=RunId(A, AT, Origin.MANUAL)), False),
    "a cycle of a backfill": (replace(OVER, id=OF_A_BACKFILL, root="a"), False),
    "an item": (replace(OVER, id=RunId(A, AT, Origin.DEPENDENCY, "1")), False),
}


@pytest.mark.parametrize("case", CANDIDATES)
def test_a_run_with_a_result_in_a_cycle_may_be_the_latest_cycle(case: str) -> None:
    run, is_candidate = CANDIDATES[case]
    assert is_latest_cycle(run) is is_candidate
