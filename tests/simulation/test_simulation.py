"""Seeded stories on virtual time: whatever the weather, every promise holds. `make simulate SEEDS=10000` plays more."""

import pytest

from tests.simulation.checker import complaints
from tests.simulation.play import play

SEEDS = 300
_GROUP = 25


@pytest.mark.parametrize("first", range(0, SEEDS, _GROUP))
def test_every_promise_holds_whatever_the_weather(first: int) -> None:
    for seed in range(first, first + _GROUP):
        found = complaints(play(seed))
        assert not found, f"replay it: python -m tests.simulation --trace {seed}\n" + "\n".join(found)


def test_a_seed_tells_the_same_story_each_time() -> None:
    told: list[list[str]] = [[], []]
    for lines in told:
        play(7, lines.append)
    assert told[0]
    assert told[0] == told[1]
