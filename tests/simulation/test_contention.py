"""Contending tenants and priorities each get their share. `make fairness` prints the figures of larger ones."""

import pytest

from tests.simulation.contention import beside_a_crowd, by_priority, by_weight
from timeball.domain.sharing.capacity import CAPACITY, MINIMUMS
from timeball.engine.scanning import shares


def test_a_tenant_with_a_job_each_second_is_on_time_beside_thousands_of_one_instant() -> None:
    assert max(beside_a_crowd(4_000, seconds=20).lateness("quiet")) < 0.1


def test_without_reading_on_that_tenant_would_be_late(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shares, "_READING_MS", 0)
    assert max(beside_a_crowd(4_000, seconds=20).lateness("quiet")) > 1


def test_a_tenant_of_weight_2_gets_twice_the_dispatches_of_one_of_weight_1() -> None:
    sent = by_weight({"one": 1, "two": 2}, 3_000, 9).dispatched()
    assert 1.8 <= sent["two"] / sent["one"] <= 2.2


@pytest.mark.parametrize("more", [3, 10])
def test_while_executors_are_overloaded_high_waits_least_and_low_makes_progress(more: float) -> None:
    contention = by_priority({"high": 12, "normal": 7, "low": 1}, 6, more)
    waits, started = contention.waits(), contention.started_of()
    assert waits["high"] < waits["normal"] < waits["low"]
    assert started["high"] > 2 * started["normal"]
    assert started["low"] >= 6 * MINIMUMS[2] * 20 // CAPACITY  # its minimum of a capacity of twenty, for six seconds
