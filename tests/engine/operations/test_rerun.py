"""An operation runs a cycle again: whatever crashes, each run of the cycle runs once more, and no other."""

from typing import Any

import pytest

from tests.engine.dependencies.graphs import BEGIN, Graph, key, node
from tests.engine.dependencies.reruns import rerun_of, standing
from tests.engine.operations.operations import operation
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey, Origin, RunId, Shards
from timeball.domain.model.jobs.job import Job, JobSpec, JobStatus, Priority
from timeball.domain.model.jobs.job_states import new_job
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.runs.values import FanOut
from timeball.domain.model.terms.dependency import TriggerRule
from timeball.domain.operation import (
    JobFault,
    OperationAction,
    OperationStatus,
    Rerun,
    RerunMode,
)
from timeball.domain.time.instants import MINUTE_MS
from timeball.domain.time.schedule import Every, Schedule
from timeball.engine.changes.change import cancel
from timeball.engine.operations.operation import advance_operations, create_operation
from timeball.engine.operations.rerun import RerunStep, rerun_step
from timeball.engine.runs.effects import apply_effects

ASKED_AT = BEGIN + MINUTE_MS
ONCE = evolve(new_job(node("a"), BEGIN, Shards(1)), status=JobStatus.COMPLETED, final_fire_at=BEGIN)
RECURRING = new_job(evolve(node("a"), schedule=Schedule(Every(60, BEGIN))), BEGIN, Shards(1))
CHILD = new_job(evolve(node("b", "a"), schedule=Schedule(Every(60, BEGIN))), BEGIN, Shards(1))


def _ended(state: RunState = RunState.SUCCEEDED, job: Job = ONCE, **fields: Any) -> Run:
    return Run(RunId(job.key, BEGIN, Origin.SCHEDULE), state, 1, Priority.NORMAL, 0, BEGIN, BEGIN, attempt=1, **fields)


ITEMS = FanOut(RunId(JobKey("acme", "parent"), BEGIN, Origin.SCHEDULE))
ALL, FAILED = RerunMode.ALL, RerunMode.FAILED
DOWNSTREAM = RerunMode.FAILED_AND_DOWNSTREAM

# Each case: the part of the cycle, the job as it stands, its run of the cycle, and the step. Job `a` runs again too.
STEPS = {
    "its run has ended": (ALL, ONCE, _ended(), RerunStep.CLEAR),
    "its recurring run has ended": (ALL, RECURRING, _ended(job=RECURRING), RerunStep.CLEAR),
    "only the failed ones": (FAILED, ONCE, _ended(RunState.FAILED), RerunStep.RETRY),
    "it was cleared": (ALL, evolve(ONCE, rerun_at=ASKED_AT), _ended(), RerunStep.NOTHING),
    "its recurring run was cleared": (ALL, RECURRING, _ended(budget_at=ASKED_AT), RerunStep.NOTHING),
    "it was cleared by an earlier request": (ALL, evolve(ONCE, rerun_at=ASKED_AT - 1), _ended(), RerunStep.CLEAR),
    "it runs": (ALL, RECURRING, _ended(RunState.RUNNING), RerunStep.WAIT),
    "the effects of its end are due": (ALL, ONCE, _ended(due_at=BEGIN), RerunStep.WAIT),
    "it has not run": (ALL, RECURRING, None, RerunStep.NOTHING),
    "a calendar skipped it": (ALL, RECURRING, _ended(RunState.SKIPPED, reason=Reason.CALENDAR), RerunStep.NOTHING),
    "its parents skipped it": (ALL, RECURRING, _ended(RunState.SKIPPED, reason=Reason.PARENT_SKIPPED), RerunStep.CLEAR),
    "it has items, and its parents stay": (DOWNSTREAM, RECURRING, _ended(fan=ITEMS), RerunStep.RETRY),
    "it has items, and a parent runs again": (DOWNSTREAM, CHILD, _ended(job=CHILD, fan=ITEMS), RerunStep.CLEAR),
    "it has items, and all jobs run again": (ALL, RECURRING, _ended(fan=ITEMS), RerunStep.CLEAR),
}


@pytest.mark.parametrize("case", STEPS)
def test_the_step_of_a_rerun_follows_from_the_job_and_its_run(case: str) -> None:
    mode, job, run, step = STEPS[case]
    rerun = Rerun("a", BEGIN, mode)
    asked = evolve(operation(OperationAction.RERUN, ASKED_AT), rerun=rerun, batch=("a",))
    assert rerun_step(asked, rerun, job, run, asked.batch) is step


OFTEN = evolve(node("a"), schedule=Schedule(Every(1_000, BEGIN)))
BOTH = pytest.mark.parametrize("first", [node("a"), OFTEN], ids=["once", "recurring"])
SLOPPY = (node("b", "a"), node("c", "b", TriggerRule.ALL_DONE), node("d", "c"))


@BOTH
def test_a_run_under_way_is_waited_for_and_its_children_run_after_it(first: JobSpec) -> None:
    with Graph(first, *SLOPPY) as graph:
        graph.service.engine.is_executing = False
        graph.until(1)
        create_operation(graph.play.context(), rerun_of(graph, *"abcd"))
        graph.until(9)
        assert (standing(graph).status, standing(graph).position) == (OperationStatus.RUNNING, 0)
        graph.service.engine.is_executing = True
        graph.until(60)
        assert standing(graph).status is OperationStatus.SUCCEEDED
        assert (graph.run("a").attempt, [*dict.fromkeys(graph.called[::-1])]) == (2, [*"dcba"]), graph.called


@BOTH
def test_a_run_that_stays_under_way_is_recorded_as_failed(first: JobSpec) -> None:
    with Graph(first, *SLOPPY) as graph:
        graph.service.engine.is_executing = False
        graph.until(1)
        create_operation(graph.play.context(), rerun_of(graph, "a"))
        graph.until(6 * MINUTE_MS // 1_000)
        assert [failure.fault for failure in standing(graph).failures] == [JobFault.UNDER_WAY]


@BOTH
def test_a_job_that_was_cancelled_meanwhile_stays_cancelled(first: JobSpec) -> None:
    with Graph(first, *SLOPPY, failing="b") as graph:
        graph.until(10)
        cancel(graph.play.context(), [(key("d"), None)])
        create_operation(graph.play.context(), rerun_of(graph, "d", "nobody"))
        graph.until(20)
        if graph.job("d").status is JobStatus.CANCELLED:  # a one-off that has ended stays as it ended
            assert [failure.fault for failure in standing(graph).failures] == [
                JobFault.JOB_CANCELLED,
                JobFault.JOB_GONE,
            ]


def test_the_late_effects_of_its_first_end_do_not_end_a_job_that_runs_again() -> None:
    with Graph(node("a"), node("b", "a")) as graph:
        graph.until(10)
        late = [(graph.run(name), graph.job(name)) for name in "ab"]
        graph.service.engine.is_executing = False
        create_operation(graph.play.context(), rerun_of(graph, "a", "b"))
        graph.until(15)
        apply_effects(graph.play.context(), late)
        assert graph.statuses() == {"a": "pending", "b": "pending"}
        graph.service.engine.is_executing = True
        graph.until(40)
        assert graph.statuses() == {"a": "completed", "b": "completed"}
        assert [graph.run(name).attempt for name in "ab"] == [2, 2]


@BOTH
@pytest.mark.parametrize("at_once", [1, 2, 3])
def test_a_rerun_of_several_lists_runs_each_job_once_in_their_order(first: JobSpec, at_once: int) -> None:
    with Graph(first, *SLOPPY) as graph:
        graph.until(10)
        asked = rerun_of(graph, *"abcd", at_once=at_once)
        assert (len(asked.batch), len(asked.lists)) == (at_once, -(-4 // at_once))
        create_operation(graph.play.context(), asked)
        graph.until(60)
        done = standing(graph)
        assert (done.status, done.matched, done.done, done.failed) == (OperationStatus.SUCCEEDED, 4, 4, 0)
        assert graph.called == [*"abcdabcd"]


@BOTH
def test_a_process_that_has_read_an_earlier_list_counts_nothing_of_the_next_one(first: JobSpec) -> None:
    with Graph(first, *SLOPPY) as graph:
        graph.until(10)
        asked = evolve(rerun_of(graph, *"abcd", at_once=2), due_at=BEGIN + MINUTE_MS)
        assert graph.play.store.operations.insert([asked], BEGIN) == [None]
        advance_operations(graph.play.context(), [asked], ASKED_AT)
        next_list = standing(graph)
        assert (next_list.batch, next_list.position, next_list.done) == (("c", "d"), 0, 2)
        advance_operations(graph.play.context(), [asked], ASKED_AT)
        assert standing(graph) == next_list


def test_a_run_with_items_finds_its_parent_in_an_earlier_list() -> None:
    asked = evolve(operation(OperationAction.RERUN, ASKED_AT), rerun=Rerun("a", BEGIN, DOWNSTREAM), batch=("b",))
    run = _ended(job=CHILD, fan=ITEMS)
    assert rerun_step(asked, Rerun("a", BEGIN, DOWNSTREAM), CHILD, run, asked.batch) is RerunStep.RETRY
    assert rerun_step(asked, Rerun("a", BEGIN, DOWNSTREAM), CHILD, run, {"a", "b"}) is RerunStep.CLEAR
