"""Which requests pass, by the times at which they come."""

import pytest

from timeball.domain.sharing.submit_budget import used_until

# Each case: requests a second, when requests come (ms), and which of them pass.
CASES: dict[str, tuple[int, list[int], str]] = {
    "as many at once as in a second": (3, [0, 0, 0, 0], "yyyn"),
    "a third of a second later there is room for one": (3, [0, 0, 0, 334, 334], "yyyyn"),
    "after a second of quiet for all": (3, [0, 0, 0, 1_000, 1_000, 1_000, 1_000], "yyyyyyn"),
    "long quiet saves up no more than a second": (2, [0, 60_000, 60_000, 60_000], "yyyn"),
    "a clock that is set back refuses for no longer than it went back": (1, [5_000, 4_999, 5_999, 6_000], "ynny"),
    "what is refused uses up nothing": (1, [0, 500, 999, 1_000], "ynny"),
    "the greatest rate": (10_000, [0] * 10_001, "y" * 10_000 + "n"),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_no_more_requests_pass_than_the_rate_allows(case: tuple[int, list[int], str]) -> None:
    per_second, instants, expected = case
    until, passed = 0, ""
    for now in instants:
        after = used_until(until, now, per_second, most_at_once=per_second)
        until, passed = (until, passed + "n") if after is None else (after, passed + "y")
    assert passed == expected
