"""Scenes: every promise holds, and the deliberate faults that name them are found there."""

import pytest

from tests.simulation.scenes.catalogue import SCENES


@pytest.mark.parametrize("name", SCENES)
def test_every_promise_holds(name: str) -> None:
    assert not [*SCENES[name].complaints()]
