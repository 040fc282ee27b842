"""Jobs with fire times of their own that are judged by the latest cycles of their parents."""

import json
from typing import Any

from tests.engine.dependencies.graphs import BEGIN, Graph, key, node
from tests.engine.dependencies.test_cycles import PERIOD, recurring, run_id
from tests.engine.dependencies.test_named_cycles import begin, states
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import CycleId, Origin
from timeball.domain.model.jobs.job import JobSpec, JobStatus
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Run
from timeball.domain.model.terms.dependency import Children, Parent, ParentEnd, TriggerRule
from timeball.domain.time.instants import SECOND_MS
from timeball.domain.time.schedule import At, Every, Schedule, Timing
from timeball.engine.changes.change import cancel, pause
from timeball.engine.changes.remove import Removal, remove
from timeball.engine.dependencies.examine import examine
from timeball.engine.dependencies.graph_views import awaited_by_run, read_cycle
from timeball.engine.dependencies.parents import Adoption, adoption_of
from timeball.engine.runs.manual import cancel_runs, retry_runs
from timeball.engine.runs.trigger import Trigger, trigger

SELDOM = Every(50, BEGIN + 10 * SECOND_MS)
"""Fires ten seconds after a fire of the parents, then at the same time as one, and so on."""
OFTEN_TOO = Every(50, BEGIN + 15 * SECOND_MS)


def latest(*parents: str) -> tuple[Parent, ...]:
    return tuple(Parent(one, on=ParentEnd.LATEST) for one in parents)


def judging(job_id: str, parents: str, timing: Timing = SELDOM, **fields: Any) -> JobSpec:
    wanted = {"depends_on": latest(*parents.split()), "inherits": False, "schedule": Schedule(timing), **fields}
    return evolve(node(job_id, parents), **wanted)


def run_of(graph: Graph, job_id: str, number: int = 0) -> Run:
    return graph.play.runs(key(job_id))[number]


def ended(graph: Graph, job_id: str) -> list[tuple[str, Reason | None]]:
    return [(run.state.value, run.reason) for run in graph.play.runs(key(job_id))]


def test_a_job_runs_at_its_own_fire_times_by_the_latest_cycle_of_its_parent() -> None:
    with Graph(recurring("a"), judging("b", "a")) as graph:
        graph.until(65)
        assert graph.called == ["a", "b", "a", "a", "a", "b"]
        (first, second) = graph.play.runs(key("b"))
        assert [run.id.fire_at - BEGIN for run in (first, second)] == [10_000, 60_000]
        for run in (first, second):
            assert run.first_started_at is not None
            assert 0 <= run.first_started_at - run.id.fire_at < 2 * SECOND_MS


def test_a_cycle_under_way_does_not_delay_the_job() -> None:
    with Graph(recurring("a", Every(50, BEGIN)), judging("b", "a")) as graph:
        graph.until(30)
        graph.takes_ms["a"] = 30_000
        graph.until(70)
        assert ended(graph, "b") == [("succeeded", None)] * 2
        assert run_of(graph, "a", 1).state.value == "running"


def test_an_end_in_the_last_second_before_the_fire_counts() -> None:
    with Graph(recurring("a"), judging("b", "a"), failing="a") as graph:
        graph.takes_ms["a"] = 9_000
        graph.until(8)
        assert run_of(graph, "b").waits
        graph.until(9)
        graph.until(15)
        assert run_of(graph, "b").reason is Reason.BLOCKED
        assert graph.called == ["a"]


def test_without_a_latest_cycle_the_run_waits_for_the_first_and_starts_within_seconds_of_its_end() -> None:
    with Graph(recurring("a"), judging("b", "a", evolve(SELDOM, anchor_at=BEGIN - 5 * SECOND_MS))) as graph:
        graph.takes_ms["a"] = 12_000
        graph.until(11)
        waiting = run_of(graph, "b")
        assert (waiting.state.value, waiting.reason) == ("queued", Reason.WAITING_FOR_PARENTS)
        assert awaited_by_run(graph.play.context(), waiting) == ["a"]
        graph.until(15)
        assert run_of(graph, "b").state.value == "succeeded"
        assert run_of(graph, "b").let_go_at is not None


def test_a_run_that_waits_too_long_for_a_first_cycle_is_skipped() -> None:
    late = recurring("a", Every(3_600, BEGIN + 900_000))
    with Graph(late, judging("b", "a", dependency_timeout_seconds=20)) as graph:
        graph.until(45)
        assert ended(graph, "b")[0] == ("skipped", Reason.DEPENDENCY_TIMEOUT)


def test_each_rule_judges_a_latest_cycle_that_has_failed() -> None:
    rules = {"b": TriggerRule.ALL_SUCCEEDED, "c": TriggerRule.ALL_DONE, "d": TriggerRule.ANY_FAILED}
    jobs = [judging(name, "a", trigger_rule=rule) for name, rule in rules.items()]
    with Graph(recurring("a"), *jobs, failing="a") as graph:
        graph.until(15)
        assert [ended(graph, name)[0] for name in "bcd"] == [
            ("queued", Reason.BLOCKED), ("succeeded", None), ("succeeded", None),
        ]  # fmt: skip
        blocked = run_of(graph, "b").blocked
        assert blocked is not None
        assert (blocked.by, blocked.path) == (run_id("a"), ("a",))
        graph.failing.clear()
        graph.until(PERIOD + 5)
        assert ended(graph, "b")[0] == ("succeeded", None)
        graph.until(65)
        assert ended(graph, "d")[1] == ("skipped", Reason.RULE_UNMET)


def test_a_retry_of_the_failed_cycle_lets_the_run_go_on() -> None:
    with Graph(recurring("a", Every(3_600, BEGIN)), judging("b", "a"), failing="a") as graph:
        graph.until(15)
        graph.failing.clear()
        assert retry_runs(graph.play.context(), [run_id("a")])[0][0] is None
        graph.until(19)
        assert ended(graph, "b") == [("succeeded", None)]


def test_skipped_and_cancelled_runs_are_no_latest_cycles() -> None:
    with Graph(recurring("a"), judging("b", "a", evolve(SELDOM, anchor_at=BEGIN + 30 * SECOND_MS))) as graph:
        graph.until(15)
        graph.service.engine.is_executing = False
        graph.until(PERIOD + 1)
        cancel_runs(graph.play.context(), [run_id("a", 1)])
        graph.service.engine.is_executing = True
        graph.until(35)
        assert [state for state, _ in ended(graph, "a")] == ["succeeded", "cancelled"]
        assert ended(graph, "b") == [("succeeded", None)]


def test_a_job_may_wait_for_a_run_of_its_cycle_and_judge_the_latest_cycle_of_another_job() -> None:
    both = judging("b", "c a", OFTEN_TOO, depends_on=(Parent("c"), *latest("a")))
    with Graph(recurring("a"), recurring("c", OFTEN_TOO), both, failing="a") as graph:
        graph.takes_ms["c"] = 5_000
        graph.until(22)
        assert ended(graph, "b")[0] == ("queued", Reason.BLOCKED)
        graph.failing.clear()
        graph.until(48)
        assert ended(graph, "b") == [("succeeded", None)]
        assert graph.called[-2:] == ["a", "b"]


def test_a_job_that_runs_once_is_judged_at_its_own_time() -> None:
    once = judging("b", "a", At(BEGIN + 30 * SECOND_MS))
    with Graph(recurring("a"), once, node("c", "b"), failing="a") as graph:
        graph.until(18)
        assert graph.play.runs(key("b")) == []
        graph.until(35)
        assert ended(graph, "b") == [("queued", Reason.BLOCKED)]
        graph.failing.clear()
        graph.until(50)
        assert graph.statuses() == {"a": "pending", "b": "completed", "c": "completed"}


def test_a_parent_that_runs_once_counts_from_its_end_on() -> None:
    gate = evolve(node("gate"), schedule=Schedule(At(BEGIN + 30 * SECOND_MS)))
    with Graph(gate, judging("b", "gate")) as graph:
        graph.until(28)
        assert ended(graph, "b") == [("queued", Reason.WAITING_FOR_PARENTS)]
        graph.until(65)
        assert ended(graph, "b") == [("succeeded", None)] * 2


def test_a_parent_that_was_cancelled_still_counts_by_its_latest_cycle_and_without_one_skips_the_run() -> None:
    with Graph(recurring("a"), judging("b", "a"), recurring("x", Every(900, BEGIN)), judging("y", "x")) as graph:
        graph.takes_ms["x"] = 40_000
        graph.until(8)
        cancel(graph.play.context(), [(key("a"), None)])
        graph.until(15)
        assert ended(graph, "y") == [("queued", Reason.WAITING_FOR_PARENTS)]
        cancel(graph.play.context(), [(key("x"), None)])
        graph.until(20)
        assert [ended(graph, name) for name in "by"] == [
            [("succeeded", None)], [("skipped", Reason.PARENT_CANCELLED)],
        ]  # fmt: skip


def test_a_run_of_a_detached_job_no_longer_waits() -> None:
    jobs = (judging("b", "a"), judging("c", "a", At(BEGIN + 10 * SECOND_MS)))
    with Graph(recurring("a", Every(3_600, BEGIN + 900_000)), *jobs) as graph:
        graph.until(15)
        assert [run_of(graph, name).waits for name in "bc"] == [True, True]
        assert remove(graph.play.context(), Removal(key("a"), children=Children.DETACH)).changed is not None
        graph.until(20)
        assert [ended(graph, name) for name in "bc"] == [[("succeeded", None)]] * 2
        assert graph.job("b").status is JobStatus.PENDING


def test_a_paused_parent_still_counts_by_its_latest_cycle() -> None:
    with Graph(recurring("a"), judging("b", "a")) as graph:
        graph.until(5)
        pause(graph.play.context(), [(key("a"), None)])
        graph.until(65)
        assert ended(graph, "b") == [("succeeded", None)] * 2


def test_a_named_cycle_of_the_parent_has_no_run_of_the_job_but_counts_as_its_latest() -> None:
    with Graph(recurring("a", Every(3_600, BEGIN + 900_000)), judging("b", "a"), node("c", "a")) as graph:
        graph.until(15)
        trigger(graph.play.context(), [Trigger(key("a"), fingerprint="plain")])
        graph.until(20)
        assert graph.called == ["a"]
        assert ended(graph, "b") == [("queued", Reason.WAITING_FOR_PARENTS)]
        cycle = begin(graph)
        graph.until(30)
        assert states(graph, cycle) == {"a": "succeeded", "c": "succeeded"}
        assert ended(graph, "b") == [("succeeded", None)]


def test_a_named_cycle_of_the_job_itself_waits_for_no_latest_cycle() -> None:
    with Graph(recurring("a", Every(3_600, BEGIN + 900_000)), judging("b", "a"), node("c", "b")) as graph:
        cycle = begin(graph, "b")
        graph.until(5)
        assert states(graph, cycle) == {"b": "succeeded", "c": "succeeded"}


def test_a_call_gets_the_results_of_the_latest_cycles() -> None:
    with Graph(recurring("a"), judging("b", "a", pass_parents=True)) as graph:
        graph.bodies = {"a": "1"}
        graph.until(15)
        graph.bodies = {"a": "2"}
        trigger(graph.play.context(), [Trigger(key("b"), fingerprint="f")])
        graph.until(65)
        told = [json.loads(call.work.payload or "")["parents"]["a"] for call in graph.calls if call.run.job == key("b")]
        assert told == [
            {"status": "succeeded", "runId": str(run_id("a", number)), "result": result}
            for number, result in ((0, 1), (0, 1), (3, 2))
        ]


def test_a_cycle_shows_no_job_of_another_cadence_and_what_a_run_in_it_waits_for() -> None:
    both = judging("b", "c a", OFTEN_TOO, depends_on=(Parent("c"), *latest("a")))
    with Graph(recurring("a"), recurring("c", OFTEN_TOO), both, failing="a") as graph:
        graph.until(18)
        cycle = read_cycle(graph.play.context(), graph.job("c"), CycleId(BEGIN + 15 * SECOND_MS))
        assert cycle is not None
        assert [(node.job.key.job_id, node.waiting_for) for node in cycle.nodes] == [("c", ()), ("b", ("a",))]
        of_the_other = read_cycle(graph.play.context(), graph.job("a"), CycleId(BEGIN))
        assert of_the_other is not None
        assert [node.job.key.job_id for node in of_the_other.nodes] == ["a"]


def test_the_parents_may_have_any_recurrence_unless_their_runs_of_one_cycle_count() -> None:
    with Graph(recurring("a")) as graph:
        wanted = judging("b", "a")
        plain = evolve(wanted, depends_on=(Parent("a"),))
        examined = examine(graph.play.context(), [wanted])[0], examine(graph.play.context(), [plain])[0]
        assert [[fault.index for fault in one.faults] for one in examined] == [[], [0]]
        assert (adoption_of(wanted, plain), adoption_of(plain, wanted)) == (Adoption.EXAMINE, Adoption.NONE)
        circle = evolve(recurring("a"), depends_on=latest("a"))
        assert examine(graph.play.context(), [circle])[0].faults != []


def trigger_often(graph: Graph, job_id: str, times: int) -> None:
    for number in range(times):
        trigger(graph.play.context(), [Trigger(key(job_id), request=str(number), fingerprint=str(number))])
        graph.play.clock.advance(1)


def test_a_latest_cycle_is_found_behind_rows_that_are_none() -> None:
    with Graph(recurring("a"), judging("b", "a", evolve(SELDOM, anchor_at=BEGIN + 48 * SECOND_MS))) as graph:
        graph.until(5)
        pause(graph.play.context(), [(key("a"), None)])
        trigger_often(graph, "a", 90)
        graph.until(55)
        assert ended(graph, "b") == [("succeeded", None)]


def test_the_items_of_a_cycle_under_way_do_not_hide_the_cycle_before() -> None:
    heads = (recurring("list"), evolve(node("a", "list"), for_each="list"))
    with Graph(*heads, judging("b", "a", evolve(SELDOM, anchor_at=BEGIN + 30 * SECOND_MS))) as graph:
        graph.bodies["list"] = json.dumps({"fanOut": [*range(250)]})
        graph.until(19)
        graph.takes_ms["a"] = 30_000
        graph.until(35)
        heads_of_a = [run.state.value for run in graph.play.runs(key("a")) if run.id.origin is Origin.SCHEDULE]
        assert heads_of_a == ["succeeded", "running"]
        assert ended(graph, "b") == [("succeeded", None)]


def test_the_end_of_the_last_item_lets_a_waiting_run_go() -> None:
    heads = (recurring("list", Every(3_600, BEGIN)), evolve(node("a", "list"), for_each="list"))
    with Graph(*heads, judging("b", "a", evolve(SELDOM, anchor_at=BEGIN + 2 * SECOND_MS))) as graph:
        graph.bodies["list"], graph.takes_ms["a"] = '{"fanOut": [1, 2, 3]}', 8_000
        graph.until(8)
        assert ended(graph, "b") == [("queued", Reason.WAITING_FOR_PARENTS)]
        graph.until(18)
        assert ended(graph, "b") == [("succeeded", None)]
