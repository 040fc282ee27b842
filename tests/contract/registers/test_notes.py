"""Notes: the first one of a name stands. Names of different tenants and jobs have nothing in common."""

from typing import Any

import pytest

from tests.contract.conftest import Subject
from tests.contract.rows import KEY, NOW
from timeball.domain.model.ids import JobKey
from timeball.ports.notes import Notes
from timeball.ports.store import Store

NAMES: dict[str, list[tuple[Any, str]]] = {
    "requests": [(KEY, "request"), (KEY, "another"), (JobKey("other", "job"), "request")],
    "events": [("acme", "a"), ("acme", "b"), ("globex", "a")],
}


def _notes(store: Store, kind: str) -> Notes[Any, int]:
    notes: Notes[Any, int] = getattr(store, kind)
    return notes


@pytest.mark.parametrize("kind", NAMES)
def test_the_first_note_of_a_name_stands(subject: Subject, kind: str) -> None:
    notes, (first, another, foreign) = _notes(subject.store, kind), NAMES[kind]
    subject.lose_answer()
    assert notes.note([(first, NOW)], NOW) == [NOW]
    assert notes.note([(first, NOW + 9), (another, NOW + 9)], NOW + 9) == [NOW, NOW + 9]
    assert notes.note([(foreign, NOW + 1)], NOW + 1) == [NOW + 1]
    assert notes.read([another, foreign, first]) == [NOW + 9, NOW + 1, NOW]


@pytest.mark.parametrize("kind", NAMES)
def test_a_name_without_a_note_is_read_as_none(store: Store, kind: str) -> None:
    notes, (first, another, _) = _notes(store, kind), NAMES[kind]
    notes.note([(first, NOW)], NOW)
    assert notes.read([another]) == [None]


@pytest.mark.parametrize("kind", NAMES)
def test_an_empty_list_of_notes_costs_no_request(subject: Subject, kind: str) -> None:
    notes, before = _notes(subject.store, kind), subject.requests()
    assert (notes.note([], NOW), notes.read([])) == ([], [])
    assert subject.requests() == before
