"""One tenant's hanging calls, floods and backfills delay nobody else. `make fairness` prints figures of larger ones."""

from tests.simulation.hostile import beside_hanging, besieged, contention_of, latest

FEW = {"normal": 6}
FIFTEEN_MINUTES = 900


def test_a_run_each_second_is_on_time_beside_more_hanging_calls_than_there_are_places() -> None:
    assert latest(beside_hanging(contention_of(FEW), 800, 60)) < 1


def test_with_executors_that_take_nothing_more_it_would_be_late() -> None:
    assert latest(beside_hanging(contention_of(FEW, takes_more=False), 800, 60)) > 30


def test_with_an_executor_that_gives_a_place_to_whoever_asks_it_would_be_late() -> None:
    anybody = contention_of(FEW, rule=lambda _, asking, __: [True] * len(asking))
    assert latest(beside_hanging(anybody, 800, 60)) > 30


def test_runs_that_may_not_last_long_are_on_time_for_as_long_as_calls_hang() -> None:
    assert latest(beside_hanging(contention_of(FEW, may_last_seconds=30), 100, FIFTEEN_MINUTES)) < 1


def test_a_quota_of_runs_at_once_keeps_executors_free_for_as_long_as_calls_hang() -> None:
    assert latest(beside_hanging(contention_of(FEW, {"hostile": 20}), 100, FIFTEEN_MINUTES)) < 1


def test_a_quota_below_the_number_of_executors_does_so_for_calls_that_come_one_by_one() -> None:
    assert latest(beside_hanging(contention_of(FEW, {"hostile": 3}), 100, FIFTEEN_MINUTES, apart_seconds=2.3)) < 1
    assert latest(beside_hanging(contention_of(FEW, {"hostile": 20}), 100, FIFTEEN_MINUTES, apart_seconds=2.3)) > 60


def test_without_it_runs_that_may_take_long_are_late_once_executors_are_too_old_for_them() -> None:
    assert latest(beside_hanging(contention_of(FEW), 100, FIFTEEN_MINUTES)) > 60


def test_a_tenant_that_does_all_of_this_at_once_delays_nobody() -> None:
    assert latest(besieged(contention_of(), 100, 30)) < 1
