"""The capacity of an executor: tenants share it by weight, priorities get it in order, and no tenant gets all of it."""

from collections import Counter
from collections.abc import Mapping

import pytest

from timeball.domain.sharing.capacity import CAPACITY, MINIMUMS, Asking, granted, room_for_alike, room_for_any

HIGH, NORMAL, LOW = 0, 1, 2


def got(
    asking: list[Asking], held: Mapping[tuple[str, int], int] | None = None, weights: Mapping[str, int] | None = None
) -> Counter[tuple[str, int]]:
    answers = granted(held or {}, asking, weights or {})
    counts = Counter[tuple[str, int]]()
    for one, has_slot in zip(asking, answers, strict=True):
        counts[one.tenant, one.rank] += one.runs * has_slot
    return +counts


def test_n_tenants_leave_one_share_of_n_plus_one_free() -> None:
    for tenants in (1, 2, 3, 9, 30):
        counts = got([Asking(f"tenant-{n % tenants}") for n in range(CAPACITY * tenants)])
        assert max(counts.values()) - min(counts.values()) <= 1
        assert CAPACITY - counts.total() >= CAPACITY // (tenants + 1)
        assert granted(counts, [Asking("another")]) == [True]


@pytest.mark.parametrize(
    ("weights", "shares"),
    [
        ({"a": 5, "b": 1}, {"a": 71, "b": 14}),
        ({"a": 2, "b": 1}, {"a": 50, "b": 25}),
        ({"a": 3}, {"a": 60, "b": 20}),  # a tenant that is not listed has the weight 1
    ],
)
def test_tenants_that_contend_share_by_weight(weights: Mapping[str, int], shares: Mapping[str, int]) -> None:
    assert got([Asking("a"), Asking("b")] * CAPACITY, weights=weights) == {
        (name, HIGH): n for name, n in shares.items()
    }


def test_while_more_messages_wait_a_tenant_gets_no_more_than_its_share() -> None:
    asking, weights = [Asking("heavy"), Asking("light")] * 33, {"heavy": 5}
    assert sum(granted({}, asking, weights)) == 66
    answers = granted({}, asking, weights, more=True)
    assert Counter(one.tenant for one, has_slot in zip(asking, answers, strict=True) if has_slot) == {
        "heavy": 33,
        "light": 14,
    }


def test_other_tenants_get_the_capacity_that_a_heavy_one_does_not_want() -> None:
    counts = got([Asking("heavy")] * 10 + [Asking("light")] * CAPACITY, weights={"heavy": 5})
    assert counts == {("heavy", HIGH): 10, ("light", HIGH): 45}


def test_freed_capacity_goes_to_the_tenant_that_holds_least_by_its_weight() -> None:
    held = {("crowd", HIGH): 60, ("heavy", HIGH): 38, ("other", HIGH): 1}
    asking = [Asking("crowd")] * 50 + [Asking("heavy")] * 50 + [Asking("newcomer")]
    assert got(asking, held, {"heavy": 5}) == {("newcomer", HIGH): 1}


def test_no_run_is_preempted_and_a_tenant_beyond_its_share_gets_no_more() -> None:
    held = {("crowd", HIGH): 60}
    assert got([Asking("crowd")] * 50 + [Asking("other")] * 50, held) == {("other", HIGH): 20}


def test_high_takes_what_the_minimums_leave() -> None:
    tenants = [f"tenant-{n}" for n in range(300)]
    counts = Counter[int]()
    for (_, rank), count in got([Asking(one, rank) for rank in (LOW, NORMAL, HIGH) for one in tenants]).items():
        counts[rank] += count
    assert counts == {HIGH: CAPACITY - sum(MINIMUMS), NORMAL: MINIMUMS[NORMAL], LOW: MINIMUMS[LOW]}
    assert sum(MINIMUMS) <= CAPACITY // 5


def test_low_gets_its_minimum_and_no_more_while_high_of_its_tenant_waits() -> None:
    flood = [Asking("one", LOW)] * 30 + [Asking("one", HIGH)] * 700
    assert got(flood)["one", LOW] == MINIMUMS[LOW]
    assert got(flood, {("one", HIGH): 50}) == {("one", LOW): MINIMUMS[LOW]}


def test_each_priority_alone_may_have_all_that_tenants_may_have() -> None:
    for rank in (HIGH, NORMAL, LOW):
        assert got([Asking(f"tenant-{n}", rank) for n in range(300)]).total() == CAPACITY


def test_a_message_of_several_runs_gets_capacity_for_all_of_them_or_none() -> None:
    held = {(f"tenant-{n}", HIGH): 24 for n in range(4)}
    assert got([Asking("other", runs=5), Asking("another", runs=4)], held) == {("another", HIGH): 4}


def test_an_executor_asks_ahead_for_no_more_than_it_has_room_for_if_the_mix_of_tenants_stays() -> None:
    for held in ({"a": 50}, {"a": 10}, {"a": 30, "b": 20}, {"a": 25, "b": 25}, {f"t{n}": 2 for n in range(25)}):
        room, total = room_for_alike(held), sum(held.values())
        asking = [Asking(tenant) for tenant, count in held.items() for _ in range(count + count * room // total)]
        assert all(granted({}, asking))
    assert [room_for_alike({"a": 50}), room_for_alike({"a": 10}), room_for_alike({})] == [0, 40, CAPACITY]


def test_it_asks_further_ahead_for_a_heavy_tenant_beside_one_that_has_its_share() -> None:
    held = {"heavy": 33, "light": 33}
    assert room_for_alike(held) == 0
    assert room_for_alike(held, {"heavy": 5}) > 20
    assert room_for_alike({"heavy": 71, "light": 71}, {"heavy": 5}) == 0


def test_room_for_any_run_is_room_even_if_all_come_from_the_tenant_that_holds_most() -> None:
    for held in ({"a": 49}, {"a": 30, "b": 5}, {"a": 10, "b": 10, "c": 1}, {"a": 50, "b": 1}, {"a": 90}):
        room, by_rank = room_for_any(held), {(tenant, 0): count for tenant, count in held.items()}
        assert all(granted(by_rank, [Asking("a")] * room, late=0, more=True))
    assert [room_for_any(held) for held in ({}, {"a": 49}, {"a": 50}, {"a": 50, "b": 1})] == [CAPACITY, 1, 0, 0]
