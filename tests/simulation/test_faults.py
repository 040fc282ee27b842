"""The simulation can fail: it finds each of the deliberate faults, within a few stories."""

import logging

import pytest

from tests.simulation.checker import complaints
from tests.simulation.faults import FAULTS
from tests.simulation.story import Story

MOST_STORIES = 100


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    apply, likely = FAULTS[name]
    apply(monkeypatch)
    logging.disable(logging.CRITICAL)
    try:
        assert any(complaints(Story(seed).play()) for seed in (likely, *range(MOST_STORIES)))
    finally:
        logging.disable(logging.NOTSET)
