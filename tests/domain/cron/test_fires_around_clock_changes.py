"""Every clock change of 2024 to 2027 in 18 zones, under every pair of policies, against brute force."""

from bisect import bisect_right
from datetime import UTC, datetime
from functools import cache
from itertools import product

import pytest

from tests.domain.cron import cases, oracle
from timeball.domain.time.cron import parse_cron
from timeball.domain.time.stepper import DstOverlap, Gap, next_fire
from timeball.domain.time.zones import load_zone

POLICIES = tuple(product((None, *Gap), (None, *DstOverlap)))
FIRST, LAST = datetime(2024, 1, 1, tzinfo=UTC), datetime(2028, 1, 1, tzinfo=UTC)
WITHOUT_CHANGES = (datetime(2025, 3, 30, 1, tzinfo=UTC), datetime(2026, 10, 25, 1, tzinfo=UTC))
EXPRESSIONS_PER_CHANGE = 10
HOURS_AROUND = 28
NEAR_MS = 4 * 3_600_000


@cache
def windows(zone: str) -> tuple[oracle.Window, ...]:
    changes = oracle.clock_changes(zone, FIRST, LAST) or WITHOUT_CHANGES
    return tuple(oracle.window(zone, change, HOURS_AROUND) for change in changes)


def expressions(window: oracle.Window) -> list[str]:
    seeds = (f"{window.zone} {window.start_at} {number}" for number in range(EXPRESSIONS_PER_CHANGE))
    return [f"{cases.times(random)} {cases.days(random)}" for random in map(cases.seeded, seeds)]


def check(expression: str, window: oracle.Window) -> int:
    """Compare the next fire after each fire near the change and after other instants, under all policies."""
    fields, zone = parse_cron(expression), load_zone(window.zone)
    found = oracle.matches(expression, window)
    fixed = oracle.read(expression).fixed
    random = cases.seeded(f"{window.zone} {window.start_at} {expression}")
    anywhere = [window.start_at - 1, *(random.randrange(window.start_at, window.end_at) for _ in range(4))]
    middle = (window.start_at + window.end_at) // 2
    for gap, overlap in POLICIES:
        at_jump = fixed if gap is None else gap is Gap.NEXT
        both = not fixed if overlap is None else overlap is DstOverlap.BOTH
        expected = found.fires(at_jump=at_jump, both=both)
        near = [at for at in expected if abs(at - middle) < NEAR_MS]
        for after_at in (*anywhere, *(at - 1 for at in near[:1]), *near):
            answer = next_fire(fields, zone, after_at, gap, overlap)
            replay = f"{expression!r} in {window.zone} after {after_at}, gap={gap}, overlap={overlap}"
            index = bisect_right(expected, after_at)
            if index < len(expected):
                assert answer == expected[index], replay
            else:
                assert answer is None or answer >= window.end_at, replay
    return len(POLICIES)


@pytest.mark.parametrize("zone", cases.ZONES)
def test_no_fire_differs_from_brute_force_around_any_clock_change(zone: str) -> None:
    compared = sum(check(expression, window) for window in windows(zone) for expression in expressions(window))
    assert compared == len(windows(zone)) * EXPRESSIONS_PER_CHANGE * len(POLICIES)


def test_the_comparison_covers_five_thousand_cases_and_every_kind_of_change() -> None:
    everywhere = [window for zone in cases.ZONES for window in windows(zone)]
    assert len(everywhere) * EXPRESSIONS_PER_CHANGE * len(POLICIES) >= 5_000
    assert {window.step_minutes for window in everywhere} == {-120, -60, -30, 0, 30, 60, 120}
    at_midnight = {window.zone for window in everywhere if window.goes_back_at_midnight}
    assert at_midnight >= {"America/Havana", "Asia/Beirut", "Africa/Cairo", "Atlantic/Azores"}
