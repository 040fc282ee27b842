"""Totals that are estimated from a sample, with a known error."""

import pytest

from timeball.domain.usage.spending import MOST_COUNTED, Estimate, estimated, goes_on, part_of


@pytest.mark.parametrize(
    ("counted", "share", "following", "goes"),
    [
        (0, 1 / 4096, 1 / 128, True),  # the samples have none of a few jobs
        (120, 1 / 4096, 1 / 128, True),  # half a million: some 4,000 in both
        (130, 1 / 4096, 1 / 128, False),
        (2_441, 1 / 4096, 1 / 128, False),  # ten millions
        (120, 1 / 128, 0.25, True),
        (2_000, 0.5, 0.25, True),  # 4,000 in all: every one is counted
        (3_010, 0.75, 0.25, False),
    ],
)
def test_one_more_part_is_counted_while_few_rows_are_expected_in_total(
    counted: int, share: float, following: float, *, goes: bool
) -> None:
    assert goes_on(counted, share, following) is goes


def test_a_count_of_everything_is_exact() -> None:
    assert estimated(MOST_COUNTED, 1.0) == Estimate(MOST_COUNTED)
    assert Estimate(7).is_exact


def test_an_estimate_has_a_standard_error() -> None:
    ten_millions = estimated(2_441, 1 / 4096)
    assert ten_millions.count == 9_998_336
    assert ten_millions.standard_error / ten_millions.count == pytest.approx(0.0202, abs=0.0001)
    assert not ten_millions.is_exact


def test_the_parts_of_a_complete_count_are_exact() -> None:
    assert part_of(Estimate(10), 10, 3) == Estimate(3)


def test_the_parts_of_a_sample_are_estimates_even_if_it_has_none() -> None:
    none = part_of(Estimate(1_000_000, 60_000), 100, 0)
    assert none.count == 0
    assert none.standard_error == pytest.approx(9_800, abs=200)
    assert part_of(Estimate(1_000_000, 60_000), 100, 100).standard_error > 60_000
    half = part_of(Estimate(1_000), 100, 50)
    assert half.count == 500
    assert half.standard_error == pytest.approx(50, abs=1)
