"""The order in which tenants are served: a table of inputs and results."""

import pytest

from timeball.domain.sharing.fairness import in_turns, next_in_share

# Each case: the input, a letter for the tenant and a number for its position, and the order in which it is served.
TURNS = {
    "nothing": ("", ""),
    "one tenant keeps its order": ("a1 a2 a3", "a1 a2 a3"),
    "the only one of another is second": ("a1 a2 a3 a4 b1", "a1 b1 a2 a3 a4"),
    "each round is in the order that was given": ("b1 a1 a2 b2 b3 a3", "b1 a1 a2 b2 b3 a3"),
    "who has nothing left is passed over": ("a1 a2 b1 c1 c2 c3", "a1 b1 c1 a2 c2 c3"),
    "one of each stays as it was given": ("c1 a1 b1", "c1 a1 b1"),
}


@pytest.mark.parametrize("case", TURNS)
def test_tenants_are_served_in_rounds(case: str) -> None:
    given, served = TURNS[case]
    assert in_turns(given.split(), lambda item: item[0]) == served.split()


SHARES: dict[str, tuple[str, dict[str, int], int, str | None]] = {
    # The waiting tenants, what each holds, what is free, and the tenant that gets the next one.
    "no tenant waits": ("", {"a": 1}, 9, None),
    "a tenant that holds nothing takes the last one": ("ab", {"a": 9}, 1, "b"),
    "a tenant takes no more than it leaves": ("a", {"a": 5}, 5, None),
    "a tenant takes as many as it leaves": ("a", {"a": 4}, 5, "a"),
    "the one that holds least comes first": ("abc", {"a": 2, "b": 1, "c": 2}, 5, "b"),
    "of equals the one that came first": ("cab", {}, 5, "c"),
    "nothing is free": ("a", {"b": 9}, 0, None),
}


@pytest.mark.parametrize("case", SHARES)
def test_a_tenant_gets_the_next_one_if_it_holds_fewer_than_are_free(case: str) -> None:
    waiting, held, free, tenant = SHARES[case]
    assert next_in_share(waiting, held, free) == tenant


def test_tenants_that_hold_theirs_leave_a_share_to_the_next() -> None:
    held: dict[str, int] = {}
    for tenants in ("a", "ab", "abc"):
        while (tenant := next_in_share(tenants, held, 120 - sum(held.values()))) is not None:
            held[tenant] = held.get(tenant, 0) + 1
    assert held == {"a": 60, "b": 30, "c": 15}  # c came when a and b held theirs
