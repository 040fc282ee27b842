"""The notes of a preview on fires beside a clock change."""

from datetime import UTC, datetime
from itertools import islice

import pytest

from tests.domain.cron import cases
from timeball.domain.time.cron import parse_cron
from timeball.domain.time.preview import clock_change
from timeball.domain.time.stepper import DstOverlap, Gap
from timeball.domain.time.zones import load_zone

MOVED = "moved by the clock change from"
FORWARD = "the first fire after the clocks went forward on 2026-03-29"
BACK = "the first fire after the clocks went back on 2026-10-25"
ONE_OF_TWO = "the first of two times that clocks show"
TWO_OF_TWO = "the second of two times that clocks show"
NEXT, SKIP, BOTH = Gap.NEXT, Gap.SKIP, DstOverlap.BOTH
BERLIN = "Europe/Berlin"

TABLE = (
    # expression, zone, after, gap, overlap, notes on the next fires
    ("30 2 * * *", BERLIN, "2026-03-28T00:00", None, None, [None, f"{MOVED} 02:30", None]),
    ("30 2 * * *", BERLIN, "2026-03-28T00:00", SKIP, None, [None, FORWARD, None]),
    ("0,20,40 2,3 * * *", BERLIN, "2026-03-29T00:00", None, None, [f"{MOVED} 02:00, 02:20, 02:40", None]),
    (
        "* * * * *",
        BERLIN,
        "2026-03-29T00:58",
        NEXT,
        None,
        [None, f"{MOVED} 02:00, 02:01, 02:02 and 57 more", None],
    ),
    ("*/30 * * * *", BERLIN, "2026-03-29T00:20", None, None, [None, FORWARD, None]),
    ("30 2 * * *", BERLIN, "2026-10-24T01:00", None, None, [f"{ONE_OF_TWO} 02:30", BACK, None]),
    (
        "30 2 * * *",
        BERLIN,
        "2026-10-24T01:00",
        None,
        BOTH,
        [f"{ONE_OF_TWO} 02:30", f"{TWO_OF_TWO} 02:30", None],
    ),
    (
        "0 * * * *",
        BERLIN,
        "2026-10-24T23:00",
        None,
        None,
        [f"{ONE_OF_TWO} 02:00", f"{TWO_OF_TWO} 02:00", None],
    ),
    ("0 9 * * *", BERLIN, "2026-10-24T00:00", None, None, [None, BACK, None]),
    ("0 0 1 1 *", BERLIN, "2026-10-24T00:00", None, None, [None, None]),
    ("0 9 30 * *", "Pacific/Apia", "2011-11-01T00:00", None, None, [None, f"{MOVED} 2011-12-30 09:00", None]),
    ("0 0 * * *", "UTC", "2026-03-28T00:00", None, None, [None, None]),
)


@pytest.mark.parametrize(("expression", "zone", "after", "gap", "overlap", "notes"), TABLE)
def test_a_fire_has_a_note_on_the_effect_of_a_clock_change(
    expression: str, zone: str, after: str, gap: Gap | None, overlap: DstOverlap | None, notes: list[str | None]
) -> None:
    fields, loaded = parse_cron(expression), load_zone(zone)
    after_at = int(datetime.fromisoformat(after).replace(tzinfo=UTC).timestamp()) * 1000
    found = islice(cases.fires(fields, loaded, after_at, gap, overlap), len(notes))
    assert [clock_change(loaded, at, fields, gap, overlap) for at in found] == notes


def test_without_an_expression_only_a_repeated_local_time_is_noted() -> None:
    berlin = load_zone("Europe/Berlin")
    spring, autumn = 1_774_746_000_000, 1_792_890_000_000
    assert clock_change(berlin, spring) is None
    assert clock_change(berlin, autumn - 1_800_000) == f"{ONE_OF_TWO} 02:30"
    assert clock_change(berlin, autumn + 1_800_000) == f"{TWO_OF_TWO} 02:30"
    assert clock_change(berlin, autumn + 3_600_000) is None
