"""The past of calendars and freezes: wherever a process dies, no version that was in force is lost, or is wrong."""

from dataclasses import replace

import pytest

from tests.engine.play import NOW, Play
from timeball.domain.model.jobs.calendar import Calendar, CalendarKey
from timeball.domain.model.jobs.freeze import Freeze, FreezeMatch, Freezes, dropped, with_freeze, without_freeze
from timeball.domain.model.tenants.actor import Action, Actor
from timeball.domain.time.instants import DAY_MS, SECOND_MS
from timeball.engine.blackouts.calendars import create_calendar, delete_calendar, list_versions, replace_calendar
from timeball.engine.blackouts.freezes import create_freeze, lift_freeze, over_freezes, start_tenant, stop_tenant
from timeball.testing.faults import Crash, Points

KEY = CalendarKey("acme", "closed")
FREEZE = Freeze("f", NOW, None, FreezeMatch(everything=True), NOW)


def calendar(*dates: str) -> Calendar:
    return Calendar(KEY, "UTC", NOW, NOW, dates, by=Actor("k", "editor"))


@pytest.mark.parametrize("at", range(5))
def test_wherever_a_change_of_a_calendar_dies_each_version_has_its_one_content(at: int) -> None:
    play = Play()
    create_calendar(play.context(), calendar("2026-12-01"), NOW)
    points = Points(at)
    try:
        replace_calendar(play.context(points), calendar("2026-12-02"), None, NOW)
    except Crash:
        assert points.crashed
    replace_calendar(play.context(), calendar("2026-12-03"), None, NOW)
    found, more = list_versions(play.context(), KEY, 9)
    assert more is None
    dates = [one.dates for one, _ in found]
    assert dates in ([("2026-12-03",), ("2026-12-02",), ("2026-12-01",)], [("2026-12-03",), ("2026-12-01",)])
    assert [one.version for one, _ in found] == list(range(len(found), 0, -1))


def test_a_deleted_calendar_keeps_the_author_of_each_change() -> None:
    play = Play()
    create_calendar(play.context(), replace(calendar(), action=Action.CREATE), NOW)
    delete_calendar(play.context(), KEY, None, NOW + 1, Actor("other", "admin"))
    found, _ = list_versions(play.context(), KEY, 9)
    assert [(one.action, one.by.key_id) for one, _ in found] == [(Action.DELETE, "other"), (Action.CREATE, "k")]


# The freezes that leave a tenant's row, some days after the end of its one freeze.
@pytest.mark.parametrize(
    ("days", "leaves"),
    [
        (0, []),  # not over yet
        (6, []),  # over lately: plans may still need it
        (8, ["f"]),
    ],
)
def test_a_freeze_leaves_the_row_a_week_after_its_end(days: int, leaves: list[str]) -> None:
    row, now = Freezes("acme", (replace(FREEZE, to_at=NOW + SECOND_MS),)), NOW + days * DAY_MS
    assert [one.name for one in dropped(row, with_freeze(row, replace(FREEZE, name="g"), now), now)] == leaves


def test_a_freeze_that_is_lifted_before_it_begins_was_never_in_force() -> None:
    row = Freezes("acme", (replace(FREEZE, from_at=NOW + DAY_MS),))
    assert dropped(row, without_freeze(row, "f", NOW), NOW) == []


@pytest.mark.parametrize("at", range(5))
def test_wherever_a_freeze_is_stored_the_ones_before_are_known(at: int) -> None:
    play = Play()
    create_freeze(play.context(), "acme", FREEZE)
    play.clock.advance(5 * SECOND_MS)
    lift_freeze(play.context(), "acme", "f")
    stop_tenant(play.context(), "acme")
    play.clock.advance(5 * SECOND_MS)
    start_tenant(play.context(), "acme")
    play.clock.advance(8 * DAY_MS)
    points = Points(at)
    try:
        create_freeze(play.context(points), "acme", replace(FREEZE, name="g", created_at=NOW + 8 * DAY_MS))
    except Crash:
        assert points.crashed
    found = over_freezes(play.context(), "acme", 9)
    assert [(one.name, one.is_lifted, one.to_at) for one in found] == [("f", True, NOW + 5 * SECOND_MS)]
    create_freeze(play.context(), "acme", replace(FREEZE, name="g", created_at=NOW + 8 * DAY_MS))
    kept = play.store.former_freezes.of_owner("acme", 9)
    assert sorted((one.name, one.stops_all) for one in kept) == [("f", False), (f"stop-{NOW + 5_000}", True)]
