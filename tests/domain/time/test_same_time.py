"""The same local time on later days, compared with the clocks of the standard library and at clock changes."""

from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.domain.cron.oracle import zone
from timeball.domain.time.instants import DAY_MS, HOUR_MS, format_instant, parse_instant
from timeball.domain.time.spans import same_time_later

ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "Asia/Beirut")


@given(timezone=st.sampled_from(ZONES), at=st.integers(946_684_800_000, 2_051_222_400_000))
def test_clocks_show_the_same_time_on_each_day_unless_they_skip_it(timezone: str, at: int) -> None:
    clock = datetime.fromtimestamp(at // 1000, UTC).astimezone(zone(timezone))
    later = list(islice(same_time_later(at, timezone), 40))
    assert all(DAY_MS - 2 * HOUR_MS <= two - one <= DAY_MS + 2 * HOUR_MS for one, two in pairwise([at, *later]))
    for day, instant in enumerate(later, 1):
        shown = datetime.fromtimestamp(instant // 1000, UTC).astimezone(zone(timezone))
        wanted = datetime.combine(clock.date() + timedelta(day), clock.time(), zone(timezone))
        is_shown = wanted.astimezone(UTC).astimezone(zone(timezone)).replace(tzinfo=None) == wanted.replace(tzinfo=None)
        assert instant % 1000 == at % 1000
        if is_shown:
            assert (shown.date(), shown.time()) == (wanted.date(), wanted.time())
            assert shown.timestamp() == wanted.timestamp(), "the first, of a time that is shown twice"


@pytest.mark.parametrize(
    ("timezone", "at", "later"),
    [
        # Clocks go forward on the 29th, from 02:00 to 03:00.
        ("Europe/Berlin", "2026-03-28T01:30:00Z", ["2026-03-29T01:00:00.000Z", "2026-03-30T00:30:00.000Z"]),
        # They go back on the 25th, from 03:00 to 02:00: the first 02:30 counts.
        ("Europe/Berlin", "2026-10-24T00:30:07.250Z", ["2026-10-25T00:30:07.250Z", "2026-10-26T01:30:07.250Z"]),
        # From the second 02:30 on.
        ("Europe/Berlin", "2026-10-25T01:30:00Z", ["2026-10-26T01:30:00.000Z", "2026-10-27T01:30:00.000Z"]),
        # There was no 30 December.
        ("Pacific/Apia", "2011-12-29T19:00:00Z", ["2011-12-30T10:00:00.000Z", "2011-12-30T19:00:00.000Z"]),
    ],
)
def test_where_clocks_change(timezone: str, at: str, later: list[str]) -> None:
    found = [format_instant(instant) for instant in islice(same_time_later(parse_instant(at), timezone), 2)]
    assert found == later
