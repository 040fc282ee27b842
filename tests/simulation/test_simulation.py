"""Seeded stories on virtual time: whatever the weather, every promise holds. `make simulate SEEDS=10000` plays more."""

import pytest

from tests.simulation.checker import complaints
from tests.simulation.story import Story

SEEDS = 300
_GROUP = 25


@pytest.mark.parametrize("first", range(0, SEEDS, _GROUP))
def test_every_promise_holds_whatever_the_weather(first: int) -> None:
    for seed in range(first, first + _GROUP):
        found = complaints(Story(seed).play())
        assert not found, f"replay it: python -m tests.simulation --trace {seed}\n" + "\n".join(found)
