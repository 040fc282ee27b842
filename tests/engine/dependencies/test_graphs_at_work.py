"""Jobs that wait for jobs: their order, blocked jobs, and how a graph goes on after a dead run is repaired."""

import pytest

from tests.engine.dependencies.graphs import BEGIN, Graph, key, node
from timeball.api.runs.answers import waited_for
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import Origin, RunId
from timeball.domain.model.jobs.job import JobStatus
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import RunState
from timeball.domain.model.terms.dependency import TriggerRule
from timeball.domain.time.instants import SECOND_MS
from timeball.domain.time.schedule import At, Schedule
from timeball.engine.changes.change import cancel, pause, resume
from timeball.engine.runs.manual import cancel_runs, succeed_runs
from timeball.ports.rows import Swap
from timeball.targets.envelope import facts_of

DIAMOND = (node("a"), node("b", "a"), node("c", "a"), node("d", "b c"))
CHAIN = (node("a"), node("b", "a"), node("c", "b"), node("d", "c"))
ALL_DONE, ANY_SUCCEEDED, ANY_FAILED = TriggerRule.ALL_DONE, TriggerRule.ANY_SUCCEEDED, TriggerRule.ANY_FAILED


def test_each_job_of_a_diamond_runs_after_its_parents_have_succeeded_at_their_fire_time() -> None:
    with Graph(*DIAMOND) as graph:
        graph.until(-1)
        assert graph.called == []
        graph.until(10)
        assert sorted(graph.called[1:3]) == ["b", "c"]
        assert [graph.called[0], *graph.called[3:]] == ["a", "d"]
        assert {run.id.fire_at for run in map(graph.run, "abcd")} == {BEGIN}
        assert [graph.run(job).shown_origin for job in "ad"] == [Origin.SCHEDULE, Origin.DEPENDENCY]
        assert [facts_of(graph.calls[at])["scheduledBy"] for at in (0, 3)] == ["schedule", "dependency"]
        assert set(graph.statuses().values()) == {"completed"}


def test_a_dead_job_blocks_all_its_descendants_and_each_names_the_cause_and_the_path() -> None:
    with Graph(*CHAIN, node("e"), node("f", "e d"), failing="a") as graph:
        graph.until(20)
        assert graph.statuses() == {
            "a": "failed", "b": "blocked", "c": "blocked", "d": "blocked", "e": "completed", "f": "blocked",
        }  # fmt: skip
        blocked = graph.job("f").blocked
        assert blocked is not None
        assert (blocked.by, blocked.path) == (RunId(key("a"), BEGIN, Origin.SCHEDULE), ("a", "b", "c", "d"))
        assert sorted(graph.called) == ["a", "e"]


@pytest.mark.parametrize("by_hand", [False, True])
def test_a_graph_goes_on_after_its_dead_run_is_repaired(*, by_hand: bool) -> None:
    with Graph(*DIAMOND, failing="a") as graph:
        graph.until(20)
        assert graph.statuses() == {"a": "failed", "b": "blocked", "c": "blocked", "d": "blocked"}
        graph.failing.clear()
        if by_hand:
            succeed_runs(graph.play.context(), [graph.run("a").id], "done otherwise")
        else:
            graph.retry("a")
        graph.until(40)
        assert set(graph.statuses().values()) == {"completed"}
        assert len(graph.called) == 4 + (not by_hand)
        assert graph.job("d").blocked is None


def test_a_retry_that_fails_again_leaves_all_blocked() -> None:
    with Graph(*CHAIN, failing="a") as graph:
        graph.until(20)
        graph.retry("a")
        graph.until(40)
        assert graph.statuses() == {"a": "failed", "b": "blocked", "c": "blocked", "d": "blocked"}


def test_descendants_of_a_repaired_job_are_pending_again_before_they_run() -> None:
    with Graph(*CHAIN, failing="a") as graph:
        graph.until(20)
        graph.failing = {"c"}
        graph.retry("a")
        graph.until(40)
        assert graph.statuses() == {"a": "completed", "b": "completed", "c": "failed", "d": "blocked"}
        blocked = graph.job("d").blocked
        assert blocked is not None
        assert blocked.path == ("c",)


# Columns: the rule, the jobs whose calls fail, what becomes of the child of b (which succeeds) and c, and why.
RULES: dict[str, tuple[TriggerRule, str, str, Reason | None]] = {
    "all succeeded": (TriggerRule.ALL_SUCCEEDED, "", "completed", None),
    "all succeeded, and one is dead": (TriggerRule.ALL_SUCCEEDED, "c", "blocked", None),
    "all done, and one is dead": (ALL_DONE, "c", "completed", None),
    "any succeeded, and one is dead": (ANY_SUCCEEDED, "c", "completed", None),
    "any succeeded, and none has": (ANY_SUCCEEDED, "b c", "blocked", None),
    "any failed, and one has": (ANY_FAILED, "c", "completed", None),
    "any failed, and none has": (ANY_FAILED, "", "skipped", Reason.RULE_UNMET),
}


@pytest.mark.parametrize("case", RULES)
def test_a_trigger_rule_decides_which_ends_let_a_job_run(case: str) -> None:
    rule, failing, status, reason = RULES[case]
    with Graph(node("b"), node("c"), node("d", "b c", rule), failing=failing) as graph:
        graph.until(20)
        assert graph.statuses()["d"] == status
        if status != "blocked":
            assert graph.run("d").reason is reason


def test_an_all_done_child_of_a_blocked_job_is_blocked_too() -> None:
    with Graph(node("a"), node("b", "a"), node("c", "b", ALL_DONE), failing="a") as graph:
        graph.until(20)
        assert graph.statuses() == {"a": "failed", "b": "blocked", "c": "blocked"}


@pytest.mark.parametrize(("rule", "status"), [(TriggerRule.ALL_SUCCEEDED, "skipped"), (ALL_DONE, "completed")])
def test_the_cancel_of_a_parent_counts_as_the_rule_says(rule: TriggerRule, status: str) -> None:
    with Graph(node("a"), node("b", "a", rule), node("c", "b")) as graph:
        cancel(graph.play.context(), [(key("a"), None)])
        graph.until(20)
        expected = {"skipped": Reason.PARENT_CANCELLED, "completed": None}[status]
        assert (graph.statuses()["b"], graph.run("b").reason) == (status, expected)
        assert graph.statuses()["c"] == status


def test_the_cancel_of_a_parents_run_counts_as_the_rule_says() -> None:
    with Graph(node("a"), node("b", "a")) as graph:
        graph.service.engine.is_executing = False
        graph.until(1)
        cancel_runs(graph.play.context(), [RunId(key("a"), BEGIN, Origin.SCHEDULE)])
        graph.until(20)
        assert graph.statuses() == {"a": "cancelled", "b": "skipped"}


def test_a_job_that_has_waited_too_long_is_skipped_and_so_are_its_children() -> None:
    with Graph(node("a"), node("b", "a", timeout=60), node("c", "b")) as graph:
        pause(graph.play.context(), [(key("a"), None)])
        graph.until(59)
        assert graph.statuses() == {"a": "paused", "b": "pending", "c": "pending"}
        graph.until(70)
        assert graph.statuses() == {"a": "paused", "b": "skipped", "c": "skipped"}
        assert [graph.run(job).reason for job in "bc"] == [Reason.DEPENDENCY_TIMEOUT, Reason.PARENT_SKIPPED]
        assert graph.run("b").state is RunState.SKIPPED


def test_a_paused_job_waits_until_it_is_resumed() -> None:
    with Graph(*CHAIN) as graph:
        pause(graph.play.context(), [(key("b"), None)])
        graph.until(20)
        assert graph.called == ["a"]
        resume(graph.play.context(), [(key("b"), None)])
        graph.until(40)
        assert graph.called == ["a", "b", "c", "d"]


def test_a_parent_may_end_before_its_child_is_created() -> None:
    with Graph(node("a")) as graph:
        graph.until(10)
        assert graph.job("a").status is JobStatus.COMPLETED
        graph.submit(node("b", "a"))
        graph.until(15)
        assert (graph.called, graph.run("b").id.fire_at) == (["a", "b"], BEGIN)


def test_a_job_with_its_own_schedule_fires_at_the_later_of_its_own_and_its_parents_fire_time() -> None:
    later, earlier = (
        evolve(node(name, "a"), schedule=Schedule(At(BEGIN + at * SECOND_MS)), inherits=False)
        for name, at in (("later", 30), ("earlier", -10))
    )
    with Graph(node("a"), later, earlier) as graph:
        graph.until(20)
        assert graph.called == ["a", "earlier"]
        graph.until(40)
        assert graph.called == ["a", "earlier", "later"]
        runs = {name: graph.run(name) for name in ("earlier", "later")}
        assert {name: run.id.fire_at - BEGIN for name, run in runs.items()} == {"earlier": 0, "later": 30_000}
        waited = {name: waited_for(run) for name, run in runs.items()}
        assert waited == {"earlier": "dependencies", "later": "schedule"}


def test_an_ended_job_is_no_longer_due_after_its_children_are_notified() -> None:
    with Graph(node("a"), node("b", "a")) as graph:
        graph.until(20)
        assert [(graph.job(job).due_at, graph.job(job).must_notify_children) for job in "ab"] == [(None, False)] * 2


def test_a_chain_runs_at_least_one_job_a_second() -> None:
    names = [f"job-{number:02}" for number in range(30)]
    with Graph(*(node(name, above) for name, above in zip(names, ["", *names], strict=False))) as graph:
        graph.until(60)
        assert graph.called == names


def test_a_thousand_children_start_within_seconds() -> None:
    with Graph(node("a"), *(node(f"child-{number:04}", "a") for number in range(1_000))) as graph:
        graph.until(15)
        assert len(graph.called) == 1_001
        assert {run.id.fire_at for run in graph.play.runs(key("child-0999"))} == {BEGIN}
        assert graph.play.clock.now() == BEGIN + 15 * SECOND_MS


def test_a_job_with_its_own_schedule_is_skipped_although_its_parent_is_gone() -> None:
    later = evolve(node("b", "a"), schedule=Schedule(At(BEGIN + 30 * SECOND_MS)), inherits=False)
    with Graph(node("a"), later) as graph:
        graph.play.store.jobs.pop(key("a"))  # type: ignore[attr-defined]
        graph.until(120)
        assert graph.statuses() == {"b": "skipped"}


def test_an_ended_job_notifies_its_children_although_it_is_paused() -> None:
    with Graph(*CHAIN, failing="a") as graph:
        graph.until(20)
        mended = evolve(graph.job("b"), blocked=None, must_notify_children=True, due_at=graph.play.clock.now())
        graph.play.store.jobs.swap([Swap(graph.job("b"), mended)], graph.play.clock.now())
        pause(graph.play.context(), [(key("b"), None)])
        graph.until(25)
        assert graph.statuses() == {"a": "failed", "b": "paused", "c": "pending", "d": "pending"}


def test_a_dead_job_whose_retry_is_cancelled_is_cancelled_and_no_longer_blocks_others() -> None:
    with Graph(node("a"), node("b", "a"), node("c", "a", ALL_DONE), failing="a") as graph:
        graph.until(20)
        graph.service.engine.is_executing = False
        graph.retry("a")
        cancel_runs(graph.play.context(), [RunId(key("a"), BEGIN, Origin.SCHEDULE)])
        graph.until(30)
        assert graph.statuses() == {"a": "cancelled", "b": "skipped", "c": "completed"}


def test_a_blocked_job_that_is_cancelled_is_no_longer_blocked() -> None:
    with Graph(node("a"), node("b", "a"), failing="a") as graph:
        graph.until(20)
        cancel(graph.play.context(), [(key("b"), None)])
        assert graph.job("b").blocked is None
