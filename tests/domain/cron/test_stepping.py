"""Rules for every expression, zone and policy: fires increase, and the starting instant makes no difference."""

import subprocess
import sys
from itertools import islice

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.domain.cron import cases
from timeball.domain.time.cron import parse_cron
from timeball.domain.time.instants import InvalidSchedule
from timeball.domain.time.stepper import DstOverlap, Gap, next_fire
from timeball.domain.time.zones import load_zone

ZONES = (*cases.ZONES, "UTC", "Africa/Monrovia", "America/Juneau", "Pacific/Kwajalein", "Asia/Manila")
YEAR_1800, YEAR_2200 = -5_364_662_400_000, 7_258_118_400_000
instants = st.integers(YEAR_1800, YEAR_2200)
gaps = st.sampled_from((None, *Gap))
overlaps = st.sampled_from((None, *DstOverlap))


@st.composite
def expressions(draw: st.DrawFn) -> str:
    random = draw(st.randoms(use_true_random=False))
    if draw(st.booleans()):
        return f"{cases.times(random)} {cases.days(random)}"
    date = f"{cases.day_of_month(random)} {cases.month(random)} {cases.day_of_week(random)}"
    text = f"{cases.times(random)} {date}"
    try:
        parse_cron(text)
    except InvalidSchedule:
        return f"{cases.times(random)} * * *"
    return text


every_case = given(expressions(), st.sampled_from(ZONES), instants, gaps, overlaps)
thorough = settings(max_examples=250, deadline=None, derandomize=True, database=None)


@thorough
@every_case
def test_a_fire_comes_after_the_instant_and_the_next_one_after_it(
    expression: str, zone: str, after_at: int, gap: Gap | None, overlap: DstOverlap | None
) -> None:
    found = list(islice(cases.fires(parse_cron(expression), load_zone(zone), after_at, gap, overlap), 12))
    assert all(a < b for a, b in zip([after_at, *found], found, strict=False))
    assert all(at % 1000 == 0 for at in found)


@thorough
@every_case
def test_the_next_fires_do_not_depend_on_the_starting_instant(
    expression: str, zone: str, after_at: int, gap: Gap | None, overlap: DstOverlap | None
) -> None:
    fields, loaded = parse_cron(expression), load_zone(zone)
    first = next_fire(fields, loaded, after_at, gap, overlap)
    if first is None:
        return
    for between in (first - 1, first - 999, first - 1000, (after_at + first) // 2, after_at + 1):
        if after_at <= between < first:
            assert next_fire(fields, loaded, between, gap, overlap) == first
    # A fire never disappears if the search starts earlier.
    earlier = list(islice(cases.fires(fields, loaded, after_at - 7_200_000, gap, overlap), 130))
    assert first in earlier or earlier[-1] < first


@thorough
@every_case
def test_skipping_and_firing_once_never_add_a_fire(
    expression: str, zone: str, after_at: int, gap: Gap | None, overlap: DstOverlap | None
) -> None:
    fields, loaded = parse_cron(expression), load_zone(zone)
    fewest = set(islice(cases.fires(fields, loaded, after_at, Gap.SKIP, DstOverlap.FIRST), 40))
    chosen = set(islice(cases.fires(fields, loaded, after_at, gap, overlap), 160))
    latest = max(chosen, default=0)
    assert {at for at in fewest if at <= latest} <= chosen


def test_importing_the_stepper_loads_nothing_heavy() -> None:
    heavy = {
        "boto3",
        "croniter",
        "difflib",
        "importlib.resources",
        "pydantic",
        "tzdata",
        "zoneinfo",
    }
    code = "import sys; old = set(sys.modules); import timeball.domain.time.stepper; print(*set(sys.modules) - old)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not heavy & set(loaded.stdout.split())
