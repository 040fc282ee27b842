"""The simulation can fail: each deliberate fault is found by the check that is there for it."""

import pytest

from tests.simulation.checker import PROMISES, complaints, sentence
from tests.simulation.faults import FAULTS
from tests.simulation.meetings import MEETINGS
from tests.simulation.play import play

MOST_STORIES = 100


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found_by_its_check(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fault = FAULTS[name]
    fault.apply(monkeypatch)
    if fault.meeting is not None:
        assert any(fault.is_told_by(complaint) for complaint in MEETINGS[fault.meeting].complaints())
    else:
        stories = (complaints(play(seed)) for seed in (fault.seed, *range(MOST_STORIES)))
        assert any(fault.is_told_by(complaint) for found in stories for complaint in found)


def test_each_check_is_there_for_a_fault() -> None:
    assert {fault.found_by for fault in FAULTS.values()} == {sentence(promise) for promise in PROMISES}
