"""Each drill sets off its own alarm within its time and no other. `make drill` prints when each goes off."""

import pytest

from tests.drills.calm import alarms_of_story
from tests.drills.deployment import PARTITIONS
from tests.drills.drill import alarms_template, faults_of, play
from tests.drills.judge import MINUTE_MS, Series, judged
from tests.drills.releases import RELEASE_DRILLS
from tests.drills.table import DRILLS

pytestmark = pytest.mark.xdist_group("drills")
"""Synthesizing the alarms takes longer than judging them."""


@pytest.fixture(scope="session")
def template() -> dict[str, object]:
    """Return the template with the alarms."""
    return alarms_template(PARTITIONS)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.more) if one.is_long else name for name, one in DRILLS.items()]
)
def test_a_drill_sets_off_its_own_alarm_within_its_time_and_no_other(name: str, template: dict[str, object]) -> None:
    drill = DRILLS[name]
    played = play(drill, template)
    assert not faults_of(drill, played), f"play it: make drill NAME={name}\n{played}"


@pytest.mark.parametrize("name", RELEASE_DRILLS)
def test_a_change_of_releases_sets_off_no_alarm(name: str, template: dict[str, object]) -> None:
    found = [*RELEASE_DRILLS[name].play(template)]
    assert not found, f"play it: make drill NAME={name}\n" + "\n".join(found)


@pytest.mark.parametrize("name", ["ticker-gone", "watch-gone"])
def test_an_alarm_is_over_soon_after_its_trouble(name: str, template: dict[str, object]) -> None:
    over = play(DRILLS[name], template).over
    assert over
    assert all(seconds <= 6 * 60 for seconds in over.values()), over


def test_a_deployment_without_any_data_is_silent_and_down(template: dict[str, object]) -> None:
    found = judged(template, Series(), 0, 20 * MINUTE_MS)
    assert found.keys() == {"TickSilent", "CanarySilent", "WatchSilent", "Down"}


@pytest.mark.parametrize("seed", [1, 2, 3, 5, 7])
def test_a_calm_story_sets_off_no_alarm(seed: int, template: dict[str, object]) -> None:
    assert not alarms_of_story(seed, template), f"play it: python -m tests.drills --calm 1 --from {seed}"
