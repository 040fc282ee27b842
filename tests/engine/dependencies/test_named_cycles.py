"""Cycles with a name of their own: a trigger, or a fire of a backfill, runs a job and all jobs that depend on it."""

import json
from collections.abc import Sequence
from dataclasses import replace

from tests.engine.dependencies.graphs import BEGIN, Graph, key, node
from tests.engine.latency import slowed
from timeball.domain.backfill import Backfill, BackfillStatus, new_backfill
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import BackfillKey, CycleId, Origin
from timeball.domain.model.jobs.job import JobSpec
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Run
from timeball.domain.model.terms.dependency import TriggerRule
from timeball.domain.model.terms.policies import OverlapPolicy
from timeball.domain.time.instants import SECOND_MS
from timeball.domain.time.schedule import At, Every, Schedule
from timeball.engine.backfills import cancel_backfill, create_backfills
from timeball.engine.changes.change import cancel, pause
from timeball.engine.dependencies.named_cycles import fill_cycles
from timeball.engine.runs.trigger import Trigger, Triggering, trigger
from timeball.testing.faults import each_port

DAY = 86_400
PAST = BEGIN - 10 * DAY * SECOND_MS


def daily(job_id: str) -> JobSpec:
    """Return a job without a fire in the time of a test."""
    return evolve(node(job_id), schedule=Schedule(Every(DAY, BEGIN + DAY * SECOND_MS // 2)))


DIAMOND = (daily("a"), node("b", "a"), node("c", "a"), node("d", "b c"), node("e", "d"))


def begin(graph: Graph, job_id: str = "a", request: str | None = None) -> CycleId:
    asked = Trigger(key(job_id), request=request, fingerprint=request or "f", downstream=True)
    (done,) = trigger(graph.play.context(), [asked])
    assert done.run is not None
    return done.run.id.cycle


def runs(graph: Graph, cycle: CycleId) -> dict[str, Run]:
    stored = graph.play.store.runs.values()  # type: ignore[attr-defined]
    return {run.id.job.job_id: run for run in stored if run.id.cycle == cycle and run.id.origin is cycle.origin}


def states(graph: Graph, cycle: CycleId) -> dict[str, str]:
    return {name: run.state.value for name, run in sorted(runs(graph, cycle).items())}


def ahead(graph: Graph, seconds: int) -> None:
    graph.service.until(graph.play.clock.now() + seconds * SECOND_MS)


def test_a_downstream_trigger_runs_the_job_and_its_descendants_in_the_order_of_their_rules() -> None:
    with Graph(*DIAMOND) as graph:
        cycle = begin(graph)
        ahead(graph, 10)
        assert states(graph, cycle) == dict.fromkeys("abcde", "succeeded")
        assert graph.called[0] == "a"
        assert graph.called[-2:] == ["d", "e"]
        assert sorted(graph.called) == list("abcde")
        assert {run.shown_origin for run in runs(graph, cycle).values()} == {Origin.MANUAL}


def test_parents_outside_the_subtree_are_not_waited_for() -> None:
    with Graph(*DIAMOND) as graph:
        cycle = begin(graph, "b")
        ahead(graph, 10)
        assert states(graph, cycle) == dict.fromkeys("bde", "succeeded")
        assert graph.called == ["b", "d", "e"]


def test_a_gate_is_outside_every_named_cycle() -> None:
    gate = evolve(node("gate"), schedule=Schedule(At(BEGIN + DAY * SECOND_MS)))
    with Graph(gate, daily("a"), node("b", "a gate")) as graph:
        cycle = begin(graph)
        ahead(graph, 10)
        assert states(graph, cycle) == {"a": "succeeded", "b": "succeeded"}


def test_a_job_that_runs_once_has_no_named_cycle() -> None:
    with Graph(node("a"), node("b", "a")) as graph:
        (done,) = trigger(graph.play.context(), [Trigger(key("a"), fingerprint="f", downstream=True)])
        assert (done.outcome, done.run) == (Triggering.ONCE, None)
        assert not graph.play.runs(key("a"))


def test_paused_jobs_of_the_subtree_are_skipped_and_so_are_those_that_wait_for_them() -> None:
    rule = TriggerRule.ALL_DONE
    with Graph(daily("a"), node("b", "a"), node("c", "b"), node("d", "b", rule)) as graph:
        pause(graph.play.context(), [(key("b"), None)])
        cycle = begin(graph)
        ahead(graph, 10)
        assert states(graph, cycle) == {"a": "succeeded", "b": "skipped", "c": "skipped", "d": "succeeded"}
        assert [runs(graph, cycle)[name].reason for name in "bc"] == [Reason.PAUSED, Reason.PARENT_SKIPPED]


def test_a_paused_first_job_runs_because_a_person_asked_for_it() -> None:
    with Graph(daily("a"), node("b", "a")) as graph:
        pause(graph.play.context(), [(key("a"), None)])
        cycle = begin(graph)
        ahead(graph, 10)
        assert states(graph, cycle) == {"a": "succeeded", "b": "succeeded"}


def test_a_dead_run_blocks_its_named_cycle_and_no_other_until_it_is_retried() -> None:
    with Graph(daily("a"), node("b", "a"), node("c", "b"), failing="a") as graph:
        cycle = begin(graph)
        ahead(graph, 10)
        assert states(graph, cycle) == {"a": "failed", "b": "queued", "c": "queued"}
        blocked = runs(graph, cycle)["c"].blocked
        assert blocked is not None
        assert (blocked.by, blocked.path) == (cycle.run_of(key("a"), 1), ("a", "b"))
        graph.failing.clear()
        again = begin(graph, request="again")
        ahead(graph, 10)
        assert states(graph, again) == dict.fromkeys("abc", "succeeded")
        assert states(graph, cycle)["c"] == "queued"


def test_a_repeated_request_begins_one_cycle_and_a_plain_trigger_is_another_request() -> None:
    with Graph(*DIAMOND) as graph:
        cycle = begin(graph, request="once")
        ahead(graph, 10)
        again, plain = trigger(
            graph.play.context(),
            [
                Trigger(key("a"), request="once", fingerprint="once", downstream=True),
                Trigger(key("a"), request="once", fingerprint="other"),
            ],
        )
        assert again.run is not None
        assert (again.outcome, again.run.id.cycle) == (Triggering.REPEATED, cycle)
        assert plain.outcome is Triggering.CONFLICT
        assert graph.called.count("a") == 1


def backfill(graph: Graph, job_id: str, fires: int, policy: OverlapPolicy = OverlapPolicy.ALLOW) -> Backfill:
    job = graph.job(job_id)
    first = BEGIN + DAY * SECOND_MS // 2 - 10 * DAY * SECOND_MS
    times = [first + number * DAY * SECOND_MS for number in range(fires)]
    made = new_backfill(BackfillKey(job.key, "again"), job, times, 0, policy, graph.play.clock.now())
    (standing,) = create_backfills(graph.play.context(), [evolve(made, graph=True)])
    return standing


def cycles(graph: Graph) -> Sequence[CycleId]:
    stored = graph.play.store.runs.values()  # type: ignore[attr-defined]
    return sorted({run.id.cycle for run in stored if run.id.origin is Origin.BACKFILL})


def test_a_graph_backfill_runs_a_cycle_for_each_fire_time() -> None:
    with Graph(*DIAMOND) as graph:
        backfill(graph, "b", 3)
        ahead(graph, 15)
        assert [states(graph, cycle) for cycle in cycles(graph)] == [dict.fromkeys("bde", "succeeded")] * 3
        stored = graph.play.store.backfills.of_owner(key("b"))[0]
        assert (stored.status, stored.total, stored.started) == (BackfillStatus.COMPLETED, 3, 3)


def test_a_cancelled_graph_backfill_lets_no_waiting_run_start() -> None:
    with Graph(daily("a"), node("b", "a", TriggerRule.ALL_DONE)) as graph:
        graph.takes_ms["a"] = 5_000
        standing = backfill(graph, "a", 3)
        ahead(graph, 3)
        cancel_backfill(graph.play.context(), graph.play.store.backfills.read([standing.key])[0] or standing)
        ahead(graph, 60)
        assert "b" not in graph.called
        assert [states(graph, cycle)["b"] for cycle in cycles(graph)] == ["cancelled"] * 3


def test_a_fan_out_of_a_named_cycle_has_its_own_items() -> None:
    load = evolve(node("load", "a"), for_each="a")
    with Graph(daily("a"), load, node("report", "load")) as graph:
        graph.bodies["a"] = '{"fanOut": [1, 2]}'
        cycle = begin(graph)
        ahead(graph, 15)
        assert states(graph, cycle) == dict.fromkeys(("a", "load", "report"), "succeeded")
        assert graph.called == ["a", "load", "load", "report"]
        head = runs(graph, cycle)["load"].id
        items = {str(run.id) for run in graph.play.runs(key("load")) if run.id.origin is Origin.DEPENDENCY}
        assert items == {f"load.{head.fire_at}.d{number}m{head.series}" for number in (1, 2)}


def test_cancelled_jobs_of_the_subtree_have_no_run_and_are_outside() -> None:
    with Graph(daily("a"), node("b", "a"), node("c", "a b")) as graph:
        cancel(graph.play.context(), [(key("b"), None)])
        cycle = begin(graph)
        ahead(graph, 10)
        assert states(graph, cycle) == {"a": "succeeded", "c": "succeeded"}


def test_a_call_is_handed_the_latest_result_of_a_parent_outside_the_cycle() -> None:
    joined = evolve(node("c", "a b"), pass_parents=True)
    with Graph(daily("a"), daily("b"), joined) as graph:
        graph.bodies |= {"a": "1", "b": "2"}
        trigger(graph.play.context(), [Trigger(key("b"), fingerprint="first")])
        ahead(graph, 5)
        cycle = begin(graph)
        ahead(graph, 10)
        (earlier,) = graph.play.runs(key("b"))
        assert json.loads(graph.calls[-1].work.payload or "")["parents"] == {
            "a": {"status": "succeeded", "runId": str(cycle.run_of(key("a"), 1)), "result": 1},
            "b": {"status": "succeeded", "runId": str(earlier.id), "result": 2},
        }


def test_a_call_fills_no_further_cycle_once_it_has_taken_too_long_and_leaves_other_runs_as_they_are() -> None:
    with Graph(*DIAMOND) as graph:
        cycles = [begin(graph, request=f"request {number}") for number in range(3)]
        roots = [runs(graph, cycle)["a"] for cycle in cycles]
        other = runs(graph, cycles[0])["e"]
        context = graph.play.context()
        slow = replace(context, store=each_port(context.store, lambda port, _: slowed(port, graph.play.clock, 2_000)))
        assert fill_cycles(slow, [*roots, other]) == [roots[0], other]
        assert fill_cycles(context, [*roots, other]) == [*roots, other]


def test_the_rows_of_a_large_cycle_are_left_to_a_scan() -> None:
    with Graph(*DIAMOND) as graph:
        (done,) = trigger(graph.play.context(), [Trigger(key("a"), fingerprint="f", downstream=True, is_large=True)])
        assert done.run is not None
        assert [*runs(graph, done.run.id.cycle)] == ["a"]
        ahead(graph, 10)
        assert states(graph, done.run.id.cycle) == dict.fromkeys("abcde", "succeeded")
