"""Stories of losses: after a recovery, and a second one, what was promised holds."""

import pytest

from tests.simulation.checker import PROMISES, sentence
from tests.simulation.faults.recovering import RECOVERY_FAULTS
from tests.simulation.promises import recovery
from tests.simulation.recovery import NOT_PROMISED, complaints

STORIES, ALWAYS, AT_ONCE = 100, 30, 10
MOST_STORIES = 60


@pytest.mark.parametrize(
    "first",
    [
        *range(0, ALWAYS, AT_ONCE),
        *(pytest.param(first, marks=pytest.mark.more) for first in range(ALWAYS, STORIES, AT_ONCE)),
    ],
)
def test_after_a_loss_a_recovery_keeps_its_promises(first: int) -> None:
    for seed in range(first, first + AT_ONCE):
        found = complaints(seed)
        assert not found, f"replay it: python -m tests.simulation --recover --trace {seed}\n" + "\n".join(found)


@pytest.mark.parametrize("name", RECOVERY_FAULTS)
def test_a_fault_of_a_recovery_is_found_by_its_check(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fault = RECOVERY_FAULTS[name]
    fault.apply(monkeypatch)
    told = (complaint for seed in (fault.seed, *range(MOST_STORIES)) for complaint in complaints(seed))
    assert any(map(fault.is_told_by, told))


def test_each_check_of_a_recovery_finds_a_fault() -> None:
    assert {sentence(one) for one in recovery.PROMISES} <= {fault.found_by for fault in RECOVERY_FAULTS.values()}


def test_what_is_not_promised_after_a_loss_is_promised_otherwise() -> None:
    assert NOT_PROMISED.keys() <= {sentence(one) for one in PROMISES}
