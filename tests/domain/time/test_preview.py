"""Previews of a schedule: fire times as local clocks show them, and the policies in force."""

from dataclasses import replace
from itertools import pairwise

import pytest

from tests.effort import at_most
from timeball.domain.time.cron import parse_cron
from timeball.domain.time.instants import LATEST, format_instant, parse_instant
from timeball.domain.time.preview import preview
from timeball.domain.time.schedule import At, Cron, Every, Schedule, is_occurrence
from timeball.domain.time.stepper import DstOverlap, Gap, clock_policies
from timeball.domain.time.zones import load_zone

BERLIN = "Europe/Berlin"
NEXT, SKIP, FIRST, BOTH = Gap.NEXT, Gap.SKIP, DstOverlap.FIRST, DstOverlap.BOTH
OCTOBER = parse_instant("2026-10-24T06:00:00Z")

# Each case: a schedule, its starting instant, the zone for intervals and one-offs, and the local times with their
# offsets and notes.
SHOWN: dict[str, tuple[Schedule, str, str, list[tuple[str, str, bool]]]] = {
    "a cron in its own zone, whatever the other is": (
        Schedule(Cron("30 2 * * *", BERLIN)),
        "2026-10-25T00:00:00Z",
        "Asia/Tokyo",
        [("2026-10-25T02:30:00", "+02:00", True), ("2026-10-26T02:30:00", "+01:00", True)],
    ),
    "a cron whose policies are its own": (
        Schedule(Cron("30 2 * * *", BERLIN, overlap=BOTH)),
        "2026-10-25T00:00:00Z",
        "UTC",
        [("2026-10-25T02:30:00", "+02:00", True), ("2026-10-25T02:30:00", "+01:00", True)],
    ),
    "a fire at the very first instant": (
        Schedule(Cron("0 0 * * *")),
        "1970-01-01T00:00:00Z",
        "UTC",
        [("1970-01-01T00:00:00", "+00:00", False), ("1970-01-02T00:00:00", "+00:00", False)],
    ),
    "none at an instant just past a fire": (
        Schedule(Cron("0 0 * * *")),
        "2026-01-01T00:00:00.001Z",
        "UTC",
        [("2026-01-02T00:00:00", "+00:00", False), ("2026-01-03T00:00:00", "+00:00", False)],
    ),
    "an interval by the clock of a zone, in both passes": (
        Schedule(Every(3600, OCTOBER)),
        "2026-10-25T00:00:00Z",
        BERLIN,
        [("2026-10-25T02:00:00", "+02:00", True), ("2026-10-25T02:00:00", "+01:00", True)],
    ),
    "an interval before its anchor": (
        Schedule(Every(3600, OCTOBER)),
        "2026-01-01T00:00:00Z",
        "UTC",
        [("2026-10-24T06:00:00", "+00:00", False), ("2026-10-24T07:00:00", "+00:00", False)],
    ),
    "one instant, its milliseconds cut off": (
        Schedule(At(OCTOBER + 999)),
        "2026-10-24T06:00:00Z",
        "America/St_Johns",
        [("2026-10-24T03:30:00", "-02:30", False)],
    ),
    "nothing of an instant that has passed": (Schedule(At(OCTOBER)), "2026-10-24T06:00:00.001Z", "UTC", []),
    "a schedule that ends": (
        Schedule(Every(60, OCTOBER), end_at=OCTOBER),
        "2026-10-24T06:00:00Z",
        "UTC",
        [("2026-10-24T06:00:00", "+00:00", False)],
    ),
    "the last minute of all, which is in another year elsewhere": (
        Schedule(Every(60, OCTOBER)),
        "2399-12-31T23:59:00Z",
        "Pacific/Kiritimati",
        [("2400-01-01T13:59:00", "+14:00", False)],
    ),
    "the first one of all, which is in another year elsewhere": (
        Schedule(At(0)),
        "1970-01-01T00:00:00Z",
        "America/New_York",
        [("1969-12-31T19:00:00", "-05:00", False)],
    ),
    "an offset with seconds": (
        Schedule(Cron("0 12 * * *", "Africa/Monrovia")),
        "1970-06-01T00:00:00Z",
        "UTC",
        [("1970-06-01T12:00:00", "-00:44:30", False), ("1970-06-02T12:00:00", "-00:44:30", False)],
    ),
    "an offset of three quarters of an hour": (
        Schedule(Cron("0 12 * * *", "Asia/Kathmandu")),
        "2026-06-01T00:00:00Z",
        "UTC",
        [("2026-06-01T12:00:00", "+05:45", False), ("2026-06-02T12:00:00", "+05:45", False)],
    ),
}


@pytest.mark.parametrize("case", SHOWN)
def test_a_fire_is_shown_as_clocks_show_it_with_a_note_where_they_change(case: str) -> None:
    schedule, start, zone, expected = SHOWN[case]
    shown = preview(schedule, parse_instant(start), 2, zone)
    assert [(fire.local_time, fire.utc_offset, fire.note is not None) for fire in shown] == expected


def test_a_note_describes_the_effect_of_the_clock_change() -> None:
    (moved,) = preview(Schedule(Cron("30 2 * * *", BERLIN)), parse_instant("2026-03-29T00:00:00Z"), 1)
    assert format_instant(moved.fire_at) == "2026-03-29T01:00:00.000Z"
    assert moved.note == "moved by the clock change from 02:30"
    (left_out,) = preview(Schedule(Cron("30 2 * * *", BERLIN, gap=SKIP)), parse_instant("2026-03-29T00:00:00Z"), 1)
    assert left_out.note == "the first fire after the clocks went forward on 2026-03-29"


@pytest.mark.parametrize("case", SHOWN)
def test_a_preview_shows_what_the_scheduler_will_do(case: str) -> None:
    schedule, start, zone, _ = SHOWN[case]
    shown = preview(schedule, parse_instant(start), 20, zone)
    assert all(is_occurrence(schedule, fire.fire_at) for fire in shown)
    assert all(before.fire_at < after.fire_at for before, after in pairwise(shown))


# Each case: a cron, and the policies in force.
POLICIES = (
    (Cron("30 2 * * *"), NEXT, FIRST),
    (Cron("@daily"), NEXT, FIRST),
    (Cron("0,30 2-4 * * *"), NEXT, FIRST),
    (Cron("*/30 2 * * *"), SKIP, BOTH),
    (Cron("@hourly"), SKIP, BOTH),
    (Cron("30 2/3 * * *"), SKIP, BOTH),
    (Cron("30 2 * * *", gap=SKIP), SKIP, FIRST),
    (Cron("30 2 * * *", overlap=BOTH), NEXT, BOTH),
    (Cron("* * * * *", gap=NEXT, overlap=FIRST), NEXT, FIRST),
)


@pytest.mark.parametrize(("cron", "gap", "overlap"), POLICIES)
def test_policies_that_are_not_given_follow_from_the_expression(cron: Cron, gap: Gap, overlap: DstOverlap) -> None:
    assert clock_policies(parse_cron(cron.expression), cron.gap, cron.overlap) == (gap, overlap)


@pytest.mark.parametrize("zone", [BERLIN, "America/New_York", "Pacific/Apia", "Africa/Casablanca"])
@pytest.mark.parametrize("cron", [row[0] for row in POLICIES], ids=lambda cron: cron.expression)
def test_giving_the_policies_in_force_changes_no_fire(cron: Cron, zone: str) -> None:
    gap, overlap = clock_policies(parse_cron(cron.expression), cron.gap, cron.overlap)
    implied = Schedule(replace(cron, timezone=zone))
    given = Schedule(replace(cron, timezone=zone, gap=gap, overlap=overlap))
    for start in ("2011-12-29T00:00:00Z", "2026-03-28T00:00:00Z", "2026-10-24T00:00:00Z"):
        assert preview(implied, parse_instant(start), 60) == preview(given, parse_instant(start), 60)


# Hard cases for the stepper: fires that are years apart, fires that always fall into a gap, gaps of a day.
HARD = (
    "* * * * *",
    "0 0 29 2 */7",
    "0 0 29 2 MON#5",
    "0 0 31W 12 *",
    "30 2 25-31 3 */7",
    "30 2 8-14 3 */7",
    "0-59 0-23 * * *",
)


@pytest.mark.parametrize("expression", HARD)
def test_a_hundred_fires_cost_little_whatever_the_expression(expression: str) -> None:
    for zone in (BERLIN, "America/New_York", "Pacific/Apia", "Africa/Casablanca", "Asia/Gaza"):
        load_zone(zone)
        for gap in Gap:
            for overlap in DstOverlap:
                for from_at in (0, parse_instant("2011-12-29T00:00:00Z"), LATEST - 1):
                    with at_most(250):  # five at most were measured; a search without a bound would take thousands
                        preview(Schedule(Cron(expression, zone, gap, overlap)), from_at, 100)


def test_a_schedule_that_always_falls_into_a_gap_that_is_skipped_shows_nothing() -> None:
    last_sundays_of_march = Cron("30 2 25-31 3 */7", BERLIN, gap=SKIP)
    assert preview(Schedule(last_sundays_of_march), OCTOBER, 5) == []
