"""A cancel of a job with children is stopped anywhere: its repeat ends in the same state, and no lost child runs."""

import pytest

from tests.crash.stage import Stage
from tests.crash.test_dependencies import CHILD, GRANDCHILD, ROOT, called, key, statuses, submit_all, work_on
from tests.engine.dependencies.graphs import node
from tests.engine.play import NOW, PLAIN_RETRY, Play, spec
from timeball.domain.model.evolve import evolve
from timeball.domain.model.terms.dependency import Children, TriggerRule
from timeball.domain.time.schedule import At
from timeball.engine.changes.remove import Removal, remove

LATER = evolve(ROOT, schedule=spec("a", At(NOW + 60_000)).schedule)
OTHER = evolve(node("x"), schedule=spec("x", At(NOW + 60_000)).schedule)
AFTER_ANY_END = evolve(node("d", "c", TriggerRule.ALL_DONE), retry=PLAIN_RETRY)
OF_TWO = evolve(node("e", "a x", TriggerRule.ALL_DONE), retry=PLAIN_RETRY)

# The effect on the children; the jobs that run in the end, and how each of `abcdex` stands.
CASES = {
    "detached": (Children.DETACH, ["x", "e"], ["cancelled", "paused", "pending", "pending", "completed", "completed"]),
    "cancelled": (Children.CANCEL, ["x", "e"], [*["cancelled"] * 4, "completed", "completed"]),
}


@pytest.mark.on_moto("detached")
@pytest.mark.parametrize("case", CASES)
def test_a_stopped_removal_that_is_repeated_ends_in_the_same_state(stage: Stage, case: str) -> None:
    children, calls, ends = CASES[case]
    play = stage.play(NOW)
    submit_all(play, LATER, OTHER, CHILD, GRANDCHILD, AFTER_ANY_END, OF_TWO)

    def take(play: Play) -> None:
        remove(play.context(), Removal(key("a"), children=children))

    for left in stage.crashes(play, take, 8):
        left.clock.advance(stage.later_ms)
        for _ in range(3):
            left.scan_all()
        if left.job(key("a")).is_open:
            assert "skipped" not in statuses(left, "bcde")  # no child ends for a parent that still stands
        take(left)
        left.clock.advance(60_000)
        work_on(left, 12)
        assert (called(left), statuses(left, "abcdex")) == (calls, ends)
