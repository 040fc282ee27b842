"""One tenant's hanging calls, floods and backfills delay no other tenant. `make fairness` prints larger figures."""

from collections.abc import Mapping, Sequence

from tests.simulation.hostile import beside_hanging, besieged, contention_of, latest
from timeball.domain.sharing.capacity import Asking, Holder
from timeball.engine.context import Rules

FEW = {"normal": 6}
FEWER = {"normal": 3}
FIFTEEN_MINUTES, HALF_AN_HOUR = 900, 1_800


def test_a_run_each_second_is_on_time_beside_more_hanging_calls_than_the_executors_capacity() -> None:
    assert latest(beside_hanging(contention_of(FEW), 800, 60)) < 1


def test_if_executors_took_no_further_messages_it_would_be_late() -> None:
    assert latest(beside_hanging(contention_of(FEW, takes_more=False), 800, 60)) > 30


def test_if_executors_gave_capacity_to_every_message_it_would_be_late() -> None:
    def whoever_asks(
        held: Mapping[Holder, int], asking: Sequence[Asking], _: Mapping[str, int], slots: int, __: int, **___: bool
    ) -> list[bool]:
        free = (slots - sum(held.values())) // Rules().runs_per_message
        return [number < free for number in range(len(asking))]

    anybody = contention_of(FEW, rule=whoever_asks)
    assert latest(beside_hanging(anybody, 800, 60)) > 30


def test_a_siege_of_half_an_hour_delays_no_run_with_the_default_timeout() -> None:
    besieged_too_long = beside_hanging(contention_of(FEWER), 500, HALF_AN_HOUR)
    assert latest(besieged_too_long) < 1
    assert besieged_too_long.most_at_work["normal"] <= 3 * FEWER["normal"]


def test_without_successors_runs_would_be_late_when_all_executors_are_too_old_for_them() -> None:
    assert latest(beside_hanging(contention_of(FEWER, successors=0), 200, FIFTEEN_MINUTES)) > 60


def test_runs_so_seldom_that_a_successor_is_idle_in_between_are_not_late_either() -> None:
    assert latest(beside_hanging(contention_of(FEWER), 200, HALF_AN_HOUR, each_seconds=97)) < 1


def test_calls_that_end_after_successors_have_begun_to_hold_others_delay_no_run() -> None:
    assert latest(beside_hanging(contention_of(FEWER, hang_seconds=455), 500, HALF_AN_HOUR, each_seconds=7)) < 1


def test_hanging_calls_that_come_one_by_one_delay_no_run_with_a_quota_or_without() -> None:
    assert latest(beside_hanging(contention_of(FEW), 400, FIFTEEN_MINUTES, apart_seconds=2.3)) < 1
    assert latest(beside_hanging(contention_of(FEW, {"hostile": 20}), 400, FIFTEEN_MINUTES, apart_seconds=2.3)) < 1


def test_a_few_successors_of_many_executors_are_enough() -> None:
    few = contention_of({"normal": 9}, successors=3)
    assert latest(beside_hanging(few, 500, FIFTEEN_MINUTES, each_seconds=2)) < 1
    assert few.most_at_work["normal"] <= 9 + 2 * 4


def test_a_tenant_that_does_all_of_this_at_once_delays_no_run() -> None:
    assert latest(besieged(contention_of(), 100, 30)) < 1
