"""Whoever meets whom, and wherever one of them was just then: every promise holds."""

import pytest

from tests.simulation.meetings import MEETINGS


@pytest.mark.parametrize("name", MEETINGS)
def test_every_promise_holds_wherever_the_first_is_stopped(name: str) -> None:
    assert not [*MEETINGS[name].complaints()]
