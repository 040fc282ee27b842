"""Calendars: which of them a tenant has, and which jobs may name one."""

from dataclasses import replace

from tests.contract.moves import CALENDAR
from tests.contract.rows import NOW
from timeball.domain.model.ids import JobKey
from timeball.domain.model.terms.calendar import CalendarKey
from timeball.ports.store import Store

A, B, C = (JobKey("acme", name) for name in ("a", "a-b", "b"))


def test_calendars_are_listed_by_name_after_a_given_one_and_without_deleted_ones(store: Store) -> None:
    rows = {name: replace(CALENDAR, key=CalendarKey("acme", name)) for name in ("b", "a", "a-1", "gone")}
    rows["gone"] = replace(rows["gone"], is_deleted=True)
    foreign = replace(CALENDAR, key=CalendarKey("other", "a"))
    store.calendars.insert([*rows.values(), foreign], NOW)
    assert store.calendars.of_tenant("acme", "", 9) == [rows["a"], rows["a-1"], rows["b"]]
    assert store.calendars.of_tenant("acme", "a", 1) == [rows["a-1"]]
    assert store.calendars.of_tenant("acme", "b", 9) == []
    assert store.calendars.of_tenant("other", "", 9) == [foreign]


def test_uses_are_noted_by_job_and_a_later_note_counts(store: Store) -> None:
    closed, another = CalendarKey("acme", "closed"), CalendarKey("acme", "closed-2")
    store.calendars.note_uses([(closed, C), (closed, A), (another, B)], NOW)
    store.calendars.note_uses([(closed, B), (closed, A)], NOW + 5)
    store.calendars.note_uses([], NOW)
    assert store.calendars.uses(closed, "", 9) == [(A, NOW + 5), (B, NOW + 5), (C, NOW)]
    assert store.calendars.uses(closed, "a", 1) == [(B, NOW + 5)]
    assert store.calendars.uses(closed, "b", 9) == []
    assert store.calendars.uses(another, "", 9) == [(B, NOW)]
    assert store.calendars.uses(CalendarKey("other", "closed"), "", 9) == []
