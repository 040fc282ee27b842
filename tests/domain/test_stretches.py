"""The spans of time of calendar dates, and the jobs that a freeze matches."""

from dataclasses import replace
from datetime import date, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.domain.calendars import NOW, a_job, local_date
from timeball.domain.model.jobs.freeze import Freeze, FreezeMatch, Freezes, with_freeze, without_freeze
from timeball.domain.model.jobs.job import with_spec
from timeball.domain.model.terms.policies import CatchUp
from timeball.domain.model.terms.target import TaskUse
from timeball.domain.time.instants import DAY_MS, HOUR_MS, LATEST, MINUTE_MS, parse_instant
from timeball.domain.time.schedule import Every, Schedule
from timeball.domain.time.spans import local_days, spans_of

EPOCH = date(1970, 1, 1)
ODD_ZONES = (
    "UTC",
    "Europe/Berlin",
    "America/St_Johns",  # went back at one minute past midnight, until 2011
    "Asia/Beirut",  # goes forward at midnight: some days begin at one o'clock
    "Asia/Amman",
    "Pacific/Apia",  # had no 30 December 2011
    "Pacific/Kwajalein",
    "Australia/Lord_Howe",
    "America/Havana",
    "Pacific/Marquesas",
)


@settings(max_examples=300, deadline=None)
@given(
    timezone=st.sampled_from(ODD_ZONES),
    first=st.dates(date(1980, 1, 2), date(2037, 12, 1)),
    days=st.lists(st.tuples(st.integers(0, 40), st.integers(0, 5)), max_size=5),
    probes=st.lists(st.integers(-2 * DAY_MS, 50 * DAY_MS), min_size=1, max_size=20),
)
def test_a_stretch_contains_an_instant_if_clocks_show_one_of_its_dates(
    timezone: str, first: date, days: list[tuple[int, int]], probes: list[int]
) -> None:
    ranges = tuple(((first - EPOCH).days + start, (first - EPOCH).days + start + more) for start, more in days)
    shown = {EPOCH + timedelta(number) for start, end in ranges for number in range(start, end + 1)}
    spans = local_days(timezone, ranges)
    begun_at = (first - EPOCH).days * DAY_MS
    edges = [edge + step for edge in (*spans.starts, *spans.ends) for step in (-1, 0)]
    for at in [*(begun_at + probe for probe in probes), *edges]:
        assert (spans.end_of(at) is not None) == (local_date(at, timezone) in shown), at


@pytest.mark.parametrize(
    ("timezone", "day", "shown"),
    [
        # Clocks went back from 00:01 to 23:01: the day began twice.
        ("America/St_Johns", "2010-11-07", [("02:30", "02:31"), ("03:30", "27:30")]),
        # The day began at one o'clock.
        ("Asia/Beirut", "2026-03-29", [("-2:00", "21:00")]),
        ("Pacific/Apia", "2011-12-30", []),
    ],
)
def test_days_that_clock_changes_cut_are_as_clocks_show_them(
    timezone: str, day: str, shown: list[tuple[str, str]]
) -> None:
    midnight = parse_instant(f"{day}T00:00:00Z")

    def at(text: str) -> int:
        hours, _, minutes = text.partition(":")
        return midnight + int(hours) * HOUR_MS + int(minutes) * MINUTE_MS

    number = (date.fromisoformat(day) - EPOCH).days
    spans = local_days(timezone, ((number, number),))
    assert list(zip(spans.starts, spans.ends, strict=True)) == [(at(start), at(end)) for start, end in shown]


@given(parts=st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), max_size=8))
def test_stretches_are_disjoint_and_cover_the_spans_that_they_join(parts: list[tuple[int, int]]) -> None:
    spans = spans_of(parts)
    assert all(end < start for end, start in zip(spans.ends, spans.starts[1:], strict=False))
    for at in range(62):
        held = any(start <= at < end for start, end in parts)
        assert (spans.end_of(at) is not None, spans.start_of(at) is not None) == (held, held)
        following = next((later for later in range(at + 1, 62) if _changes(parts, later)), LATEST)
        assert spans.next_edge(at) == following


def _changes(parts: list[tuple[int, int]], at: int) -> bool:
    return any(start <= at < end for start, end in parts) != any(start <= at - 1 < end for start, end in parts)


@pytest.mark.parametrize(
    ("match", "is_meant"),
    [
        (FreezeMatch(everything=True), True),
        (FreezeMatch(), False),  # an empty match
        (FreezeMatch(task_id="mail"), True),
        (FreezeMatch(task_id="report"), False),
        (FreezeMatch(job_ids=("job",), task_id="mail"), True),
        (FreezeMatch(job_ids=("job",), task_id="report"), False),  # all conditions must hold
        (FreezeMatch(tags={"team": "red"}, task_id="mail"), False),
    ],
)
def test_a_freeze_matches_the_jobs_that_meet_all_of_its_conditions(match: FreezeMatch, *, is_meant: bool) -> None:
    job = with_spec(a_job(Schedule(Every(60, NOW)), CatchUp(), NOW), task=TaskUse("mail"), tags={"team": "blue"})
    assert match.matches(job) is is_meant
    assert not match.task_id or not match.matches(with_spec(job, task=None))


def test_a_freeze_is_kept_for_a_week_after_its_end_unless_it_never_began() -> None:
    begun, to_come = (
        Freeze(name, at, None, FreezeMatch(everything=True), 0) for name, at in (("a", NOW - 5), ("b", NOW + 5))
    )
    both = with_freeze(with_freeze(Freezes("acme"), begun, NOW), to_come, NOW)
    lifted = without_freeze(without_freeze(both, "a", NOW), "b", NOW)
    assert lifted.items == (replace(begun, to_at=NOW, is_lifted=True),)
    assert lifted.open_at(NOW) == []
    assert without_freeze(lifted, "a", NOW + 9) == lifted
    later = with_freeze(lifted, to_come, NOW + 8 * DAY_MS)
    assert later.items == (to_come,)
