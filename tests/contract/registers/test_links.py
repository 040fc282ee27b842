"""Links from owners to jobs: the last note counts, and those that were not noted lately may be forgotten."""

from typing import Any

import pytest

from tests.contract.conftest import Subject
from tests.contract.rows import NOW
from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.calendar import CalendarKey
from timeball.ports.notes import Links
from timeball.ports.store import Store

A, B, C = (JobKey("acme", name) for name in ("a", "a-b", "b"))
OWNERS: dict[str, tuple[Any, Any, Any]] = {
    "edges": (JobKey("acme", "closed"), JobKey("acme", "closed-2"), JobKey("other", "closed")),
    "calendar_uses": (CalendarKey("acme", "closed"), CalendarKey("acme", "closed-2"), CalendarKey("other", "closed")),
}


def _links(store: Store, kind: str) -> Links[Any]:
    links: Links[Any] = getattr(store, kind)
    return links


@pytest.mark.parametrize("kind", OWNERS)
def test_links_are_noted_by_job_and_a_later_note_counts(store: Store, kind: str) -> None:
    links, (owner, another, foreign) = _links(store, kind), OWNERS[kind]
    links.note([(owner, C), (owner, A), (another, B)], NOW)
    links.note([(owner, B), (owner, A)], NOW + 5)
    assert links.of_owner(owner) == [(A, NOW + 5), (B, NOW + 5), (C, NOW)]
    assert links.of_owner(owner, "a", 1) == [(B, NOW + 5)]
    assert links.of_owner(owner, "b", 9) == []
    assert links.of_owner(another, "", 9) == [(B, NOW)]
    assert links.of_owner(foreign, "", 9) == []


@pytest.mark.parametrize("kind", OWNERS)
def test_the_jobs_of_each_owner_are_listed_once_each_in_order(store: Store, kind: str) -> None:
    links, (owner, another, foreign) = _links(store, kind), OWNERS[kind]
    links.note([(owner, C), (owner, B), (owner, A)], NOW)
    links.note([(owner, B), (another, A)], NOW + 1)
    links.note([(foreign, JobKey("other", "theirs"))], NOW)
    assert links.children([owner, another, owner]) == [[A, B, C], [A], [A, B, C]]
    assert links.children([foreign]) == [[JobKey("other", "theirs")]]


@pytest.mark.parametrize("kind", OWNERS)
def test_a_link_that_was_not_noted_since_is_forgotten_and_may_be_noted_again(store: Store, kind: str) -> None:
    links, (owner, *_) = _links(store, kind), OWNERS[kind]
    links.note([(owner, C), (owner, A)], NOW)
    links.note([(owner, A)], NOW + 5)
    links.forget([(owner, C), (owner, A), (owner, B)], NOW + 5, NOW + 9)
    assert links.children([owner]) == [[A]]
    links.note([(owner, C)], NOW + 10)
    assert links.children([owner]) == [[A, C]]


@pytest.mark.parametrize("kind", OWNERS)
def test_an_empty_list_of_links_costs_no_request(subject: Subject, kind: str) -> None:
    links, before = _links(subject.store, kind), subject.requests()
    links.note([], NOW)
    links.forget([], NOW + 20, NOW + 20)
    assert links.children([]) == []
    assert subject.requests() == before
