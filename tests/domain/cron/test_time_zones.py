"""Zones come from the tzdata package and agree with zoneinfo, for every name and at every change."""

import struct
from datetime import UTC, datetime, timedelta
from importlib.resources import files

import pytest
import tzdata  # type: ignore[import-untyped]

from tests.domain.cron import cases, oracle
from timeball.domain.time.instants import InvalidSchedule
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
            assert timedelta(seconds=zone.offsets[zone.period_at(second)]) == offset, f"{name} at {second}"


def listed(name: str) -> tuple[int, ...]:
    """Read the instants that a zone's file lists, from its second block, whose numbers have 64 bits (RFC 9636)."""
    data = files("tzdata").joinpath("zoneinfo", *name.split("/")).read_bytes()
    block = data[data.rindex(b"TZif") :]
    return struct.unpack_from(f">{int.from_bytes(block[32:36])}q", block, 44)


def test_no_change_that_a_file_lists_is_missed() -> None:
    for name in NAMES:
        starts, tz = set(load_zone(name).starts), oracle.zone(name)
        for second in listed(name):
            before, after = ((ORIGIN + timedelta(seconds=at)).astimezone(tz).utcoffset() for at in (second - 1, second))
            assert before == after or second in starts, f"{name} at {second}"


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
