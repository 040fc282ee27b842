"""The simulation can fail: it finds each of the deliberate faults, within a few stories or in a meeting."""

import pytest

from tests.simulation.checker import complaints
from tests.simulation.faults import FAULTS
from tests.simulation.meetings import MEETINGS
from tests.simulation.play import play

MOST_STORIES = 100


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fault = FAULTS[name]
    fault.apply(monkeypatch)
    if fault.meeting is not None:
        assert any(MEETINGS[fault.meeting].complaints())
    else:
        assert any(complaints(play(seed)) for seed in (fault.seed, *range(MOST_STORIES)))
