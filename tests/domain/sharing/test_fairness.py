"""Who goes first: a table of what was given, and what comes of it."""

import pytest

from timeball.domain.sharing.fairness import in_turns

# Of each: what was given, a letter for the tenant and a number for its place, and the order that it is served in.
TURNS = {
    "nothing": ("", ""),
    "one tenant keeps its order": ("a1 a2 a3", "a1 a2 a3"),
    "the only one of another is second": ("a1 a2 a3 a4 b1", "a1 b1 a2 a3 a4"),
    "each round is in the order that was given": ("b1 a1 a2 b2 b3 a3", "b1 a1 a2 b2 b3 a3"),
    "who has nothing left is passed over": ("a1 a2 b1 c1 c2 c3", "a1 b1 c1 a2 c2 c3"),
    "one of each stays as it was given": ("c1 a1 b1", "c1 a1 b1"),
}


@pytest.mark.parametrize("case", TURNS)
def test_tenants_take_turns(case: str) -> None:
    given, served = TURNS[case]
    assert in_turns(given.split(), lambda item: item[0]) == served.split()
