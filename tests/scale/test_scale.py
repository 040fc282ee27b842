"""Small cases of `make scale` respect its limits, and docs/concepts/scale.md matches the current settings."""

from collections.abc import Mapping

import pytest

from bench.scale.cases import CASES, STAGES, Case, Wave
from bench.scale.deployment import Deployment
from bench.scale.outcome import play
from bench.scale.report import CURVES, curve_name, kept


@pytest.mark.parametrize(
    ("deployment", "wave"),
    [(Deployment("small"), Wave(100, 0, 5)), (Deployment("large", parts=8), Wave(1_600, 0, 5))],
    ids=["small", "large"],
)
def test_a_load_below_its_capacity_is_on_time_and_complete(deployment: Deployment, wave: Wave) -> None:
    outcome = play(Case("", deployment, (wave,), 30))
    assert outcome.is_kept
    assert len(outcome.late) == 5 * round(wave.a_second * outcome.stack.part)


def test_the_same_case_has_the_same_result() -> None:
    case = Case("", Deployment("small", is_warm=False), (Wave(200),), 30)
    assert play(case).figures() == play(case).figures()


def test_the_figures_match_the_current_cases_and_settings() -> None:
    figures = kept()
    cases = [(one["case"], _settings(one["deployment"])) for one in figures["cases"]]
    assert cases == [(case.name, _settings(case.deployment.told())) for case in CASES], "Run: make scale"
    stages = [_settings(one["deployment"]) for one in figures["capacity"]]
    assert stages == [_settings(stage.told()) for stage in STAGES], "Run: make scale"


def _settings(deployment: Mapping[str, object]) -> dict[str, object]:
    """Return all settings except the figures of `make bench`, which change with each release and each machine."""
    return {name: value for name, value in deployment.items() if name != "cpu_ms"}


def test_each_case_has_its_curve() -> None:
    assert {path.name for path in CURVES.glob("*.svg")} == {curve_name(case.name) for case in CASES}
