"""The days that an expression picks, against a search through all dates."""

from datetime import date, timedelta
from itertools import islice

import pytest

from tests.domain.cron import cases, oracle
from timeball.domain.time.cron import CronFields, parse_cron
from timeball.domain.time.instants import InvalidSchedule
from timeball.domain.time.zones import load_zone

SPANS = (
    # The special case that each pair covers.
    (date(1899, 11, 1), date(1900, 12, 1)),  # no leap year
    (date(1969, 6, 1), date(1971, 2, 1)),  # either side of 0
    (date(1999, 11, 1), date(2001, 4, 1)),  # a leap year
    (date(2023, 12, 1), date(2025, 1, 10)),
    (date(2026, 1, 1), date(2027, 2, 1)),
    (date(2096, 1, 1), date(2096, 4, 1)),
    (date(2099, 12, 1), date(2101, 1, 1)),  # no leap year
)
BLOCKS, CASES_PER_BLOCK = 16, 200
DAY = timedelta(days=1)
ALL_SHAPES = [date(2000, 1, 1) + DAY * n for n in range(366 + 365 * 27 + 6)]
"""28 years: each month with each of its layouts."""


def instant(day: date) -> int:
    return (day - date(1970, 1, 1)).days * 86_400_000


def parse_unless_it_never_fires(text: str) -> CronFields | None:
    try:
        return parse_cron(text)
    except InvalidSchedule as error:
        if "never fires" in str(error):
            return None
        raise


@pytest.mark.parametrize("block", range(BLOCKS))
def test_no_day_differs_from_a_search_through_the_dates(block: int) -> None:
    utc = load_zone("UTC")
    for number in range(CASES_PER_BLOCK):
        random = cases.seeded(f"calendar {block} {number}")
        text = f"0 0 {cases.day_of_month(random)} {cases.month(random)} {cases.day_of_week(random)}"
        start, end = random.choice(SPANS)
        read = oracle.read(text)
        fields = parse_unless_it_never_fires(text)
        if fields is None:
            assert not any(read.has_day(day) for day in ALL_SHAPES), text
            continue
        days = [start + DAY * n for n in range((end - start).days)]
        expected = [instant(day) for day in days if read.has_day(day)]
        found = list(islice(cases.fires(fields, utc, instant(start) - 1), len(expected) + 1))
        assert found[: len(expected)] == expected, f"{text!r} after {instant(start) - 1} in UTC"
        assert all(at >= instant(end) for at in found[len(expected) :]), f"{text!r} before {instant(end)} in UTC"


TABLE = (
    # expression, after, the next days
    ("0 0 L * *", "2026-01-31", "2026-02-28 2026-03-31 2026-04-30"),
    ("0 0 L 2 *", "2027-01-01", "2027-02-28 2028-02-29 2029-02-28"),
    ("0 0 L-2 * *", "2026-01-31", "2026-02-26 2026-03-29 2026-04-28"),
    ("0 0 LW * *", "2026-01-01", "2026-01-30 2026-02-27 2026-03-31"),
    ("0 0 15W * *", "2026-01-20", "2026-02-16 2026-03-16 2026-04-15"),  # Sundays, then a Wednesday
    (
        "0 0 1W * *",
        "2026-07-02",
        "2026-08-03 2026-09-01 2026-10-01",
    ),  # Saturday the 1st: Monday the 3rd, not July
    (
        "0 0 31W * *",
        "2026-01-31",
        "2026-03-31 2026-05-29 2026-07-31",
    ),  # only months with a 31st; Sunday: Friday
    ("0 0 * * 5L", "2026-01-01", "2026-01-30 2026-02-27 2026-03-27"),
    ("0 0 * * fril", "2026-01-01", "2026-01-30 2026-02-27 2026-03-27"),
    ("0 0 * * 7L", "2026-01-01", "2026-01-25 2026-02-22 2026-03-29"),
    ("0 0 * * MON#1", "2026-01-01", "2026-01-05 2026-02-02 2026-03-02"),
    ("0 0 * * 0#5", "2026-01-01", "2026-03-29 2026-05-31 2026-08-30"),
    ("0 0 13 * 5", "2026-02-01", "2026-02-06 2026-02-13 2026-02-20"),  # either field matches
    ("0 0 13 * ?", "2026-02-01", "2026-02-13 2026-03-13 2026-04-13"),
    ("0 0 ? * 5", "2026-02-01", "2026-02-06 2026-02-13 2026-02-20"),
    ("0 0 */2 * MON", "2026-02-01", "2026-02-09 2026-02-23 2026-03-09"),  # begins with *: both must match
    ("0 0 1-31/2 * MON", "2026-02-01", "2026-02-02 2026-02-03 2026-02-05"),  # does not: either field matches
    ("0 0 13 * */5", "2026-01-01", "2026-02-13 2026-03-13 2026-09-13"),  # Sundays and Fridays that are a 13th
    ("0 0 29 2 *", "2096-03-01", "2104-02-29 2108-02-29 2112-02-29"),
    ("0 0 29 2 *", "1896-03-01", "1904-02-29 1908-02-29 1912-02-29"),
    ("0 0 29 2 *", "1996-03-01", "2000-02-29 2004-02-29 2008-02-29"),
    ("0 0 30 2 MON", "2026-01-01", "2026-02-02 2026-02-09 2026-02-16"),  # never the 30th, but Mondays
    ("0 0 */28 2 0", "2026-01-01", "2026-02-01 2032-02-01 2032-02-29"),
    ("0 0 1 1 *", "2399-01-01", ""),
)


@pytest.mark.parametrize(("text", "after", "expected"), TABLE)
def test_the_days_of_an_expression_are_these(text: str, after: str, expected: str) -> None:
    found = islice(cases.fires(parse_cron(text), load_zone("UTC"), instant(date.fromisoformat(after))), 3)
    assert [date(1970, 1, 1) + timedelta(milliseconds=at) for at in found] == [
        date.fromisoformat(day) for day in expected.split()
    ]
