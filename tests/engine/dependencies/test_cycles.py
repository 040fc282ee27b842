"""Recurring jobs that wait for jobs: each fire time is its own cycle."""

from tests.engine.dependencies.graphs import BEGIN, Graph, key, node
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import Origin, RunId
from timeball.domain.model.jobs.job import JobSpec
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import RunState
from timeball.domain.model.terms.dependency import Parent, TriggerRule
from timeball.domain.model.terms.policies import CatchUp, CatchUpPolicy
from timeball.domain.time.instants import SECOND_MS
from timeball.domain.time.schedule import At, Every, Schedule, Timing
from timeball.engine.changes.change import cancel, pause, resume, revise
from timeball.engine.dependencies.examine import examine
from timeball.engine.dependencies.parents import adopt
from timeball.engine.runs.manual import cancel_runs, retry_runs, succeed_runs

PERIOD = 20
OFTEN = Every(PERIOD, BEGIN)


def recurring(job_id: str, timing: Timing = OFTEN) -> JobSpec:
    return evolve(node(job_id), schedule=Schedule(timing))


def cycle(graph: Graph, job_id: str, number: int) -> tuple[str, Reason | None]:
    """Return the state and the reason of a job's run in a cycle."""
    at = BEGIN + number * PERIOD * SECOND_MS
    (run,) = [run for run in graph.play.runs(key(job_id)) if run.covers(at)]
    return run.state.value, run.reason


def run_id(job_id: str, number: int = 0) -> RunId:
    return RunId(key(job_id), BEGIN + number * PERIOD * SECOND_MS, Origin.SCHEDULE)


def test_each_cycle_runs_in_order_at_the_fire_time_of_its_parents() -> None:
    with Graph(recurring("a"), node("b", "a"), node("c", "a"), node("d", "b c")) as graph:
        graph.until(2 * PERIOD + 10)
        assert sorted(graph.called) == sorted("abcd" * 3)
        for number in range(3):
            assert {cycle(graph, job, number) for job in "abcd"} == {("succeeded", None)}
        assert [call[0] for call in (graph.called[0::4])] == ["a"] * 3
        assert [call[0] for call in (graph.called[3::4])] == ["d"] * 3
        (first, *_) = graph.play.runs(key("d"))
        assert (first.shown_origin, first.id.fire_at) == (Origin.DEPENDENCY, BEGIN)


def test_a_dead_run_blocks_only_its_own_cycle_which_goes_on_after_a_retry() -> None:
    with Graph(recurring("a"), node("b", "a"), node("c", "b"), failing="a") as graph:
        graph.until(10)
        graph.failing.clear()
        graph.until(PERIOD + 10)
        assert [cycle(graph, job, 0) for job in "abc"] == [
            ("failed", Reason.RETRIES_EXHAUSTED), ("queued", Reason.BLOCKED), ("queued", Reason.BLOCKED),
        ]  # fmt: skip
        assert [cycle(graph, job, 1) for job in "abc"] == [("succeeded", None)] * 3
        blocked = graph.play.runs(key("c"))[0].blocked
        assert blocked is not None
        assert (blocked.by, blocked.path) == (run_id("a"), ("a", "b"))
        assert graph.statuses() == {"a": "pending", "b": "pending", "c": "pending"}
        retry_runs(graph.play.context(), [run_id("a")])
        graph.until(PERIOD + 18)
        assert [cycle(graph, job, 0) for job in "abc"] == [("succeeded", None)] * 3


def test_a_run_that_is_marked_as_succeeded_lets_its_cycle_go_on() -> None:
    with Graph(recurring("a"), node("b", "a"), failing="a") as graph:
        graph.until(10)
        succeed_runs(graph.play.context(), [run_id("a")], "by hand")
        graph.until(15)
        assert cycle(graph, "b", 0) == ("succeeded", None)


def test_a_cancelled_run_skips_its_childs_cycle_unless_the_rule_counts_it_as_done() -> None:
    with Graph(recurring("a"), node("b", "a"), node("c", "a", TriggerRule.ALL_DONE)) as graph:
        graph.service.engine.is_executing = False
        graph.until(1)
        cancel_runs(graph.play.context(), [run_id("a")])
        graph.service.engine.is_executing = True
        graph.until(10)
        assert cycle(graph, "b", 0) == ("skipped", Reason.PARENT_CANCELLED)
        assert cycle(graph, "c", 0) == ("succeeded", None)


def test_only_the_cycle_that_waits_too_long_is_skipped() -> None:
    with Graph(recurring("a"), node("b", "a", timeout=30)) as graph:
        graph.service.engine.is_executing = False
        graph.until(1)
        graph.until(45)
        assert cycle(graph, "b", 0) == ("skipped", Reason.DEPENDENCY_TIMEOUT)
        assert cycle(graph, "b", 1)[0] == "queued"


def test_a_one_off_parent_that_has_succeeded_lets_all_later_cycles_run() -> None:
    gate = evolve(node("gate"), schedule=Schedule(At(BEGIN + 25 * SECOND_MS)))
    with Graph(gate, evolve(recurring("b"), depends_on=node("b", "gate").depends_on)) as graph:
        graph.until(24)
        assert graph.called == []
        graph.until(PERIOD * 3 + 5)
        assert graph.called == ["gate", "b", "b", "b", "b"]
        assert [cycle(graph, "b", number) for number in range(4)] == [("succeeded", None)] * 4


def test_a_paused_childs_cycles_are_evaluated_after_its_resume_and_a_cancelled_childs_are_not() -> None:
    with Graph(recurring("a"), node("b", "a"), failing="a") as graph:
        graph.until(10)
        pause(graph.play.context(), [(key("b"), None)])
        assert cycle(graph, "b", 0)[0] == "withdrawn"
        succeed_runs(graph.play.context(), [run_id("a")], "by hand")
        resume(graph.play.context(), [(key("b"), None)])
        graph.until(15)
        assert cycle(graph, "b", 0) == ("succeeded", None)
        graph.until(PERIOD + 10)
        cancel(graph.play.context(), [(key("b"), None)])
        assert cycle(graph, "b", 1) == ("cancelled", Reason.JOB_CANCELLED)


def test_parents_of_one_child_share_one_recurrence() -> None:
    with Graph(recurring("a"), recurring("other", Every(30, BEGIN)), node("once")) as graph:
        context = graph.play.context()

        def faults(asked: JobSpec) -> list[int | None]:
            return [fault.index for fault in examine(context, [asked])[0].faults]

        assert faults(node("b", "a other")) == [1]
        assert faults(evolve(recurring("b"), depends_on=node("b", "other").depends_on)) == [0]
        assert faults(evolve(node("b"), depends_on=node("b", "a").depends_on)) == [0]
        assert faults(node("b", "a once")) == []


def test_a_thousand_children_of_a_recurring_job_start_within_seconds() -> None:
    with Graph(recurring("a"), *(node(f"child-{number:04}", "a") for number in range(1_000))) as graph:
        graph.until(15)
        assert len(graph.called) == 1_001
        states = {run.state for run in graph.play.store.runs.values()}  # type: ignore[attr-defined]
        assert states == {RunState.SUCCEEDED}


def succeeded(graph: Graph, job_id: str) -> int:
    return sum(run.state is RunState.SUCCEEDED for run in graph.play.runs(key(job_id)))


MANY = 130
"""More cycles than one read returns."""


def test_a_one_off_parent_that_succeeds_late_lets_all_waiting_cycles_run() -> None:
    behind = evolve(node("b", "gate"), schedule=Schedule(OFTEN), inherits=False)
    with Graph(evolve(node("gate"), schedule=Schedule(At(BEGIN + MANY * PERIOD * SECOND_MS))), behind) as graph:
        graph.until(MANY * PERIOD - 1)
        assert succeeded(graph, "b") == 0
        graph.until(MANY * PERIOD + 8)
        assert succeeded(graph, "b") == MANY + 1


def test_the_cancel_of_a_parent_reaches_all_cycles_that_wait_for_it() -> None:
    with Graph(recurring("a"), node("b", "a", TriggerRule.ALL_DONE)) as graph:
        pause(graph.play.context(), [(key("a"), None)])
        graph.until(MANY * PERIOD)
        cancel(graph.play.context(), [(key("a"), None)])
        graph.until(MANY * PERIOD + 8)
        assert succeeded(graph, "b") == MANY + 1


def test_fires_that_a_parent_skips_at_its_resume_reach_the_cycles_that_wait_for_them() -> None:
    skipping = evolve(recurring("a"), catch_up=CatchUp(CatchUpPolicy.SKIP))
    with Graph(skipping, node("b", "a", TriggerRule.ALL_DONE)) as graph:
        pause(graph.play.context(), [(key("a"), None)])
        graph.until(MANY * PERIOD)
        resume(graph.play.context(), [(key("a"), None)])
        graph.until(MANY * PERIOD + 8)
        assert succeeded(graph, "b") == MANY + 1
        assert {run.due_at for run in graph.play.runs(key("a")) if run.is_terminal} == {None}


def test_waiting_cycles_are_evaluated_again_when_their_job_gets_other_parents() -> None:
    with Graph(recurring("a"), recurring("x"), node("b", "a")) as graph:
        pause(graph.play.context(), [(key("a"), None)])
        graph.until(20 * PERIOD + 10)
        wanted = evolve(graph.job("b").spec, depends_on=(Parent("x"),))
        adopted = adopt(graph.play.context(), graph.job("b"), wanted)
        revise(graph.play.context(), [(graph.job("b"), adopted.spec)])
        graph.until(20 * PERIOD + 18)
        assert succeeded(graph, "b") == 21


def test_a_blocked_run_that_is_cancelled_is_no_longer_blocked() -> None:
    with Graph(recurring("a"), node("b", "a"), failing="a") as graph:
        graph.until(10)
        cancel_runs(graph.play.context(), [run_id("b")])
        assert graph.play.runs(key("b"))[0].blocked is None


def test_a_run_that_a_pause_withdrew_waits_for_parents_that_its_job_got_meanwhile() -> None:
    with Graph(recurring("a"), recurring("b")) as graph:
        graph.until(-3)
        for job in "ab":
            pause(graph.play.context(), [(key(job), None)])
        adopted = adopt(graph.play.context(), graph.job("b"), evolve(graph.job("b").spec, depends_on=(Parent("a"),)))
        revise(graph.play.context(), [(graph.job("b"), adopted.spec)])
        resume(graph.play.context(), [(key("b"), None)])
        graph.until(5)
        assert graph.called == []
        resume(graph.play.context(), [(key("a"), None)])
        graph.until(12)
        assert graph.called == ["a", "b"]
