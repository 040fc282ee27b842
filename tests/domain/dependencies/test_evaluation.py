"""The next step of a job or run that waits for its parents: tables of cases."""

from dataclasses import replace
from typing import Any

import pytest

from tests.engine.play import spec
from timeball.domain.dependencies.evaluation import Need, decide, job_evaluated, need_of, run_evaluated
from timeball.domain.dependencies.trigger_rule import CycleStep, ParentStanding
from timeball.domain.model.ids import JobKey, Origin, RunId, Shards
from timeball.domain.model.jobs.job import Intent, Job, JobStatus, Verb
from timeball.domain.model.jobs.job_states import new_job
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.terms.dependency import Blocked, Parent, State, TriggerRule
from timeball.domain.time.instants import HOUR_MS, SECOND_MS
from timeball.domain.time.schedule import At

NOW = HOUR_MS
LATER = NOW + 1
KEY = JobKey("acme", "child")
WAITING = replace(
    new_job(replace(spec("child", At(NOW)), depends_on=(Parent("a"), Parent("b"))), NOW, Shards(1)), has_children=True
)
RUN = Run(RunId(KEY, NOW, Origin.SCHEDULE), RunState.QUEUED, 1, "normal", 0, NOW, NOW, due_at=NOW, waits=True)
DEAD_RUN = RunId(JobKey("acme", "a"), NOW, Origin.SCHEDULE)
BY_A = Blocked(DEAD_RUN, ("a",))
GOING, GOOD = ParentStanding(State.GOING, NOW), ParentStanding(State.SUCCEEDED, NOW)
DEAD, GONE = ParentStanding(State.DEAD, NOW, BY_A), ParentStanding(State.CANCELLED, NOW)
INTENT = Intent(Verb.PAUSE, NOW, None)

# A row, the differences of it, and what it needs.
NEEDS: dict[str, tuple[Job | Run, dict[str, Any], Need]] = {
    "a job that waits": (WAITING, {}, Need.EVALUATE),
    "a job that waits, with news for its children": (WAITING, {"must_notify_children": True}, Need.NOTIFY),
    "a job that waits, paused: its resume evaluates it": (WAITING, {"status": JobStatus.PAUSED}, Need.NOTHING),
    "a job that waits, while a change is reconciled": (WAITING, {"intent": INTENT}, Need.NOTHING),
    "a job without parents": (WAITING, {"waits": False}, Need.START),
    "a job that has ended, with news for its children": (
        WAITING,
        {"waits": False, "status": JobStatus.FAILED, "must_notify_children": True},
        Need.NOTIFY,
    ),
    "a run that waits": (RUN, {}, Need.EVALUATE),
    "a run that waits, with news for its children": (RUN, {"must_notify_children": True}, Need.NOTIFY),
    "a run that was let go": (RUN, {"waits": False}, Need.START),
    "a run that was skipped": (RUN, {"state": RunState.SKIPPED, "waits": False}, Need.NOTHING),
    "a run that was withdrawn": (RUN, {"state": RunState.WITHDRAWN}, Need.NOTHING),
}


@pytest.mark.parametrize("case", NEEDS)
def test_a_due_row_gets_what_it_needs(case: str) -> None:
    row, changes, need = NEEDS[case]
    assert need_of(replace(row, **changes)) is need


# Differences of the waiting job, the states of its parents, and the decision in time and too late.
DECISIONS: dict[str, tuple[dict[str, Any], tuple[ParentStanding, ...], CycleStep, CycleStep]] = {
    "all have succeeded": ({}, (GOOD, GOOD), CycleStep.RUN, CycleStep.RUN),
    "one goes on": ({}, (GOOD, GOING), CycleStep.WAIT, CycleStep.SKIP),
    "one was cancelled": ({}, (GOOD, GONE), CycleStep.SKIP, CycleStep.SKIP),
    "one is dead: its own children must know": ({}, (DEAD, GOING), CycleStep.NOTIFY, CycleStep.SKIP),
    "one is dead, and it has no children": ({"has_children": False}, (DEAD, GOING), CycleStep.WAIT, CycleStep.SKIP),
    "one is dead, as its children know": ({"blocked": BY_A}, (DEAD, GOING), CycleStep.WAIT, CycleStep.NOTIFY),
    "one that was dead goes on": ({"blocked": BY_A}, (GOING, GOING), CycleStep.NOTIFY, CycleStep.NOTIFY),
    "one that was dead has succeeded": ({"blocked": BY_A}, (GOOD, GOOD), CycleStep.NOTIFY, CycleStep.NOTIFY),
}


@pytest.mark.parametrize("case", DECISIONS)
def test_a_waiting_job_moves_only_when_its_children_know_what_blocks_it(case: str) -> None:
    changes, parents, in_time, too_late = DECISIONS[case]
    job = replace(WAITING, **changes)
    assert decide(job, job, parents, LATER, NOW).step is in_time
    assert decide(job, job, parents, NOW, NOW).step is too_late


# The states of the parent that names the items and of the other, and the decision.
ITEMS: dict[str, tuple[tuple[ParentStanding, ...], CycleStep]] = {
    "both have ended": ((GOOD, GOOD), CycleStep.RUN),
    "the other has ended, and more items may come": ((GOING, GOOD), CycleStep.WAIT),
}


@pytest.mark.parametrize("case", ITEMS)
def test_a_job_with_items_waits_for_the_run_that_names_them(case: str) -> None:
    parents, step = ITEMS[case]
    rule = replace(WAITING.spec, trigger_rule=TriggerRule.ANY_SUCCEEDED, for_each="a")
    job = replace(WAITING, spec=rule)
    assert decide(job, job, parents, LATER, NOW).step is step


# Differences of the job, the states of its parents, and the differences of its next row.
JOBS: dict[str, tuple[dict[str, Any], tuple[ParentStanding, ...], dict[str, Any]]] = {
    "let go, at its fire time": ({}, (GOOD, GOOD), {"waits": False, "skips": None, "due_at": NOW}),
    "skipped": ({}, (GOOD, GONE), {"waits": False, "skips": Reason.PARENT_CANCELLED}),
    "blocked, with children to notify": (
        {},
        (DEAD, GOOD),
        {"waits": True, "blocked": BY_A, "must_notify_children": True, "due_at": NOW},
    ),
    "unblocked, with children to notify": (
        {"blocked": BY_A},
        (GOING, GOOD),
        {"waits": True, "blocked": None, "unblocked": 1, "must_notify_children": True},
    ),
    "waiting, evaluated again later": ({}, (GOING, GOOD), {"waits": True, "due_at": NOW + 30 * SECOND_MS}),
}


@pytest.mark.parametrize("case", JOBS)
def test_the_next_row_of_a_waiting_job_follows_from_its_parents(case: str) -> None:
    changes, parents, expected = JOBS[case]
    after = job_evaluated(replace(WAITING, **changes), parents, NOW)
    assert {name: getattr(after, name) for name in expected} == expected


# The job (None: it is gone), differences of its run, the states of its parents, and the differences of the next row.
RUNS: dict[str, tuple[Job | None, dict[str, Any], tuple[ParentStanding, ...], dict[str, Any]]] = {
    "its job is gone": (None, {}, (), {"state": RunState.CANCELLED, "reason": Reason.JOB_CANCELLED}),
    "its job was cancelled": (
        replace(WAITING, status=JobStatus.CANCELLED),
        {},
        (GOOD, GOOD),
        {"state": RunState.CANCELLED, "reason": Reason.JOB_CANCELLED},
    ),
    "its job is paused": (
        replace(WAITING, status=JobStatus.PAUSED),
        {},
        (GOOD, GOOD),
        {"state": RunState.WITHDRAWN},
    ),
    "its job is paused, and it is run again": (
        replace(WAITING, status=JobStatus.PAUSED),
        {"attempt": 1},
        (GOOD, GOOD),
        {"state": RunState.QUEUED, "waits": False},
    ),
    "let go": (WAITING, {}, (GOOD, GOOD), {"waits": False, "reason": None, "let_go_at": NOW, "due_at": NOW}),
    "skipped": (WAITING, {}, (GOOD, GONE), {"state": RunState.SKIPPED, "reason": Reason.PARENT_CANCELLED}),
    "blocked, with children to notify": (
        WAITING,
        {},
        (DEAD, GOOD),
        {"waits": True, "reason": Reason.BLOCKED, "must_notify_children": True},
    ),
    "waiting, evaluated again later": (
        WAITING,
        {},
        (GOING, GOOD),
        {"waits": True, "reason": Reason.WAITING_FOR_PARENTS, "due_at": NOW + 30 * SECOND_MS},
    ),
}


@pytest.mark.parametrize("case", RUNS)
def test_the_next_row_of_a_waiting_run_follows_from_its_job_and_its_parents(case: str) -> None:
    job, changes, parents, expected = RUNS[case]
    after = run_evaluated(replace(RUN, **changes), job, parents, NOW)
    assert {name: getattr(after, name) for name in expected} == expected
