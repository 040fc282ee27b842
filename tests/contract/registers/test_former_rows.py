"""Former rows: what an owner had before, in order, the same in every store."""

from dataclasses import replace

from tests.contract.moves import CALENDAR, FREEZE
from tests.contract.rows import NOW
from timeball.domain.model.jobs.calendar import CalendarKey
from timeball.domain.model.tenants.actor import Action, Actor
from timeball.domain.planning.era import DEPLOYMENT, Era
from timeball.ports.store import Store

VERSIONS = [replace(CALENDAR, version=number, action=Action.CREATE, by=Actor("k", "editor")) for number in (1, 2, 10)]


def test_former_versions_of_a_calendar_are_read_from_the_newest_backwards(store: Store) -> None:
    former, key = store.former_calendars, CALENDAR.key
    former.note([(key, one) for one in VERSIONS], NOW)
    former.note([(CalendarKey("acme", f"{key.name}-2"), CALENDAR), (CalendarKey("other", key.name), CALENDAR)], NOW)
    assert former.of_owner(key, 9) == VERSIONS[::-1]
    assert former.of_owner(key, 2) == [VERSIONS[2], VERSIONS[1]]
    assert former.of_owner(key, 2, VERSIONS[1].order) == [VERSIONS[0]]
    assert former.of_owner(key, 2, (3, "")) == [VERSIONS[1], VERSIONS[0]]
    assert former.of_owner(key, 2, VERSIONS[0].order) == []
    assert store.calendars.of_owner("acme") == []


def test_the_first_note_of_a_former_row_stands(store: Store) -> None:
    owner = CALENDAR.key
    store.former_calendars.note([(owner, CALENDAR)], NOW)
    store.former_calendars.note([(owner, replace(CALENDAR, timezone="Asia/Tokyo"))], NOW)
    assert store.former_calendars.of_owner(owner, 9) == [CALENDAR]


def test_former_freezes_of_one_instant_are_in_the_order_of_their_names(store: Store) -> None:
    rows = [replace(FREEZE, name=name, created_at=at, to_at=NOW) for name, at in (("a", 5), ("b", 5), ("c", 4))]
    store.former_freezes.note([("acme", one) for one in rows], NOW)
    assert store.former_freezes.of_owner("acme", 9) == [rows[1], rows[0], rows[2]]
    assert store.former_freezes.of_owner("acme", 9, rows[1].order) == [rows[0], rows[2]]
    assert store.former_freezes.of_owner("other", 9) == []


def test_an_era_is_read_as_it_was_written(store: Store) -> None:
    eras = [Era(NOW, 60_000, 5_000), replace(Era(NOW + 1, 60_000, 5_000), planner=7)]
    store.eras.note([(DEPLOYMENT, one) for one in eras], NOW)
    assert store.eras.of_owner(DEPLOYMENT, 1) == eras[1:]
    assert store.eras.of_owner(DEPLOYMENT, 2) == eras[::-1]
