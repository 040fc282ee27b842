"""docs/how-to/deploy.md: a move to another stage is confirmed with the number of shards of that stage."""

import re
from pathlib import Path

import pytest

from infra.settings import Settings
from infra.stages import STAGES

PAGE = Path(__file__).parents[2] / "docs/how-to/deploy.md"
CONFIRMED = re.findall(r"timeball:stage=(\w+) -c timeball:confirm=(\w+)-(\d+)", PAGE.read_text())


def test_the_page_confirms_a_move_to_each_stage_of_an_account() -> None:
    assert {stage for stage, *_ in CONFIRMED} == STAGES.keys() - {"local"}


@pytest.mark.parametrize(("stage", "confirmed", "shards"), CONFIRMED)
def test_a_move_is_confirmed_with_the_shards_of_its_stage(stage: str, confirmed: str, shards: str) -> None:
    settings = Settings.read({"timeball:stage": stage})
    assert (confirmed, int(shards)) == (stage, settings.functions.rules.shards)
