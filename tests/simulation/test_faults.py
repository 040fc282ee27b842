"""The simulation can fail: the check for each deliberate fault finds it."""

import ast
from pathlib import Path

import pytest

from tests.simulation.checker import PROMISES, complaints, sentence
from tests.simulation.faults import FAULTS
from tests.simulation.meetings import MEETINGS
from tests.simulation.play import play
from tests.simulation.scenes.catalogue import SCENES

MOST_STORIES = 100

FAULTY = sorted((Path(__file__).parent / "faults").glob("*.py"))


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found_by_its_check(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fault = FAULTS[name]
    fault.apply(monkeypatch)
    script = SCENES[fault.scene] if fault.scene else MEETINGS[fault.meeting] if fault.meeting else None
    if script is not None:
        assert any(fault.is_told_by(complaint) for complaint in script.complaints())
    else:
        stories = (complaints(play(seed)) for seed in (fault.seed, *range(MOST_STORIES)))
        assert any(fault.is_told_by(complaint) for found in stories for complaint in found)


def test_each_check_finds_a_fault() -> None:
    assert {fault.found_by for fault in FAULTS.values()} == {sentence(promise) for promise in PROMISES}


@pytest.mark.parametrize("path", FAULTY, ids=lambda path: path.stem)
def test_a_fault_names_nothing_private(path: Path) -> None:
    """A verb may be rewritten, with its promises kept, without rewriting any fault."""
    nodes = [*ast.walk(ast.parse(path.read_text()))]
    of_others = [node.attr for node in nodes if isinstance(node, ast.Attribute) and not _is_own(node)]
    imported = [alias.name for node in nodes if isinstance(node, ast.ImportFrom) for alias in node.names]
    quoted = [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    assert not [name for name in (*of_others, *imported, *quoted) if name.startswith("_") and name != "_"]


def _is_own(node: ast.Attribute) -> bool:
    """Return whether an attribute is of the object itself, or one that every object has."""
    return node.attr.startswith("__") or (isinstance(node.value, ast.Name) and node.value.id == "self")
