"""Meetings: wherever the first actor is stopped, every promise holds."""

import pytest

from tests.simulation.meetings import MEETINGS

LONGEST = {"a resume after an outage, under another schedule"}
"""Thousands of crash points that other meetings cover in part: only for a release."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.more] * (name in LONGEST)) for name in MEETINGS]
)
def test_every_promise_holds_wherever_the_first_actor_is_stopped(name: str) -> None:
    assert not [*MEETINGS[name].complaints()]
