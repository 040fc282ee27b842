"""Zones come from the tzdata package and agree with zoneinfo, for every name and at every change."""

from datetime import UTC, datetime, timedelta
from importlib.resources import files

import pytest
import tzdata  # type: ignore[import-untyped]

from tests.domain.cron import cases, oracle
from timeball.domain.time.errors import InvalidSchedule
from timeball.domain.time.tzif import read_changes
from timeball.domain.time.zones import load_zone, tzdata_version

ORIGIN = datetime(1970, 1, 1, tzinfo=UTC)
FIRST, LAST = -4_000_000_000, 13_569_000_000
"""From 1843 to just before 2400, in seconds."""
NAMES = sorted(files("tzdata").joinpath("zones").read_text().split())
GROUPS = [NAMES[n::8] for n in range(8)]


@pytest.mark.parametrize("names", GROUPS, ids=range(8))
def test_offsets_agree_with_zoneinfo_at_every_change_and_at_random_instants(names: list[str]) -> None:
    for name in names:
        zone, tz, random = load_zone(name), oracle.zone(name), cases.seeded(name)
        at_changes = [start + near for start in zone.starts[1:] for near in (-1, 0)]
        for second in (
            *at_changes[:400],
            *at_changes[-4:],
            *(random.randrange(FIRST, LAST) for _ in range(60)),
        ):
            offset = (ORIGIN + timedelta(seconds=second)).astimezone(tz).utcoffset()
            assert timedelta(seconds=zone.offset_at(second * 1000 + 999)) == offset, f"{name} at {second}"


def test_no_local_time_is_shown_three_times_or_both_skipped_and_shown() -> None:
    for name in NAMES:
        zone = load_zone(name)
        steps = [0, *(abs(b - a) for a, b in zip(zone.offsets, zone.offsets[1:], strict=False)), 0]
        lengths = [b - a for a, b in zip(zone.starts, zone.starts[1:], strict=False)]
        for period, length in enumerate(lengths):
            assert length > steps[period] + steps[period + 1], f"{name}, period {period}"
        assert list(zone.local_starts) == sorted(set(zone.local_starts)), name


def test_the_same_name_gives_the_same_zone() -> None:
    assert load_zone("Europe/Berlin") is load_zone("Europe/Berlin")


def test_the_version_is_that_of_the_package() -> None:
    assert tzdata_version() == tzdata.IANA_VERSION


UNKNOWN = (
    ("Europe/Berln", 'write "Europe/Berlin".'),
    ("europe/berlin", 'write "Europe/Berlin".'),
    ("America/New York", 'write "America/New_York".'),
    ("new york", 'write "America/New_York".'),
    ("Kolkatta", 'write "Asia/Kolkata".'),
    ("utc", 'write "UTC".'),
    ("UTC+2", 'write "Etc/GMT-2" (such names count hours west of Greenwich).'),
    ("-03:00", 'write "Etc/GMT+3" (such names count hours west of Greenwich).'),
    ("+05:30", 'write an IANA name, such as "Europe/Berlin" or "UTC".'),
    ("PST", 'write an IANA name, such as "Europe/Berlin" or "UTC".'),
    ("", 'write an IANA name, such as "Europe/Berlin" or "UTC".'),
    ("../zones", 'write an IANA name, such as "Europe/Berlin" or "UTC".'),
    ("/etc/localtime", 'write an IANA name, such as "Europe/Berlin" or "UTC".'),
    ("x" * 100_000, 'write an IANA name, such as "Europe/Berlin" or "UTC".'),
)


@pytest.mark.parametrize(("name", "advice"), UNKNOWN, ids=[name[:20] for name, _ in UNKNOWN])
def test_an_unknown_zone_is_refused_with_the_nearest_name(name: str, advice: str) -> None:
    with pytest.raises(InvalidSchedule) as refusal:
        load_zone(name)
    assert str(refusal.value).startswith(f'The time zone "{name[:60]}')
    assert str(refusal.value).endswith(f"is unknown; {advice}")


def zone_file(footer: str) -> bytes:
    """Make the smallest file of a zone that has never changed its clocks but by a rule."""
    header = b"TZif2" + bytes(15) + bytes(12) + b"\0\0\0\0" + b"\0\0\0\1" + b"\0\0\0\4"
    block = header + b"\0\0\0\0\0\0" + b"LMT\0"
    return block + block + f"\n{footer}\n".encode()


RULES = (
    # rule, the changes of 2028 (a leap year) as UTC
    ("AAA0BBB,M3.5.0,M10.5.0/3", "2028-03-26T02:00 2028-10-29T02:00"),
    ("AAA0BBB,J60/0,J300/0", "2028-03-01T00:00 2028-10-26T23:00"),  # J60 is always 1 March
    ("AAA0BBB,59/0,300/0", "2028-02-29T00:00 2028-10-26T23:00"),
    ("<-04>4<-03>,M9.1.6/24,M4.1.6/24", "2028-04-02T03:00 2028-09-03T04:00"),
    ("<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", "2028-04-01T15:00 2028-09-30T15:30"),
    ("IST-1GMT0,M10.5.0,M3.5.0/1", "2028-03-26T01:00 2028-10-29T01:00"),
    ("AAA2BBB,M3.5.0/-1,M10.5.0/-1:30:15", "2028-03-26T01:00:00 2028-10-28T23:29:45"),
    ("AAA-5", ""),
)


@pytest.mark.parametrize(("rule", "changes"), RULES)
def test_a_rule_for_all_later_years_is_followed(rule: str, changes: str) -> None:
    start, end = (int((datetime(year, 1, 1, tzinfo=UTC) - ORIGIN).total_seconds()) for year in (2028, 2029))
    _, found = read_changes(zone_file(rule))
    assert [ORIGIN + timedelta(seconds=at) for at, _ in found if start <= at < end] == [
        datetime.fromisoformat(f"{change}+00:00") for change in changes.split()
    ]


@pytest.mark.parametrize("data", [b"TZif" + bytes(60), b"nonsense" + bytes(60), zone_file("no rule")])
def test_what_is_no_time_zone_file_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"not a (time zone file|POSIX TZ string)"):
        read_changes(data)
