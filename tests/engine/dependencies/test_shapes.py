"""Graphs of many shapes and the runs that they must have: a table, and graphs of the largest size."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import pytest

from tests.engine.dependencies.counting import count
from tests.engine.dependencies.graphs import BEGIN, Graph, key, node
from timeball.domain.model.evolve import evolve
from timeball.domain.model.jobs.job import JobSpec
from timeball.domain.model.runs.run import RunState
from timeball.domain.model.terms.dependency import TriggerRule
from timeball.domain.time.instants import SECOND_MS
from timeball.domain.time.schedule import At, Every, Schedule

ALL_DONE, ANY_SUCCEEDED, ANY_FAILED = TriggerRule.ALL_DONE, TriggerRule.ANY_SUCCEEDED, TriggerRule.ANY_FAILED
GATE = evolve(node("gate"), schedule=Schedule(At(BEGIN + 30 * SECOND_MS)))
OFTEN = evolve(node("a"), schedule=Schedule(Every(20, BEGIN)))


@dataclass(frozen=True)
class Case:
    """A graph, the jobs whose calls fail, how long it works, and how often each job has run by then, if not once."""

    jobs: tuple[JobSpec, ...]
    failing: str = ""
    seconds: int = 60
    runs: dict[str, int] = field(default_factory=dict)


def chain(length: int) -> tuple[JobSpec, ...]:
    return tuple(node(f"n{number:03}", f"n{number - 1:03}" if number else "") for number in range(length))


def fan(width: int) -> tuple[JobSpec, ...]:
    middle = [f"m{number:03}" for number in range(width)]
    return (node("a"), *(node(name, "a") for name in middle), node("z", " ".join(middle)))


def diamonds(count: int) -> Iterable[JobSpec]:
    """Yield diamonds in a row: the end of each is the root of the next."""
    above = ""
    for number in range(count):
        yield node(f"a{number}", above)
        yield from (node(f"{side}{number}", f"a{number}") for side in "bc")
        yield node(f"d{number}", f"b{number} c{number}")
        above = f"d{number}"


# How often each job is called: once, except for the jobs in `runs`.
CASES: dict[str, Case] = {
    "five diamonds": Case(tuple(diamonds(5))),
    "five diamonds, and a side of the third is dead": Case(
        tuple(diamonds(5)), "b2", runs=dict.fromkeys(("d2", *(f"{job}{n}" for n in (3, 4) for job in "abcd")), 0)
    ),
    "a fan of sixty": Case(fan(60)),
    "a fan of sixty, and one is dead": Case(fan(60), "m031", runs={"z": 0}),
    "a chain of two hundred": Case(chain(200), seconds=900),
    "a chain of two hundred, dead in the middle": Case(
        chain(200), "n100", 900, {f"n{number:03}": 0 for number in range(101, 200)}
    ),
    "who tidies up runs after the dead, who mourns does, who goes on does not": Case(
        (node("a"), node("b", "a", ALL_DONE), node("c", "a", ANY_FAILED), node("d", "a"), node("e", "b c")), "a",
        runs={"d": 0},
    ),
    "nobody mourns a success, and who waits for a mourner is skipped": Case(
        (node("a"), node("b", "a", ANY_FAILED), node("c", "b"), node("d", "b", ALL_DONE)), runs={"b": 0, "c": 0}
    ),
    "the first that succeeds is enough": Case(
        (node("a"), node("b"), node("c", "a b", ANY_SUCCEEDED), node("d", "c a")), "b"
    ),
    "a gate opens for the cycle that waits and stays open": Case(
        (GATE, OFTEN, node("b", "a gate")), runs={"a": 4, "b": 4}
    ),
    "a gate that is dead holds up each cycle": Case(
        (GATE, OFTEN, node("b", "a gate"), node("c", "a")), "gate", runs={"a": 4, "b": 0, "c": 4}
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_graph_has_the_runs_that_its_shape_and_rules_require(case: str) -> None:
    asked = CASES[case]
    with Graph(*asked.jobs, failing=asked.failing) as graph:
        graph.until(asked.seconds + 5)
        names = [spec.key.job_id for spec in asked.jobs]
        assert {name: graph.called.count(name) for name in names} == {name: asked.runs.get(name, 1) for name in names}


def test_a_layered_graph_of_a_thousand_jobs_ends_within_some_seconds_per_layer() -> None:
    """The graph has twenty layers of fifty, in which each job waits for three of the layer above.

    When this was written it took 4,960 requests, and wrote 11,470 rows and messages.
    """
    layers, width = 20, 50

    def parents(layer: int, place: int) -> str:
        return " ".join(f"l{layer - 1:02}-{(place + step) % width}" for step in range(3)) if layer else ""

    names = [(layer, place) for layer in range(layers) for place in range(width)]
    with Graph(*(node(f"l{layer:02}-{place}", parents(layer, place)) for layer, place in names)) as graph:
        requests, writes = count(graph)
        graph.until(4 * layers)
        runs = [graph.play.runs(key(f"l{layer:02}-{place}")) for layer, place in names]
        assert {(len(of_job), of_job[0].state) for of_job in runs if of_job} == {(1, RunState.SUCCEEDED)}
        assert len(graph.called) == layers * width
        assert [name[:3] for name in graph.called] == sorted(name[:3] for name in graph.called)
        assert requests.total() <= 5.5 * layers * width, requests
        assert writes.total() <= 12 * layers * width, writes
