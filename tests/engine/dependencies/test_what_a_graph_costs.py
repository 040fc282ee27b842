"""The cost of dependencies: a job without dependencies pays nothing for the graphs of others."""

from collections import Counter

from bench.charges import counted
from tests.engine.play import NOW, Play, spec
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.job import JobSpec
from timeball.domain.model.terms.dependency import Parent, ParentEnd
from timeball.domain.time.instants import SECOND_MS
from timeball.domain.time.schedule import Every
from timeball.engine.dependencies.examine import examine
from timeball.engine.scheduling.submit import submit

PERIOD = 60
PARENT = spec("parent", Every(PERIOD, NOW))
CHILD = evolve(PARENT, key=JobKey("acme", "child"), depends_on=(Parent("parent"),), inherits=True)
ALONE = evolve(PARENT, key=JobKey("acme", "alone"))


def units_of_the_second_fire(*specs: JobSpec) -> dict[str, int]:
    """Compute the write units of each job's second fire."""
    with counted() as (play, charges):
        examined = examine(play.context(), specs)
        ancestors = {one.spec.key: one.ancestors for one in examined}
        submit(play.context(), [one.spec for one in examined], play.clock.now(), ancestors=ancestors)
        _work(play)
        charges.clear()
        play.clock.advance(PERIOD * SECOND_MS - (play.clock.now() - NOW))
        _work(play)
        assert [sum(run.is_terminal for run in play.runs(one.key)) for one in specs] == [2] * len(specs)
        units = Counter[str]()
        for charge in charges.writes:
            units[charge.key[0]] += charge.computed
        return {one.key.job_id: units[f"acme#{one.key.job_id}"] for one in specs}


def _work(play: Play) -> None:
    for _ in range(20):
        play.scan_all()
        while play.execute_next():
            pass
        play.clock.advance(SECOND_MS)


def test_a_recurring_run_without_dependents_costs_no_more_write_units_beside_a_graph() -> None:
    assert units_of_the_second_fire(ALONE) == {"alone": 6}
    # While the child waits for its parent it is notable: an entry that appears, and goes.
    assert units_of_the_second_fire(PARENT, CHILD, ALONE) == {"alone": 6, "parent": 9, "child": 14}


def test_a_run_that_is_judged_by_a_latest_cycle_costs_no_more_than_one_that_waits_in_its_cycle() -> None:
    judging = evolve(CHILD, depends_on=(Parent("parent", on=ParentEnd.LATEST),), inherits=False)
    assert units_of_the_second_fire(PARENT, judging, ALONE) == {"alone": 6, "parent": 9, "child": 14}
