"""Stale edges: a former parent no longer wakes a job that now depends on other parents."""

import pytest

from tests.engine.dependencies.counting import count
from tests.engine.dependencies.graphs import BEGIN, Graph, expire, key, node
from timeball.domain.model.evolve import evolve
from timeball.domain.model.jobs.job import JobSpec
from timeball.domain.model.runs.run import RunState
from timeball.domain.model.terms.dependency import Parent
from timeball.domain.time.instants import SECOND_MS
from timeball.domain.time.schedule import At, Every, Schedule
from timeball.engine.changes.change import ChangeOutcome, pause, resume, revise
from timeball.engine.dependencies.examine import circle_sentence, examine
from timeball.engine.dependencies.parents import adopt


def patch_parents(graph: Graph, job_id: str, parents: str) -> None:
    """Give a job other parents, as a PATCH of `dependsOn` does."""
    context = graph.play.context()
    (job,) = context.store.jobs.read([key(job_id)], with_work=True)
    assert job is not None
    adopted = adopt(context, job, evolve(job.spec, depends_on=tuple(map(Parent, parents.split()))))
    assert not adopted.faults
    assert revise(context, [(job, adopted.spec)])[0].outcome is ChangeOutcome.DONE


RECURRING = evolve(node("p"), schedule=Schedule(Every(20, BEGIN), end_at=BEGIN))
"""A recurring job with one fire."""


@pytest.mark.parametrize("root", [node("p"), RECURRING], ids=["one-offs", "recurring"])
def test_two_jobs_that_have_swapped_their_dependency_are_seldom_written_while_blocked_and_run_after_a_retry(
    root: JobSpec,
) -> None:
    with Graph(root, node("a", "p"), node("b", "p a"), failing="p") as graph:
        patch_parents(graph, "b", "p")
        patch_parents(graph, "a", "p b")
        graph.until(12)
        _, writes = count(graph)
        graph.until(600)
        assert writes["swap"] <= 20
        graph.failing.clear()
        graph.retry("p")
        graph.until(615)
        assert [graph.run(name).state for name in "pba"] == [RunState.SUCCEEDED] * 3
        assert graph.called == ["p", "p", "b", "a"]


def test_a_run_that_was_sent_for_former_parents_is_not_called_before_the_new_parents_have_ended() -> None:
    child = evolve(node("c", "a"), schedule=Schedule(At(BEGIN + 30 * SECOND_MS)), inherits=False)
    with Graph(node("a"), node("z"), child) as graph:
        pause(graph.play.context(), [(key("z"), None)])
        graph.until(27)
        assert graph.run("c").state is RunState.QUEUED
        patch_parents(graph, "c", "z")
        graph.until(40)
        assert graph.called == ["a"]
        resume(graph.play.context(), [(key("z"), None)])
        graph.until(75)
        assert graph.called == ["a", "z", "c"]


def test_a_new_job_with_an_expired_jobs_id_closes_no_cycle_through_that_jobs_edges() -> None:
    with Graph(node("a"), node("x"), node("b", "a"), node("c", "b")) as graph:
        pause(graph.play.context(), [(key("b"), None)])
        graph.until(20)
        expire(graph, "a")
        (closing, open_ended) = (examine(graph.play.context(), [node("a", parent)])[0] for parent in ("c", "x"))
        assert [fault.sentence for fault in closing.faults] == [circle_sentence(["a", "c", "b", "a"])]
        assert open_ended.faults == []


def test_a_stale_edge_to_a_job_with_other_parents_closes_no_cycle() -> None:
    with Graph(node("a"), node("x"), node("b", "a")) as graph:
        pause(graph.play.context(), [(key("b"), None)])
        patch_parents(graph, "b", "x")
        graph.until(20)
        expire(graph, "a")
        assert examine(graph.play.context(), [node("a", "b")])[0].faults == []
