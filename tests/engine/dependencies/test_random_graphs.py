"""Random graphs end as the reference says. `make simulate STORIES=--dags SEEDS=5000` plays more."""

import logging

import pytest

from tests.engine.dependencies.random_graphs import complaints
from tests.simulation.faults.depending import FAULTS


@pytest.fixture(autouse=True)
def _is_quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL + 1)


@pytest.mark.parametrize("seed", range(36))
def test_a_graph_ends_as_the_reference_says(seed: int) -> None:
    assert complaints(seed) == []


@pytest.mark.parametrize("name", ["a job with two parents does not wait", "a child of a dead parent is not blocked"])
def test_a_fault_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    FAULTS[name].apply(monkeypatch)
    assert any(complaints(seed) for seed in range(20))
