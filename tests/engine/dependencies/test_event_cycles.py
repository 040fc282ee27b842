"""Jobs on events as parents: each event that runs one begins a cycle of it and of the jobs that depend on it."""

import json
from dataclasses import dataclass, field

import pytest

from tests.engine.dependencies.graphs import BEGIN, Graph, key, node
from tests.patterns import matches
from timeball.domain.dependencies.named_cycle import cycle_text, parse_cycle
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import Origin, RunId
from timeball.domain.model.jobs.freeze import Freezes
from timeball.domain.model.jobs.job import JobSpec
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.tenants.tenant import Quotas
from timeball.domain.time.instants import SECOND_MS
from timeball.domain.time.schedule import Every, OnEvents, Schedule
from timeball.engine.changes.change import pause
from timeball.engine.dependencies.examine import examine
from timeball.engine.dependencies.graph_views import read_cycle
from timeball.engine.events.receive import publish, receive
from timeball.engine.events.subscribe import subscribe
from timeball.testing.memory_services import MemoryBus


def on_events(job_id: str, source: str = "shop") -> JobSpec:
    """Return a job that runs on events of a source."""
    return evolve(node(job_id), schedule=Schedule(OnEvents()), event=f'{{"source":["{source}"]}}')


DIAMOND = (on_events("a"), node("b", "a"), node("c", "a"), node("d", "b c"))


@dataclass
class Shop:
    """A graph whose first jobs run on events, and the bus."""

    graph: Graph
    bus: MemoryBus = field(default_factory=lambda: MemoryBus(matches))

    def submit(self, *specs: JobSpec) -> None:
        context = self.graph.play.context()
        assert subscribe(context, self.bus, [one for one in specs if one.event], self.graph.play.clock.now()) == {}
        self.graph.submit(*specs)

    def publish(self, name: str, source: str = "shop", count: int = 1) -> None:
        events = [{"id": f"{name}{number or ''}", "source": source, "type": "x"} for number in range(count)]
        publish(self.graph.play.context(), self.bus, "acme", events)

    def deliver(self) -> None:
        messages, self.bus.queue = self.bus.queue, []
        assert all(receive(self.graph.play.context(), self.bus, messages))

    def send(self, name: str, source: str = "shop") -> None:
        self.publish(name, source)
        self.deliver()

    def ahead(self, seconds: int) -> None:
        self.graph.service.until(self.graph.play.clock.now() + seconds * SECOND_MS)

    def runs(self, job_id: str) -> list[Run]:
        return self.graph.play.runs(key(job_id))

    def states(self) -> dict[str, list[str]]:
        return {job_id: [run.state.value for run in self.runs(job_id)] for job_id in self.graph.statuses()}


@pytest.fixture
def shop() -> object:
    with Graph() as graph:
        yield Shop(graph)


def test_each_event_runs_the_job_and_its_descendants_once_in_their_order(shop: Shop) -> None:
    shop.submit(*DIAMOND)
    shop.send("7")
    shop.ahead(20)
    assert shop.states() == {name: ["succeeded"] for name in "abcd"}
    assert (shop.graph.called[0], shop.graph.called[-1]) == ("a", "d")
    shop.send("8")
    shop.ahead(20)
    assert shop.states() == {name: ["succeeded"] * 2 for name in "abcd"}


def test_the_runs_of_a_cycle_share_an_id_that_is_made_from_the_event(shop: Shop) -> None:
    shop.submit(*DIAMOND)
    shop.send("7")
    shop.ahead(20)
    (root,) = shop.runs("a")
    cycle = root.id.cycle
    assert {run.id.cycle for name in "abcd" for run in shop.runs(name)} == {cycle}
    assert {run.root for name in "abcd" for run in shop.runs(name)} == {"a"}
    text = cycle_text(cycle)
    assert text == f"event-{root.id.fire_at}-{root.id.series}"
    assert parse_cycle(text) == cycle
    seen = read_cycle(shop.graph.play.context(), shop.graph.job("c"), cycle)
    assert seen is not None
    assert [node.job.key.job_id for node in seen.nodes] == ["a", "b", "c", "d"]


def test_an_event_that_comes_again_begins_no_second_cycle_also_after_a_child_was_added(shop: Shop) -> None:
    shop.submit(on_events("a"))
    shop.send("7")
    shop.ahead(20)
    shop.submit(node("b", "a"))
    shop.send("7")
    shop.ahead(20)
    assert shop.states() == {"a": ["succeeded"], "b": []}
    shop.send("8")
    shop.send("8")
    shop.ahead(20)
    assert shop.states() == {"a": ["succeeded"] * 2, "b": ["succeeded"]}


def test_a_dead_parent_blocks_its_cycle_alone_and_a_retry_lets_it_go_on(shop: Shop) -> None:
    shop.submit(*DIAMOND)
    shop.graph.failing = {"b"}
    shop.send("7")
    shop.ahead(20)
    shop.graph.failing = set()
    shop.send("8")
    shop.ahead(20)
    first, second = shop.runs("d")
    assert (first.state, first.reason, second.state) == (RunState.QUEUED, Reason.BLOCKED, RunState.SUCCEEDED)
    assert first.blocked is not None
    assert first.blocked.by == shop.runs("b")[0].id


def test_an_event_of_a_paused_job_begins_no_cycle(shop: Shop) -> None:
    shop.submit(*DIAMOND)
    pause(shop.graph.play.context(), [(key("a"), None)])
    shop.send("7")
    shop.ahead(20)
    assert shop.states() == {"a": ["skipped"], "b": [], "c": [], "d": []}


def test_a_paused_job_of_a_cycle_is_skipped(shop: Shop) -> None:
    shop.submit(*DIAMOND)
    pause(shop.graph.play.context(), [(key("b"), None)])
    shop.send("7")
    shop.ahead(20)
    assert shop.states() == {"a": ["succeeded"], "b": ["skipped"], "c": ["succeeded"], "d": ["skipped"]}
    assert [shop.runs(name)[0].reason for name in "bd"] == [Reason.PAUSED, Reason.PARENT_SKIPPED]


def test_items_of_a_cycle_of_an_event_have_runs_of_their_own(shop: Shop) -> None:
    shop.submit(on_events("a"), evolve(node("b", "a"), for_each="a"), node("c", "b"))
    shop.graph.bodies = {"a": json.dumps({"fanOut": [1, 2]})}
    shop.send("7")
    shop.ahead(30)
    (root,) = shop.runs("a")
    ids = {str(run.id) for run in shop.runs("b")}
    assert ids == {f"b.{root.id.fire_at}.{end}e{root.id.series}" for end in ("", "d1", "d2")}
    assert {RunId.parse("acme", text) for text in ids} == {run.id for run in shop.runs("b")}
    assert shop.states() == {"a": ["succeeded"], "b": ["succeeded"] * 3, "c": ["succeeded"]}


def test_all_parents_with_events_must_have_them_from_one_job() -> None:
    with Graph() as graph:
        shop = Shop(graph)
        shop.submit(on_events("a"), on_events("x", "bank"), node("b", "a"), node("y", "x"))
        context = graph.play.context()
        (two,) = examine(context, [node("z", "b y")])
        assert [fault.sentence for fault in two.faults] == [
            'It recurs by the events of "x", and the first of these by the events of "a"; give all the same.'
        ]
        (together,) = examine(context, [node("z", "a b")])
        assert (together.faults, together.spec.schedule.timing) == ([], OnEvents("a"))
        (timed,) = examine(context, [evolve(node("z", "a"), schedule=Schedule(Every(60, BEGIN)), inherits=False)])
        assert len(timed.faults) == 1


def test_one_event_that_runs_two_jobs_with_children_begins_a_cycle_of_each(shop: Shop) -> None:
    shop.submit(on_events("a"), on_events("x"), node("b", "a"), node("y", "x"))
    shop.send("7")
    shop.ahead(20)
    assert shop.states() == {name: ["succeeded"] for name in "abxy"}


def test_the_rows_of_a_cycle_count_in_the_pace_of_events_and_under_quotas(shop: Shop) -> None:
    shop.submit(on_events("a"), *(node(f"b{number}", "a") for number in range(9)))
    shop.graph.play.store.freezes.insert([Freezes("acme", quotas=Quotas(runs_created_per_minute=40))], 0)
    shop.publish("7", count=6)
    shop.deliver()
    assert len(shop.runs("a")) == 4
    assert len(shop.bus.queue) == 2
    shop.ahead(60)
    shop.deliver()
    assert len(shop.runs("a")) == 6


def test_the_root_has_the_origin_of_an_event(shop: Shop) -> None:
    shop.submit(*DIAMOND)
    shop.send("7")
    shop.ahead(20)
    assert {run.shown_origin for name in "abcd" for run in shop.runs(name)} == {Origin.EVENT}
