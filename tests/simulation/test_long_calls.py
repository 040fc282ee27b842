"""Calls of ten seconds, more than the capacity of executors. `make fairness` prints the figures."""

import pytest

from tests.simulation.long_calls import FEW, LOCAL, beside_a_crowd, by_priority, by_weight
from timeball.domain.sharing.capacity import MINIMUMS
from timeball.engine.execution.capacity import MOST_KEPT

WITH_AND_WITHOUT_FAIR_QUEUES = pytest.mark.parametrize("has_fair_queues", [True, False])


@WITH_AND_WITHOUT_FAIR_QUEUES
@pytest.mark.parametrize("of_a_stage", [LOCAL, FEW])
def test_tenants_of_weight_5_and_1_begin_calls_at_a_ratio_between_4_to_1_and_6_to_1(
    of_a_stage: dict[str, int], *, has_fair_queues: bool
) -> None:
    begun = by_weight(of_a_stage, has_fair_queues=has_fair_queues)
    assert 4 <= begun["heavy"] / begun["light"] <= 6


def test_tenants_of_the_same_weight_begin_as_many_calls() -> None:
    begun = by_weight(LOCAL, has_fair_queues=False, heavy=1)
    assert 0.9 <= begun["heavy"] / begun["light"] <= 1.1


@WITH_AND_WITHOUT_FAIR_QUEUES
def test_a_job_of_each_second_is_on_time_beside_700_calls_of_another_tenant(*, has_fair_queues: bool) -> None:
    late = beside_a_crowd(LOCAL, has_fair_queues=has_fair_queues)
    assert late[len(late) * 99 // 100] <= 1


def test_beside_more_calls_than_executors_keep_only_fair_queues_keep_a_small_tenant_on_time() -> None:
    beyond = LOCAL["normal"] * (MOST_KEPT + 50) + 300
    assert beside_a_crowd(LOCAL, has_fair_queues=True, crowd=beyond)[-1] <= 1
    assert beside_a_crowd(LOCAL, has_fair_queues=False, crowd=beyond)[-1] > 1


@WITH_AND_WITHOUT_FAIR_QUEUES
def test_no_more_of_low_than_its_minimum_begins_before_the_last_of_high(*, has_fair_queues: bool) -> None:
    order = by_priority(LOCAL, has_fair_queues=has_fair_queues)
    assert order.begun_before["low"] <= MINIMUMS[2] * LOCAL["low"]
    assert order.begun_before["high"] > 500


def test_executors_lend_the_idle_capacity_of_their_own_priority_to_high() -> None:
    alone = by_priority({"high": LOCAL["high"]}, has_fair_queues=False)
    lent = by_priority(LOCAL, has_fair_queues=False)
    assert lent.begun_at_once["high"] > alone.begun_at_once["high"] + 60
