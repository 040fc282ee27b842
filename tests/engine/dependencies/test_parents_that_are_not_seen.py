"""A caller whose key is bounded to tags learns nothing of a parent that it does not see."""

from dataclasses import replace

from tests.engine.dependencies.graphs import node
from tests.engine.play import Play
from timeball.domain.model.evolve import evolve
from timeball.domain.model.terms.dependency import Edge
from timeball.engine.context import Rules
from timeball.engine.dependencies.examine import examine
from timeball.engine.scheduling.submit import submit
from timeball.ports.rows import Swap

MINE, OTHERS = {"team": "mine"}, {"team": "other"}


def test_a_full_parent_of_the_same_id_that_is_not_seen_refuses_no_child_of_the_request() -> None:
    play = Play(rules=Rules(max_children=2))
    context, now = play.context(), play.clock.now()
    submit(context, [evolve(node("a"), tags=OTHERS), node("x", "a"), node("y", "a")], now)
    context.store.edges.note([Edge(node("a").key, node(name).key) for name in ("x", "y")], now)
    (hidden,) = context.store.jobs.read([node("a").key])
    assert hidden is not None
    context.store.jobs.swap([Swap(hidden, replace(hidden, has_children=True))], now)
    specs = [evolve(node("a"), tags=MINE), evolve(node("b", "a"), tags=MINE)]
    assert [len(one.faults) for one in examine(context, specs, MINE)] == [0, 0]
    assert [len(one.faults) for one in examine(context, specs, OTHERS)] == [0, 1]
