"""Scenes of jobs that depend on jobs."""

from collections.abc import Mapping
from dataclasses import replace

from tests.simulation.actors.scripted import (
    answers_with,
    asks_of_runs,
    backfills_graph,
    cancels_backfills,
    every,
    job,
    once,
    pushes_to,
    removes,
    reruns,
    rests,
    rewires,
    submits_jobs,
)
from tests.simulation.scenes.scene import Scene
from tests.simulation.world.receiver import WEAVERS
from timeball.domain.model.terms.dependency import Children, Parent, ParentEnd, TriggerRule
from timeball.domain.operation import RerunMode
from timeball.engine.runs.manual import retry_runs

_FEED = (Parent("feed", on=ParentEnd.LATEST),)

SCENES: Mapping[str, Scene] = {
    "a graph with items": Scene(
        [
            (
                0,
                submits_jobs(
                    job("head", every(10), tenant=WEAVERS),
                    job("each", once(0), "head", inherits=True, for_each="head", tenant=WEAVERS),
                    job("after", once(0), "head", "each", inherits=True, pass_parents=True, tenant=WEAVERS),
                    job("first", once(3), tenant=WEAVERS),
                    job("second", once(3), "first", inherits=True, pass_parents=True, tenant=WEAVERS),
                    job("third", once(3), "first", "second", inherits=True, for_each="second", tenant=WEAVERS),
                ),
            ),
            (12, answers_with(404, 200)),
            (22, answers_with(200)),
            (24, asks_of_runs("retry", retry_runs, lambda run: run.is_dead_letter)),
            (30, reruns("head", RerunMode.FAILED)),
            (31, reruns("head", RerunMode.ALL)),
            (40, rests),
        ],
        kind=1,
        executors=2,
    ),
    "named cycles of a graph": Scene(
        [
            (
                0,
                submits_jobs(
                    job("outside", every(30), tenant=WEAVERS),
                    job("top", every(30), tenant=WEAVERS),
                    job("middle", every(30), "top", "outside", inherits=True, tenant=WEAVERS),
                    job("low", every(30), "middle", inherits=True, tenant=WEAVERS),
                    job("always", every(30), "top", inherits=True, trigger_rule=TriggerRule.ALL_DONE, tenant=WEAVERS),
                    job("last", every(30), "top", "middle", "outside", inherits=True, tenant=WEAVERS),
                ),
            ),
            (2, answers_with(200, takes_ms=3_000)),
            (3, pushes_to("top", "whole", WEAVERS, downstream=True)),
            (14, backfills_graph("top", 1)),
            (16, cancels_backfills),
            (22, rests),
        ],
        executors=2,
    ),
    "a cancel of a backfill of a graph with a slow job": Scene(
        [
            (
                0,
                submits_jobs(
                    job("top", every(30), tenant=WEAVERS),
                    job("middle", every(30), "top", inherits=True, timeout_seconds=100, tenant=WEAVERS),
                    job("low", every(30), "middle", inherits=True, tenant=WEAVERS),
                ),
            ),
            (13, backfills_graph("top", 10)),
            (14, answers_with(200, takes_ms=75_000)),
            (18, cancels_backfills),
        ]
    ),
    "reruns of a graph": Scene(
        [
            (
                0,
                submits_jobs(
                    job("a", once(2), tenant=WEAVERS),
                    job("b", once(2), "a", inherits=True, tenant=WEAVERS),
                    job("c", once(2), "b", inherits=True, tenant=WEAVERS),
                    job("d", once(2), "c", inherits=True, tenant=WEAVERS),
                ),
            ),
            (15, reruns("a", RerunMode.ALL)),
            (30, rests),
        ],
        kind=6,
    ),
    "judged by latest cycles": Scene(
        [
            (0, submits_jobs(job("feed", every(6), tenant=WEAVERS))),
            (
                8,
                submits_jobs(
                    replace(job("report", every(9), tenant=WEAVERS), depends_on=_FEED),
                    replace(job("once", once(30), tenant=WEAVERS), depends_on=_FEED),
                ),
            ),
            (13, answers_with(200, takes_ms=5_000)),
            (35, rests),
        ],
        kind=31,
    ),
    "a circle of jobs": Scene(
        [
            (
                0,
                submits_jobs(
                    job("a", once(30), tenant=WEAVERS), job("b", once(30), "a", inherits=True, tenant=WEAVERS)
                ),
            ),
            (2, rewires("a", "b")),
        ]
    ),
    "a job that is cancelled with its children": Scene(
        [
            (
                0,
                submits_jobs(
                    job("a", once(30), tenant=WEAVERS),
                    job("b", once(30), "a", inherits=True, tenant=WEAVERS),
                    job("c", once(30), "b", inherits=True, tenant=WEAVERS),
                ),
            ),
            (2, removes("a", Children.CANCEL)),
        ]
    ),
}
