"""Generated parts of the documents match the code."""

import pytest

from docs.generate import DOCS, PAGES, NoSuchPartError, renewed, states
from tests.docs.readme import read
from timeball.domain.model.runs.run import MOVES, RunState


@pytest.mark.parametrize("name", PAGES)
def test_a_generated_part_is_current(name: str) -> None:
    page = read(DOCS / name)
    assert page == renewed(page, PAGES[name]), "Run: .venv/bin/python -m docs.generate"


def test_the_diagram_has_every_legal_move_and_no_other() -> None:
    drawn = {tuple(line.strip().split(" --> ")) for line in states().splitlines() if "-->" in line}
    moves = {(before.value, after.value) for before, afters in MOVES.items() for after in afters}
    assert {move for move in drawn if "[*]" not in move} == moves


def test_every_state_has_its_row_beside_the_diagram() -> None:
    page = read(DOCS / "concepts/runs.md")
    for state in RunState:
        assert f"`{state}`" in page


def test_a_part_without_a_marker_and_a_marker_without_a_part_are_errors() -> None:
    with pytest.raises(NoSuchPartError, match="no place for moves"):
        renewed("nothing here", {"moves": lambda: ""})
    with pytest.raises(NoSuchPartError, match="nothing generates moves"):
        renewed("<!-- generated: moves -->\n<!-- end -->", {})
