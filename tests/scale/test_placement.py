"""How the keys of the due index are placed on partitions: the promised rates hold on 999 of 1,000 days."""

from collections import Counter

import pytest

from bench.scale.cases import PLACED, PROMISED_LARGE, PROMISED_SMALL, STAGES
from bench.scale.deployment import Deployment, arithmetic, table_of
from bench.scale.limits import PARTITION_READS, PARTITION_WRITES
from bench.scale.placement import DAYS, PROMISED, partitions_of, placements
from bench.scale.report import kept

RATES = ((STAGES[0], PROMISED_SMALL), (STAGES[1], PROMISED_LARGE))


def test_a_table_has_as_many_partitions_as_its_writes_or_its_reads_need() -> None:
    assert partitions_of(4_000, 12_000) == 4
    assert partitions_of(40_000, 12_000) == 40
    assert partitions_of(4_000, 120_000) == 40


@pytest.mark.parametrize(("deployment", "rate"), RATES, ids=["small", "large"])
def test_the_promised_rate_fits_the_fullest_partition_on_999_of_1000_days(deployment: Deployment, rate: int) -> None:
    found = arithmetic(deployment, rate)
    assert found["days_kept"] >= DAYS - 1
    assert found["table_units"] <= PARTITION_WRITES


def test_with_64_shards_the_promised_rate_of_large_does_not_fit_on_999_of_1000_days() -> None:
    before = Deployment("large", changed=(("shards", 64),))
    assert arithmetic(before, PROMISED_LARGE)["days_kept"] < DAYS - 100


def test_another_day_places_the_keys_anew_and_the_same_day_as_before() -> None:
    days = placements(64, 40)
    assert len({day.of_shard for day in days}) == DAYS
    assert [day.fullest for day in days] == sorted(day.fullest for day in days)
    placements.cache_clear()
    assert placements(64, 40) == days


def test_a_whole_stage_has_a_thousand_writes_and_three_thousand_reads_for_each_partition() -> None:
    table = table_of(Deployment("large"))
    used = set(table.partition_of_shard)
    assert {table.index.writes_of[partition] for partition in used} == {PARTITION_WRITES}
    assert {table.index.reads_of[partition] for partition in used} == {PARTITION_READS}


def test_a_part_of_a_stage_has_the_fullest_partition_and_its_share_of_each_other() -> None:
    whole = placements(320, 40)[PROMISED]
    table = table_of(Deployment("large", parts=8))
    fullest = whole.shares.index(whole.fullest)
    own, of_all = Counter(table.partition_of_shard), Counter(whole.of_shard)
    assert fullest in own
    assert len(table.partition_of_shard) == 40
    for partition, count in own.items():
        assert table.index.writes_of[partition] == pytest.approx(PARTITION_WRITES * count / of_all[partition])


def test_the_page_shows_the_median_day_and_the_five_worst_of_both_stages() -> None:
    assert [(one["deployment"]["stage"], one["case"]) for one in kept()["placed"]] == [
        (case.deployment.stage, case.name) for case in PLACED
    ]


def test_the_page_shows_the_current_arithmetic() -> None:
    today = [arithmetic(deployment, rate) for deployment, rate in RATES]
    assert [{**one, "deployment": 0} for one in kept()["arithmetic"]] == [{**one, "deployment": 0} for one in today]
