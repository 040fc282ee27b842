"""One tenant's hanging calls, floods and backfills delay nobody else. `make fairness` prints figures of larger ones."""

from tests.simulation.hostile import beside_hanging, besieged, contention_of, latest

FEW = {"normal": 6}
FIFTEEN_MINUTES = 900


def test_a_run_each_second_is_on_time_beside_more_hanging_calls_than_there_are_places() -> None:
    assert latest(beside_hanging(contention_of(FEW), 800, 60)) < 1


def test_with_executors_that_take_nothing_more_it_would_be_late() -> None:
    assert latest(beside_hanging(contention_of(FEW, takes_more=False), 800, 60)) > 40


def test_a_quota_of_runs_at_once_keeps_executors_free_for_as_long_as_calls_hang() -> None:
    assert latest(beside_hanging(contention_of(FEW, {"hostile": 20}), 100, FIFTEEN_MINUTES)) < 1


def test_without_it_runs_that_may_take_long_are_late_once_executors_are_too_old_for_them() -> None:
    assert latest(beside_hanging(contention_of(FEW), 100, FIFTEEN_MINUTES)) > 60


def test_a_tenant_that_does_all_of_this_at_once_delays_nobody() -> None:
    assert latest(besieged(contention_of(), 100, 30)) < 1
