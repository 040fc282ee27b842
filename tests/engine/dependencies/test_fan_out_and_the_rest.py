"""Runs for items together with other features of a job: changes, notices, quotas."""

from tests.engine.dependencies.graphs import BEGIN, Graph, key, node
from tests.engine.dependencies.test_fan_out import each, handed, head, naming
from tests.urls import url_of
from timeball.domain.dependencies.fan_out import waiting_again
from timeball.domain.model.evolve import evolve
from timeball.domain.model.jobs.job import JobStatus
from timeball.domain.model.runs.run import RunState
from timeball.domain.model.terms.notify import Notify
from timeball.domain.model.terms.target import HttpTarget
from timeball.domain.time.instants import MINUTE_MS
from timeball.domain.time.schedule import Every, Schedule
from timeball.engine.changes.change import ChangeOutcome, cancel, revise
from timeball.ports.rows import Swap

TELL = HttpTarget("https://told.example/")
OFTEN = evolve(node("a"), schedule=Schedule(Every(MINUTE_MS // 1_000, BEGIN)))


def change(graph: Graph, for_each: str | None) -> None:
    (job,) = graph.play.store.jobs.read([key("b")], with_work=True)
    assert job is not None
    changed = revise(graph.play.context(), [(job, evolve(job.spec, for_each=for_each))])
    assert changed[0].outcome is ChangeOutcome.DONE


def told(graph: Graph) -> list[str]:
    return [url_of(call.work.target) for call in graph.calls if url_of(call.work.target).startswith(TELL.url)]


def test_a_job_that_no_longer_has_items_lets_its_running_items_finish() -> None:
    with Graph(node("a"), each("b", "a")) as graph:
        graph.bodies, graph.takes_ms = {"a": naming(1, 2)}, {"b": 10_000}
        graph.until(8)
        change(graph, None)
        graph.until(30)
        assert handed(graph) == {"d1": 1, "d2": 2}
        assert (head(graph).state, graph.statuses()["b"]) == (RunState.SUCCEEDED, "completed")


def test_a_change_before_it_begins_decides_whether_it_has_items() -> None:
    for first, then, expected in (("a", None, ["s"]), (None, "a", ["d1"])):
        child = evolve(node("b", "a"), for_each=first)
        with Graph(node("a"), child) as graph:
            graph.bodies, graph.takes_ms = {"a": naming(1)}, {"a": 5_000}
            graph.until(2)
            change(graph, then)
            graph.until(60)
            assert [*handed(graph)] == expected
            assert graph.statuses() == {"a": "completed", "b": "completed"}


def test_a_rerun_that_waits_for_its_items_is_evaluated_after_its_job_no_longer_has_items() -> None:
    with Graph(node("a"), each("b", "a")) as graph:
        graph.bodies, graph.takes_ms = {"a": naming(1)}, {"b": 60_000}
        graph.until(8)
        late = evolve(waiting_again(head(graph), BEGIN + 3_600_000), state=RunState.QUEUED)
        graph.play.store.runs.swap([Swap(head(graph), late)], graph.play.clock.now())
        change(graph, None)
        assert head(graph).due_at == graph.play.clock.now()


def test_a_cancel_of_its_job_ends_the_items_and_the_whole() -> None:
    with Graph(OFTEN, each("b", "a")) as graph:
        graph.bodies, graph.takes_ms = {"a": naming(*range(5))}, {"b": 25_000}
        graph.until(8)
        cancel(graph.play.context(), [(key("b"), None)])
        graph.until(120)
        assert {run.state for run in graph.play.runs(key("b"))} == {RunState.CANCELLED}
        assert {run.due_at for run in graph.play.runs(key("b"))} == {None}


def test_one_notice_is_sent_for_a_cycle_and_none_for_its_items() -> None:
    with Graph(node("a"), each("b", "a", notify=Notify(on_success=TELL))) as graph:
        graph.bodies = {"a": naming(1, 2, 3)}
        graph.until(40)
        assert len(told(graph)) == 1


def test_failed_cycles_in_a_row_pause_their_job_however_many_items_they_have() -> None:
    with Graph(OFTEN, each("b", "a", pause_after_failures=3), failing="b") as graph:
        graph.bodies = {"a": naming(*range(40))}
        graph.until(100)
        assert graph.job("b").status is JobStatus.PENDING
        graph.until(150)
        assert graph.job("b").status is JobStatus.PAUSED
