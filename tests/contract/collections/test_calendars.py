"""Calendars: which of them a tenant has."""

from dataclasses import replace

from tests.contract.moves import CALENDAR
from tests.contract.rows import NOW
from timeball.domain.model.jobs.calendar import CalendarKey
from timeball.ports.store import Store


def test_calendars_are_listed_by_name_after_a_given_one_and_without_deleted_ones(store: Store) -> None:
    rows = {name: replace(CALENDAR, key=CalendarKey("acme", name)) for name in ("b", "a", "a-1", "gone")}
    rows["gone"] = replace(rows["gone"], is_deleted=True)
    foreign = replace(CALENDAR, key=CalendarKey("other", "a"))
    store.calendars.insert([*rows.values(), foreign], NOW)
    assert store.calendars.of_owner("acme", "", 9) == [rows["a"], rows["a-1"], rows["b"]]
    assert store.calendars.of_owner("acme", "a", 1) == [rows["a-1"]]
    assert store.calendars.of_owner("acme", "b", 9) == []
    assert store.calendars.of_owner("other", "", 9) == [foreign]
