"""Rows of finished jobs and runs expire. A child that waits for other parents remembers how the expired ones ended."""

import json

import pytest

from tests.engine.dependencies.graphs import BEGIN, Graph, expire, key, node
from tests.engine.dependencies.test_stale_edges import patch_parents
from timeball.domain.model.evolve import evolve
from timeball.domain.model.jobs.job import JobSpec
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import RunState
from timeball.domain.model.terms.dependency import Parent, TriggerRule
from timeball.domain.time.instants import DAY_MS, SECOND_MS
from timeball.domain.time.schedule import At, Every, Schedule
from timeball.engine.changes.change import cancel, pause, resume

FAR = 100 * DAY_MS // SECOND_MS
"""Longer than finished jobs are kept (s)."""


def far(job_id: str) -> JobSpec:
    return evolve(node(job_id), schedule=Schedule(At(BEGIN + FAR * SECOND_MS)))


# How the expired parent ended; the rule; what becomes of the child after the other parent has succeeded, and why.
ENDS: dict[str, tuple[str, TriggerRule, str, Reason | None]] = {
    "it succeeded": ("succeeds", TriggerRule.ALL_SUCCEEDED, "completed", None),
    "it died, and the child waits for all to be done": ("dies", TriggerRule.ALL_DONE, "completed", None),
    "it died, and the child waits for it": ("dies", TriggerRule.ALL_SUCCEEDED, "blocked", None),
    "it was cancelled": ("is cancelled", TriggerRule.ALL_SUCCEEDED, "skipped", Reason.PARENT_CANCELLED),
}


@pytest.mark.parametrize("case", ENDS)
def test_an_expired_parent_counts_as_it_ended(case: str) -> None:
    end, rule, status, reason = ENDS[case]
    failing = "a" if end == "dies" else ""
    child = node("c", "a x", rule, timeout=366 * 86_400)
    with Graph(node("a"), far("x"), child, failing=failing) as graph:
        if end == "is cancelled":
            cancel(graph.play.context(), [(key("a"), None)])
        graph.until(20)
        expire(graph, "a")
        graph.until(FAR + 20)
        assert graph.statuses() == {"c": status, "x": "completed"}
        if status != "blocked":
            assert graph.run("c").reason is reason


def test_a_paused_child_remembers_how_a_parent_ended_meanwhile() -> None:
    with Graph(node("a"), node("c", "a")) as graph:
        pause(graph.play.context(), [(key("c"), None)])
        graph.until(20)
        expire(graph, "a")
        resume(graph.play.context(), [(key("c"), None)])
        graph.until(40)
        assert graph.statuses() == {"c": "completed"}


def test_a_child_that_gets_an_ended_parent_while_it_is_paused_remembers_that_end() -> None:
    with Graph(node("a"), far("x"), node("c", "x", timeout=366 * 86_400)) as graph:
        graph.until(20)
        pause(graph.play.context(), [(key("c"), None)])
        patch_parents(graph, "c", "a")
        expire(graph, "a")
        resume(graph.play.context(), [(key("c"), None)])
        graph.until(40)
        assert graph.statuses()["c"] == "completed"


def test_a_new_job_with_the_id_of_an_expired_parent_is_not_waited_for() -> None:
    with Graph(node("a"), far("x"), node("c", "a x", timeout=366 * 86_400)) as graph:
        graph.until(20)
        expire(graph, "a")
        graph.submit(evolve(node("a"), schedule=Schedule(At(BEGIN + 2 * FAR * SECOND_MS))))
        graph.until(FAR + 20)
        assert graph.statuses() == {"a": "pending", "c": "completed", "x": "completed"}


def test_a_call_shows_how_an_expired_parent_ended_but_not_its_result() -> None:
    child = evolve(node("c", "a x", timeout=366 * 86_400), pass_parents=True)
    with Graph(node("a"), far("x"), child) as graph:
        graph.until(20)
        expire(graph, "a")
        graph.until(FAR + 20)
        work = graph.calls[-1].work
        assert json.loads(work.payload or "")["parents"]["a"] == {"status": "succeeded", "runId": None, "result": None}


def test_a_child_whose_items_have_expired_fails_and_is_not_skipped_as_empty() -> None:
    child = evolve(node("c", "a x", timeout=366 * 86_400), for_each="a")
    with Graph(node("a"), far("x"), child) as graph:
        graph.bodies["a"] = '{"fanOut": [1, 2]}'
        graph.until(20)
        expire(graph, "a")
        graph.until(FAR + 20)
        assert (graph.statuses()["c"], graph.run("c").reason) == ("failed", Reason.BAD_ITEMS)


def test_a_cycle_remembers_how_an_expired_run_ended() -> None:
    once = Schedule(Every(20, BEGIN), end_at=BEGIN)
    fast, slow = (evolve(node(name), schedule=once) for name in ("a", "x"))
    child = node("c", "a x", timeout=366 * 86_400)
    with Graph(fast, slow, child) as graph:
        pause(graph.play.context(), [(key("x"), None)])
        graph.until(20)
        assert graph.called == ["a"]
        expire(graph, "a")
        resume(graph.play.context(), [(key("x"), None)])
        graph.until(40)
        assert graph.called == ["a", "x", "c"]


def test_a_child_with_an_expired_parent_may_be_changed() -> None:
    with Graph(node("a"), far("x"), node("y"), node("c", "a x", timeout=366 * 86_400)) as graph:
        graph.until(20)
        expire(graph, "a")
        patch_parents(graph, "c", "a x y")
        patch_parents(graph, "c", "a y")
        graph.until(40)
        assert graph.statuses()["c"] == "completed"
        assert graph.job("c").spec.depends_on == (Parent("a"), Parent("y"))


@pytest.mark.parametrize("schedule", [Schedule(Every(3600, BEGIN)), None])
def test_a_child_that_may_run_forgets_the_ends_of_its_parents(schedule: Schedule | None) -> None:
    names = [f"parent-{number}" for number in range(8)]
    nodes = [*map(node, names), node("c", " ".join(names))]
    with Graph(*(one if schedule is None else evolve(one, schedule=schedule) for one in nodes)) as graph:
        graph.takes_ms |= {name: 2_000 * number for number, name in enumerate(names)}
        graph.until(60)
        rows = (graph.play.job(key("c")), graph.run("c"))
        assert graph.run("c").state is RunState.SUCCEEDED
        assert [row.ended for row in rows] == [(), ()]
