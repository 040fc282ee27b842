"""Clock changes that UTC minutes cannot show: odd seconds, days left out or lived twice, dates repeated.

Here local time is enumerated instead, and zoneinfo says when, if ever, clocks showed each of its minutes.
"""

from bisect import bisect_right
from datetime import UTC, datetime, timedelta
from itertools import product

import pytest

from tests.domain.cron import oracle
from timeball.domain.time.cron import parse_cron
from timeball.domain.time.stepper import DstOverlap, Gap, next_fire
from timeball.domain.time.zones import load_zone

HOUR = timedelta(hours=1)
CHANGES = (
    # zone, a day near the change, step in seconds
    ("Africa/Monrovia", "1972-01-07", 2670),  # from -0:44:30
    ("America/Caracas", "2007-12-09", -1800),
    ("America/Juneau", "1867-10-18", -86400),  # a day lived twice; the offsets have odd seconds
    ("America/New_York", "1883-11-18", -238),
    ("America/St_Johns", "2006-10-29", -3600),  # 0:01 back to 23:01 of the day before
    ("America/St_Johns", "1988-04-03", 7200),  # 0:01 forward by two hours
    ("Antarctica/Casey", "2009-10-18", 10800),
    ("Antarctica/Casey", "2010-03-05", -10800),
    ("Asia/Manila", "1844-12-31", 86400),
    ("Asia/Pyongyang", "2018-05-05", 1800),
    ("Asia/Riyadh", "1947-03-14", -412),
    ("Europe/Dublin", "1916-10-01", -2079),
    ("Europe/London", "1941-05-04", 3600),
    ("Europe/Paris", "1911-03-11", -561),
    ("Pacific/Apia", "2011-12-30", 86400),
    ("Pacific/Fakaofo", "2011-12-30", 86400),
    ("Pacific/Kwajalein", "1993-08-21", 86400),
    ("Pacific/Norfolk", "2015-10-04", -1800),
)
EXPRESSIONS = (
    "* * * * *",
    "*/7 * * * *",
    "0 0 * * *",
    "30 0 * * *",
    "30 23 * * *",
    "0 0,1,2 * * *",
    "5,35 */2 * * *",
    "0 12 * * SAT",
    "15 23 31 * FRI",
    "59 23 L * *",
    "10-20 0 1-7 * *",
)


@pytest.mark.parametrize(("name", "day", "step_seconds"), CHANGES)
def test_no_fire_differs_from_brute_force_around_a_historic_change(name: str, day: str, step_seconds: int) -> None:
    around = datetime.fromisoformat(f"{day}T12:00+00:00")
    (change,) = oracle.clock_changes(name, around - 40 * HOUR, around + 40 * HOUR)
    offset_before, offset_after = (
        at.astimezone(oracle.zone(name)).utcoffset() or timedelta() for at in (change - timedelta(seconds=1), change)
    )
    assert (offset_after - offset_before).total_seconds() == step_seconds

    start, end = change - 26 * HOUR, change + 26 * HOUR
    # A margin of local time on both sides, as wide as any offset.
    first = (start - 30 * HOUR).replace(tzinfo=None, second=0)
    locals_ = [first + timedelta(minutes=m) for m in range(112 * 60)]
    shown = {local: oracle.shown_at(name, local) for local in locals_}
    for expression in EXPRESSIONS:
        read = oracle.read(expression)
        times = read.times()
        matching = [local for local in locals_ if (local.hour, local.minute) in times and read.has_day(local.date())]
        for gap, overlap in product((None, *Gap), (None, *DstOverlap)):
            at_jump = read.fixed if gap is None else gap is Gap.NEXT
            both = not read.fixed if overlap is None else overlap is DstOverlap.BOTH
            instants = {at for local in matching for at in shown[local][: 2 if both else 1]}
            if at_jump and any(not shown[local] for local in matching):
                instants.add(change)
            expected = sorted(int(at.timestamp()) * 1000 for at in instants if start <= at < end)
            check(expression, name, start, end, expected, gap, overlap)


def check(
    expression: str,
    name: str,
    start: datetime,
    end: datetime,
    expected: list[int],
    gap: Gap | None,
    overlap: DstOverlap | None,
) -> None:
    fields, zone = parse_cron(expression), load_zone(name)
    start_at, end_at = (int(at.timestamp()) * 1000 for at in (start, end))
    for after_at in (start_at - 1, *expected[::7], *range(start_at + 123, end_at, 2_000_001)):
        answer = next_fire(fields, zone, after_at, gap, overlap)
        index = bisect_right(expected, after_at)
        replay = f"{expression!r} in {name} after {after_at}, gap={gap}, overlap={overlap}"
        if index < len(expected):
            assert answer == expected[index], replay
        else:
            assert answer is None or answer >= end_at, replay


def test_an_instant_long_before_time_zones_or_after_the_rules_is_answered() -> None:
    fields, berlin = parse_cron("30 2 * * *"), load_zone("Europe/Berlin")
    in_year_one = int(datetime(1, 1, 1, tzinfo=UTC).timestamp()) * 1000
    assert next_fire(fields, berlin, in_year_one) == in_year_one + (2 * 3600 + 1800 - 3208) * 1000
    assert next_fire(fields, berlin, int(datetime(2400, 1, 1, tzinfo=UTC).timestamp()) * 1000) is None
    assert next_fire(parse_cron("0 0 29 2 *"), berlin, int(datetime(2396, 3, 1, tzinfo=UTC).timestamp()) * 1000) is None
