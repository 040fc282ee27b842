"""Random graphs, drawn from a seed: their edges and rules, the answer to each call, and what users do."""

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from tests.engine.dependencies.graphs import BEGIN, node
from tests.engine.dependencies.reference import FAILED, SUCCEEDED
from timeball.domain.model.evolve import evolve
from timeball.domain.model.jobs.job import JobSpec
from timeball.domain.model.terms.dependency import Parent, ParentEnd, TriggerRule
from timeball.domain.model.terms.policies import CatchUp, CatchUpPolicy, RetryPolicy, Work
from timeball.domain.model.terms.target import HttpTarget
from timeball.domain.time.instants import HOUR_MS, SECOND_MS
from timeball.domain.time.schedule import At, Every, Schedule

MOST_JOBS = 40
CYCLES = 3
PERIOD = 6 * HOUR_MS

Place = tuple[str, int | None]
"""A job, and the number of the cycle if the job recurs."""


@dataclass(frozen=True)
class Plan:
    """A graph, parents first; how often each run fails, and its final result; what users do, and when."""

    specs: list[JobSpec]
    fails: dict[Place, int]
    ends: dict[Place, str]
    deeds: list[tuple[int, str, str]]
    odds: float
    """For each write: the probability that the store fails before it, and again after it."""


def planned(seed: int) -> Plan:
    """Draw a plan from a seed."""
    draw = Random(f"graph {seed}")  # noqa: S311 - a graph is drawn from its seed
    specs: list[JobSpec] = []
    recurs = draw.random() < 0.6
    most_parents = draw.choice((1, 2, 3, 6))
    for number in range(draw.randint(2, MOST_JOBS)):
        near = specs[-draw.choice((2, 5, MOST_JOBS)) :]
        parents = draw.sample(near, min(len(near), draw.randint(0 if draw.random() < 0.3 else 1, most_parents)))
        specs.append(_drawn(draw, f"n{number:02}", parents, recurs=recurs))
    odds = draw.choice((0, 0.05, 0.15, 0.3))
    slots = [place for spec in specs for place in places_of(spec)]
    ends = {place: FAILED if draw.random() < odds else SUCCEEDED for place in slots}
    fails = {place: draw.choice((0, 0, 0, 0, 1, 2)) for place in slots}
    return Plan(specs, fails, ends, [*_deeds(draw, specs)], draw.choice((0, 0.005, 0.02)))


def _drawn(draw: Random, name: str, parents: list[JobSpec], *, recurs: bool) -> JobSpec:
    of_one_cycle = [end for end in ParentEnd if end is not ParentEnd.LATEST]
    ends = (ParentEnd.SUCCEEDED, ParentEnd.SUCCEEDED, ParentEnd.SUCCEEDED, *of_one_cycle)
    is_recurring = any(not one.schedule.is_one_off for one in parents) or (
        not parents and recurs and draw.random() < 0.8
    )
    timing = Every(PERIOD // SECOND_MS, BEGIN) if is_recurring else At(BEGIN + draw.randrange(60) * SECOND_MS)
    return evolve(
        node(name),
        schedule=Schedule(timing),
        work=Work(HttpTarget(f"https://{name}.example/hook"), "1"),
        retry=RetryPolicy(max_retries=10, base_seconds=2, max_seconds=20),
        timeout_seconds=20,
        depends_on=tuple(Parent(one.key.job_id, on=draw.choice(ends)) for one in parents),
        trigger_rule=draw.choice((TriggerRule.ALL_SUCCEEDED, *TriggerRule)),
        inherits=bool(parents),
        catch_up=CatchUp(CatchUpPolicy.ALL, max_age_seconds=86_400),
    )


def _deeds(draw: Random, specs: list[JobSpec]) -> Iterator[tuple[int, str, str]]:
    """Draw what users do within some minutes of a fire. Jobs still paused at the end of the story are resumed then."""
    for _ in range(draw.choice((0, 2, 6))):
        at = BEGIN + draw.randrange(CYCLES) * PERIOD + draw.randrange(-15, 90) * SECOND_MS
        yield at, draw.choice(("pause", "pause", "resume", "postpone", "cancel", "kill")), draw.choice(specs).key.job_id


def places_of(spec: JobSpec) -> list[Place]:
    """Return the `Place`s of a job: one, or one for each cycle."""
    cycles: list[int | None] = [None] if spec.schedule.is_one_off else [*range(CYCLES)]
    return [(spec.key.job_id, cycle) for cycle in cycles]
