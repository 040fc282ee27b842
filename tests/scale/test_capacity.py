"""The capacity of each stage is as in docs/concepts/scale.md: a change that moves a figure by over a tenth fails.

The cases are played with the processor times that the figures were kept with, so the speed of this machine does not
matter. If a change was meant to move a figure, `make scale` writes the new ones.
"""

from dataclasses import replace

import pytest

from bench.scale.__main__ import spike, sustained
from bench.scale.cases import CASES, PLACED, STAGES, Case
from bench.scale.deployment import Deployment
from bench.scale.limits import Cpu
from bench.scale.outcome import play
from bench.scale.report import Figures, kept, moved

_AGAIN = "If that is intended, run: make scale"


@pytest.mark.parametrize(
    ("before", "after", "named"),
    [
        ({"late": {"p99": 300}}, {"late": {"p99": 330}}, []),  # a tenth
        ({"late": {"p99": 300}}, {"late": {"p99": 331}}, ["late.p99: 300 before, 331 now"]),  # more
        ({"late": {"p99": 300}}, {"late": {"p99": 200}}, ["late.p99: 300 before, 200 now"]),  # a better one is told too
        ({"late": 3}, {"late": 9}, []),  # few milliseconds
        ({"dollars": 5.63}, {"dollars": 6.2}, ["dollars: 5.63 before, 6.2 now"]),
        ({"requests": 0.99}, {"requests": 1.0}, []),
        ({"limit": "table"}, {"limit": "scans"}, ["limit: table before, scans now"]),
        ({"late": {"max": 300}}, {"late": {"max": 900}}, []),  # one run
    ],
)
def test_a_figure_has_moved_if_it_differs_by_more_than_a_tenth(
    before: Figures, after: Figures, named: list[str]
) -> None:
    assert moved(before, after) == named


def _as_kept(deployment: Deployment, figures: Figures) -> Deployment:
    return replace(deployment, cpu=Cpu(*figures["deployment"]["cpu_ms"]))


@pytest.mark.more
@pytest.mark.parametrize(
    ("case", "before"),
    [*zip((*CASES, *PLACED), (*kept()["cases"], *kept()["placed"]), strict=True)],
    ids=[f"{case.deployment.stage}, {case.name}" for case in (*CASES, *PLACED)],
)
def test_each_case_comes_out_as_docs_scale_md_says(case: Case, before: Figures) -> None:
    outcome = play(replace(case, deployment=_as_kept(case.deployment, before)))
    assert (outcome.lost, outcome.doubled, outcome.early) == (0, 0, 0)
    assert moved(before, outcome.figures()) == [], _AGAIN


@pytest.mark.more
@pytest.mark.parametrize(
    ("stage", "before"), [*zip(STAGES, kept()["capacity"], strict=True)], ids=("small", "large", "raised")
)
def test_each_stage_sustains_its_rate_and_its_spike(stage: Deployment, before: Figures) -> None:
    stage = _as_kept(stage, before)
    assert moved(before, {**sustained(stage), **spike(stage)}) == [], _AGAIN
