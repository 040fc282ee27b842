"""An operation runs a cycle again: whatever crashes, each run of the cycle runs once more, and no other."""

import pytest

from tests.engine.dependencies.graphs import BEGIN, Graph, key, node
from tests.engine.dependencies.reruns import rerun_of, standing
from timeball.domain.model.evolve import evolve
from timeball.domain.model.jobs.job import JobSpec, JobStatus
from timeball.domain.model.terms.dependency import TriggerRule
from timeball.domain.operation import (
    JobFault,
    OperationStatus,
)
from timeball.domain.time.instants import MINUTE_MS
from timeball.domain.time.schedule import Every, Schedule
from timeball.engine.changes.change import cancel
from timeball.engine.operations.operation import create_operation
from timeball.engine.runs.effects import apply_effects

OFTEN = evolve(node("a"), schedule=Schedule(Every(1_000, BEGIN)))
BOTH = pytest.mark.parametrize("first", [node("a"), OFTEN], ids=["once", "recurring"])
SLOPPY = (node("b", "a"), node("c", "b", TriggerRule.ALL_DONE), node("d", "c"))


@BOTH
def test_a_run_under_way_is_waited_for_and_its_children_run_after_it(first: JobSpec) -> None:
    with Graph(first, *SLOPPY) as graph:
        graph.service.is_executing = False
        graph.until(1)
        create_operation(graph.play.context(), rerun_of(graph, *"abcd"))
        graph.until(9)
        assert (standing(graph).status, standing(graph).position) == (OperationStatus.RUNNING, 0)
        graph.service.is_executing = True
        graph.until(60)
        assert standing(graph).status is OperationStatus.SUCCEEDED
        assert (graph.run("a").attempt, [*dict.fromkeys(graph.called[::-1])]) == (2, [*"dcba"]), graph.called


@BOTH
def test_a_run_that_stays_under_way_is_recorded_as_failed(first: JobSpec) -> None:
    with Graph(first, *SLOPPY) as graph:
        graph.service.is_executing = False
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
        graph.service.is_executing = False
        create_operation(graph.play.context(), rerun_of(graph, "a", "b"))
        graph.until(15)
        apply_effects(graph.play.context(), late)
        assert graph.statuses() == {"a": "pending", "b": "pending"}
        graph.service.is_executing = True
        graph.until(40)
        assert graph.statuses() == {"a": "completed", "b": "completed"}
        assert [graph.run(name).attempt for name in "ab"] == [2, 2]
