"""A child is evaluated when the last of its parents has ended, and not at the time when a cancelled parent was due."""

import pytest

from tests.engine.dependencies.graphs import BEGIN, Graph, key, node
from tests.engine.dependencies.test_stale_edges import patch_parents
from timeball.domain.model.evolve import evolve
from timeball.domain.model.jobs.job import JobSpec
from timeball.domain.model.reason import Reason
from timeball.domain.model.terms.dependency import TriggerRule
from timeball.domain.time.instants import DAY_MS, SECOND_MS
from timeball.domain.time.schedule import At, Schedule
from timeball.engine.changes.change import cancel, pause, resume

TOMORROW = BEGIN + DAY_MS
DAY = DAY_MS // SECOND_MS


def tomorrow(one: JobSpec) -> JobSpec:
    return evolve(one, schedule=Schedule(At(TOMORROW)), inherits=False)


@pytest.mark.parametrize("child", [node("c", "a"), tomorrow(node("c", "a"))], ids=["inherits", "has a schedule"])
def test_a_child_is_skipped_as_soon_as_a_parent_that_is_due_tomorrow_is_cancelled(child: JobSpec) -> None:
    with Graph(tomorrow(node("a")), child, node("d", "c")) as graph:
        graph.until(10)
        cancel(graph.play.context(), [(key("a"), None)])
        graph.until(20)
        assert graph.statuses() == {"a": "cancelled", "c": "skipped", "d": "skipped"}
        assert (graph.run("c").reason, graph.run("d").reason) == (Reason.PARENT_CANCELLED, Reason.PARENT_SKIPPED)


def test_an_all_done_child_runs_as_soon_as_its_parent_of_tomorrow_is_cancelled() -> None:
    with Graph(tomorrow(node("a")), node("b"), node("c", "a b", TriggerRule.ALL_DONE)) as graph:
        graph.until(10)
        cancel(graph.play.context(), [(key("a"), None)])
        graph.until(20)
        assert graph.called == ["b", "c"]
        assert graph.run("c").id.fire_at == BEGIN


def test_a_child_with_its_own_schedule_runs_no_earlier_although_its_parent_is_cancelled() -> None:
    with Graph(tomorrow(node("a")), tomorrow(node("c", "a", TriggerRule.ALL_DONE))) as graph:
        cancel(graph.play.context(), [(key("a"), None)])
        graph.until(20)
        assert graph.called == []
        graph.until(DAY + 10)
        assert (graph.called, graph.run("c").id.fire_at) == (["c"], TOMORROW)


def test_the_wait_for_the_other_parents_counts_from_now_once_a_parent_of_tomorrow_is_cancelled() -> None:
    with Graph(tomorrow(node("a")), node("b"), node("c", "a b", TriggerRule.ALL_DONE, timeout=60)) as graph:
        pause(graph.play.context(), [(key("b"), None)])
        graph.until(40)
        cancel(graph.play.context(), [(key("a"), None)])
        graph.until(70)
        assert graph.statuses()["c"] == "skipped"
        assert graph.run("c").reason is Reason.DEPENDENCY_TIMEOUT


def test_a_job_that_gets_parents_late_waits_for_them_from_then_on() -> None:
    with Graph(node("a"), node("c", timeout=60)) as graph:
        for name in "ac":
            pause(graph.play.context(), [(key(name), None)])
        graph.until(300)
        patch_parents(graph, "c", "a")
        resume(graph.play.context(), [(key("c"), None)])
        graph.until(355)
        assert graph.statuses() == {"a": "paused", "c": "pending"}
        graph.until(370)
        assert graph.statuses() == {"a": "paused", "c": "skipped"}
