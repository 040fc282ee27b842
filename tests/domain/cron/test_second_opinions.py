"""cronsim 2.8 and croniter 7.0.0 as second opinions: they agree where they are right, and each difference is listed."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice

import cronsim
import pytest
from croniter import croniter
from croniter.croniter import CroniterError

from tests.domain.cron import cases, oracle
from timeball.domain.time.cron import parse_cron
from timeball.domain.time.instants import InvalidSchedule
from timeball.domain.time.zones import load_zone

FIRES = 6
EXPRESSIONS_PER_CHANGE = 12
FIRST, LAST = datetime(2025, 1, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC)
GAP_AT_MIDNIGHT = {
    "Africa/Cairo",
    "America/Havana",
    "America/Santiago",
    "Asia/Beirut",
    "Atlantic/Azores",
}
Opinion = Callable[[str, str, int], list[int]]


def ours(expression: str, zone: str, after_at: int) -> list[int]:
    return list(islice(cases.fires(parse_cron(expression), load_zone(zone), after_at), FIRES))


def cronsims(expression: str, zone: str, after_at: int) -> list[int]:
    start = datetime.fromtimestamp(after_at // 1000, UTC).astimezone(oracle.zone(zone))
    return [int(at.timestamp()) * 1000 for at in islice(cronsim.CronSim(expression, start), FIRES)]


def croniters(expression: str, zone: str, after_at: int) -> list[int]:
    start = datetime.fromtimestamp(after_at // 1000, UTC).astimezone(oracle.zone(zone))
    clock = croniter(expression, start, ret_type=datetime)
    return [int(clock.get_next(datetime).timestamp()) * 1000 for _ in range(FIRES)]


def starts() -> Iterator[tuple[str, datetime, str]]:
    """List zones, clock changes and expressions; for zones without clock changes, some other instant."""
    for zone in (*cases.ZONES, "UTC"):
        for change in oracle.clock_changes(zone, FIRST, LAST) or [datetime(2025, 3, 30, tzinfo=UTC)]:
            for number in range(EXPRESSIONS_PER_CHANGE):
                random = cases.seeded(f"second opinion {zone} {change} {number}")
                yield zone, change, f"{cases.times(random)} {cases.days(random)}"


def cronsim_is_right(expression: str, zone: str) -> bool:
    """Say whether cronsim knows every sign of an expression and none of its errors below applies."""
    minute, hour, day_of_month, _, _ = expression.split()
    return not (
        "?" in expression
        or "SUNL" in expression
        or "L-" in day_of_month
        or zone in {"Australia/Lord_Howe", "Pacific/Chatham"}
        or ("/" in minute + hour and "*" not in minute + hour)
        or ("*" in minute + hour and zone in GAP_AT_MIDNIGHT)
    )


def test_cronsim_agrees_at_every_clock_change_where_it_is_right() -> None:
    compared = 0
    for zone, change, expression in starts():
        if cronsim_is_right(expression, zone):
            after_at = int((change - timedelta(hours=26)).timestamp()) * 1000
            assert cronsims(expression, zone, after_at) == ours(expression, zone, after_at), (
                f"{expression!r} in {zone} after {after_at}"
            )
            compared += 1
    assert compared >= 300


def croniter_is_right(expression: str) -> bool:
    """Say whether croniter knows every sign of an expression and none of its errors below applies."""
    _, _, day_of_month, _, day_of_week = expression.split()
    both = day_of_month not in {"*", "?"} and day_of_week not in {"*", "?"}
    special = any(sign in day_of_month + day_of_week for sign in ("L", "#", "*"))
    return not ("L-" in day_of_month or "LW" in day_of_month or "L" in day_of_week or (both and special))


def test_croniter_agrees_between_the_clock_changes_where_it_is_right() -> None:
    compared = 0
    for zone, change, expression in starts():
        if croniter_is_right(expression):
            after_at = int((change + timedelta(days=2)).timestamp()) * 1000
            changes = load_zone(zone).starts
            until = next((at * 1000 for at in changes if at * 1000 > after_at), after_at + 10**11)
            right, theirs = (opinion(expression, zone, after_at) for opinion in (ours, croniters))
            assert [at for at in theirs if at < until] == [at for at in right if at < until], (
                f"{expression!r} in {zone} after {after_at}"
            )
            compared += 1
    assert compared >= 400


REFUSED = None
"""Stands for the fires of an expression that is refused."""

DIFFERENCES: tuple[tuple[Opinion, str, str, str, str | None, str | None], ...] = (
    # The library, expression, zone, local start, its first fires, ours. A comment above each group names the cause.
    # cronsim knows no `?`, `L-n` or `nW`, and no name before `L`.
    (cronsims, "0 0 ? * *", "UTC", "2026-01-01T00:00", REFUSED, "2026-01-02T00:00"),
    (cronsims, "0 0 L-2 * *", "UTC", "2026-01-01T00:00", REFUSED, "2026-01-29T00:00"),
    (cronsims, "0 0 15W * *", "UTC", "2026-01-01T00:00", REFUSED, "2026-01-15T00:00"),
    (cronsims, "0 0 * * FRIL", "UTC", "2026-01-01T00:00", REFUSED, "2026-01-30T00:00"),
    # cronsim, like cronie, calls only a leading `*` interval-like; here a step is enough.
    (
        cronsims,
        "0-30/15 2 * * *",
        "Europe/Berlin",
        "2026-03-29T00:00",
        "2026-03-29T03:00",
        "2026-03-30T02:00",
    ),
    # cronsim reaches a day through its midnight, and fires an hour later if that midnight does not exist.
    (cronsims, "*/20 0 29 * *", "Asia/Beirut", "2026-03-27T12:00", "2026-03-29T01:00", "2026-04-29T00:00"),
    # cronsim steps by whole hours of UTC, and so loses the half hour of Lord Howe.
    (
        cronsims,
        "*/20 3 * * *",
        "Australia/Lord_Howe",
        "2026-04-04T12:00",
        "2026-04-05T03:40",
        "2026-04-05T03:00",
    ),
    # cronsim accepts no value above 7 for day-of-week, but lets a step of n/s run on to it, which includes Sunday.
    (cronsims, "0 0 * * 1/2", "UTC", "2026-01-03T00:00", "2026-01-04T00:00", "2026-01-05T00:00"),
    # croniter fires a fixed job twice when clocks go back.
    (croniters, "30 2 * * *", "Europe/Berlin", "2026-10-25T02:45", "2026-10-25T02:30", "2026-10-26T02:30"),
    # croniter fires an interval-like job at the jump.
    (croniters, "*/5 2 * * *", "Europe/Berlin", "2026-03-29T00:00", "2026-03-29T03:00", "2026-03-30T02:00"),
    # croniter counts `*/2` as restricted: either field is enough.
    (croniters, "0 0 */2 * MON", "UTC", "2026-02-01T00:00", "2026-02-02T00:00", "2026-02-09T00:00"),
    # croniter requires both fields if one has an `L` or a `#`, and finds no 31st that is a second Sunday.
    (croniters, "0 0 31 * 0#2", "UTC", "2026-01-01T00:00", REFUSED, "2026-01-11T00:00"),
    # croniter writes the last Friday as L5, and knows neither `LW` nor `L-n`.
    (croniters, "0 0 * * 5L", "UTC", "2026-01-01T00:00", REFUSED, "2026-01-30T00:00"),
    (croniters, "0 0 * * L5", "UTC", "2026-01-01T00:00", "2026-01-30T00:00", REFUSED),
    (croniters, "0 0 LW * *", "UTC", "2026-01-01T00:00", REFUSED, "2026-01-30T00:00"),
    # croniter reads a range of one as the whole field, and accepts wrap-around ranges.
    (croniters, "59-59 * * * *", "UTC", "2026-01-01T00:00", "2026-01-01T00:01", "2026-01-01T00:59"),
    (croniters, "0 0 * * FRI-MON", "UTC", "2026-01-01T00:00", "2026-01-02T00:00", REFUSED),
    # croniter takes a sixth field as seconds, and accepts six fields.
    (croniters, "0 0 1 1 * 30", "UTC", "2026-01-01T00:00", "2026-01-01T00:00", REFUSED),
)


@pytest.mark.parametrize(("whose", "expression", "zone", "start", "theirs", "right"), DIFFERENCES)
def test_every_difference_between_the_opinions_is_listed(
    whose: Opinion, expression: str, zone: str, start: str, theirs: str | None, right: str | None
) -> None:
    tz = oracle.zone(zone)
    after_at = int(datetime.fromisoformat(start).replace(tzinfo=tz).timestamp()) * 1000

    def first(opinion: Opinion) -> str | None:
        try:
            at = opinion(expression, zone, after_at)[0]
        except (InvalidSchedule, cronsim.CronSimError, CroniterError):
            return REFUSED
        return f"{datetime.fromtimestamp(at // 1000, tz):%Y-%m-%dT%H:%M}"

    assert (first(whose), first(ours)) == (theirs, right)
