"""Whoever meets whom, and wherever one of them was just then: every promise holds."""

import pytest

from tests.simulation.meetings import MEETINGS

LONGEST = {"a resume after an outage, under another schedule"}
"""Thousands of crash points of what others meet in part: for a release."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.more] * (name in LONGEST)) for name in MEETINGS]
)
def test_every_promise_holds_wherever_the_first_is_stopped(name: str) -> None:
    assert not [*MEETINGS[name].complaints()]
