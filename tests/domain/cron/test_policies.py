"""The meaning of the gap and overlap policies, as a table written by hand."""

from datetime import UTC, datetime

import pytest

from tests.domain.cron import cases
from timeball.domain.time.cron import parse_cron
from timeball.domain.time.stepper import DstOverlap, Gap, next_fire
from timeball.domain.time.zones import load_zone

NEXT, SKIP, FIRST, BOTH = Gap.NEXT, Gap.SKIP, DstOverlap.FIRST, DstOverlap.BOTH

TABLE = (
    # expression, zone, UTC from, UTC until, gap, overlap, fires in UTC
    # Berlin, 29 March 2026: 02:00 (01:00 UTC) becomes 03:00.
    ("30 2 * * *", "Europe/Berlin", "2026-03-29T00:00", 6, None, None, "01:00"),
    ("30 2 * * *", "Europe/Berlin", "2026-03-29T00:00", 6, SKIP, None, ""),
    ("0,15,30,45 2 * * *", "Europe/Berlin", "2026-03-29T00:00", 6, None, None, "01:00"),  # one fire, not four
    (
        "0,30 2,3 * * *",
        "Europe/Berlin",
        "2026-03-29T00:00",
        6,
        None,
        None,
        "01:00 01:30",
    ),  # also with the 03:00
    ("*/30 * * * *", "Europe/Berlin", "2026-03-29T00:00", 2, None, None, "00:00 00:30 01:00 01:30"),
    ("*/20 2 * * *", "Europe/Berlin", "2026-03-29T00:00", 6, None, None, ""),  # no such hour today
    ("*/20 2 * * *", "Europe/Berlin", "2026-03-29T00:00", 6, NEXT, None, "01:00"),
    ("15 */2 * * *", "Europe/Berlin", "2026-03-29T00:00", 4, None, None, "02:15"),
    ("30 2 29 * *", "Europe/Berlin", "2026-03-29T00:00", 6, None, None, "01:00"),
    ("30 2 30 * *", "Europe/Berlin", "2026-03-29T00:00", 6, None, None, ""),
    # Berlin, 25 October 2026: 03:00 (01:00 UTC) becomes 02:00.
    ("30 2 * * *", "Europe/Berlin", "2026-10-25T00:00", 6, None, None, "00:30"),
    ("30 2 * * *", "Europe/Berlin", "2026-10-25T00:00", 6, None, BOTH, "00:30 01:30"),
    (
        "30 2 * * *",
        "Europe/Berlin",
        "2026-10-25T00:31",
        6,
        None,
        None,
        "",
    ),  # also from an instant after the first
    ("30 2 * * *", "Europe/Berlin", "2026-10-25T01:00", 6, None, None, ""),
    ("*/30 2 * * *", "Europe/Berlin", "2026-10-25T00:00", 6, None, None, "00:00 00:30 01:00 01:30"),
    ("*/30 2 * * *", "Europe/Berlin", "2026-10-25T00:00", 6, None, FIRST, "00:00 00:30"),
    ("0 2,3 * * *", "Europe/Berlin", "2026-10-25T00:00", 6, None, None, "00:00 02:00"),
    # Lord Howe, 4 October 2026: 02:00 (15:30 UTC) becomes 02:30.
    ("15 2 * * *", "Australia/Lord_Howe", "2026-10-03T15:00", 2, None, None, "15:30"),
    ("45 2 * * *", "Australia/Lord_Howe", "2026-10-03T15:00", 2, None, None, "15:45"),
    (
        "*/10 * * * *",
        "Australia/Lord_Howe",
        "2026-10-03T15:10",
        1,
        None,
        None,
        "15:10 15:20 15:30 15:40 15:50 16:00",
    ),
    # Lord Howe, 5 April 2026: 02:00 (15:00 UTC) becomes 01:30.
    ("45 1 * * *", "Australia/Lord_Howe", "2026-04-04T14:00", 3, None, None, "14:45"),
    ("45 1 * * *", "Australia/Lord_Howe", "2026-04-04T14:00", 3, None, BOTH, "14:45 15:15"),
    # Troll, 25 October 2026: 03:00 (01:00 UTC) becomes 01:00.
    ("30 1,2 * * *", "Antarctica/Troll", "2026-10-24T22:00", 8, None, None, "23:30 00:30"),
    ("30 1,2 * * *", "Antarctica/Troll", "2026-10-24T22:00", 8, None, BOTH, "23:30 00:30 01:30 02:30"),
    # Havana, 8 March 2026: midnight (05:00 UTC) becomes 01:00.
    ("0 0 * * *", "America/Havana", "2026-03-08T00:00", 12, None, None, "05:00"),
    ("0 0 * * SUN", "America/Havana", "2026-03-08T00:00", 12, None, None, "05:00"),
    ("59 23 * * *", "America/Havana", "2026-03-08T00:00", 12, None, None, "04:59"),
    ("0 * * * *", "America/Havana", "2026-03-08T04:00", 3, None, None, "04:00 05:00 06:00"),
    # Havana, 2 November 2025: 01:00 (05:00 UTC) becomes midnight.
    ("0 0 * * *", "America/Havana", "2025-11-02T00:00", 12, None, None, "04:00"),
    ("0 0 * * *", "America/Havana", "2025-11-02T00:00", 12, None, BOTH, "04:00 05:00"),
    # St John's, 29 October 2006: 00:01 (02:31 UTC) becomes 23:01 of the 28th.
    ("30 23 28 * *", "America/St_Johns", "2006-10-29T01:00", 4, None, None, "02:00"),
    ("30 23 28 * *", "America/St_Johns", "2006-10-29T01:00", 4, None, BOTH, "02:00 03:00"),
    ("0 0 * * *", "America/St_Johns", "2006-10-29T01:00", 4, None, None, "02:30"),
    ("0 0 * * *", "America/St_Johns", "2006-10-29T01:00", 4, None, BOTH, "02:30 03:30"),
    ("0 * * * *", "America/St_Johns", "2006-10-29T01:00", 4, None, None, "01:30 02:30 03:30 04:30"),
    # Apia, 30 December 2011: the day is left out at 10:00 UTC.
    ("0 12 30 * *", "Pacific/Apia", "2011-12-30T00:00", 24, None, None, "10:00"),
    ("0 12 30 * *", "Pacific/Apia", "2011-12-30T00:00", 24, SKIP, None, ""),
    ("0 */12 * * *", "Pacific/Apia", "2011-12-29T21:00", 26, None, None, "22:00 10:00 22:00"),
    # Juneau, 18 October 1867 (15:02:19 ahead of UTC, then 8:57:41 behind): the day is lived twice.
    ("0 12 * * *", "America/Juneau", "1867-10-17T20:00", 48, None, None, "20:57:41 20:57:41"),
    ("0 12 * * *", "America/Juneau", "1867-10-17T20:00", 48, None, BOTH, "20:57:41 20:57:41"),
    # Chatham, 5 April 2026: 03:45 (14:00 UTC) becomes 02:45.
    ("0 3 * * *", "Pacific/Chatham", "2026-04-04T12:00", 6, None, None, "13:15"),
    ("0 3 * * *", "Pacific/Chatham", "2026-04-04T12:00", 6, None, BOTH, "13:15 14:15"),
)


@pytest.mark.parametrize(("expression", "zone", "start", "hours", "gap", "overlap", "expected"), TABLE)
def test_a_policy_decides_what_fires_at_a_clock_change(
    expression: str,
    zone: str,
    start: str,
    hours: int,
    gap: Gap | None,
    overlap: DstOverlap | None,
    expected: str,
) -> None:
    start_at = int(datetime.fromisoformat(f"{start}+00:00").timestamp()) * 1000
    found = []
    for at in cases.fires(parse_cron(expression), load_zone(zone), start_at - 1, gap, overlap):
        if at >= start_at + hours * 3_600_000:
            break
        found.append(datetime.fromtimestamp(at // 1000, UTC).time())
    assert [f"{time:%H:%M:%S}".removesuffix(":00") for time in found] == expected.split()


def test_a_schedule_that_falls_into_a_gap_every_time_never_fires_if_gaps_are_skipped() -> None:
    fields, berlin = parse_cron("30 2 * MAR SUNL"), load_zone("Europe/Berlin")
    assert next_fire(fields, berlin, 1_774_000_000_000, SKIP) is None
    assert next_fire(fields, berlin, 1_774_000_000_000, NEXT) == 1_774_746_000_000


def test_a_policy_may_be_given_by_its_name() -> None:
    assert [Gap("next"), Gap("skip"), DstOverlap("first"), DstOverlap("both")] == [NEXT, SKIP, FIRST, BOTH]
