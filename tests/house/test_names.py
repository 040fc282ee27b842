"""Which names have several meanings or banned words, and which functions decide too much."""

from pathlib import Path

import pytest

from tests.house.complexity import MOST, complex_in
from tests.house.names import banned_in, homonyms_in


def _module(folder: Path, name: str, source: str) -> Path:
    path = folder / name
    path.write_text(source)
    return path


def test_a_top_level_class_that_two_modules_define_is_found_and_one_in_a_class_is_not(tmp_path: Path) -> None:
    one = _module(tmp_path, "one.py", "class Slot: ...\nclass Run:\n    class Meta: ...\n")
    two = _module(tmp_path, "two.py", "class Slot: ...\nclass Job:\n    class Meta: ...\n")
    assert homonyms_in([one, two]) == {"Slot": [one, two]}


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("place = 1", ["place"]),
        ("class ToldLater: ...", ["ToldLater"]),
        ("def look_again(): ...", ["look_again"]),
        ("def f(by_hand): ...", ["by_hand"]),
        ("self.is_untold = True", ["is_untold"]),
        ("replace = placement = 1", []),
        ("print(place)", []),
        ("look = again = 1", []),
    ],
)
def test_an_identifier_is_banned_for_a_whole_part_of_it_where_it_is_bound(
    tmp_path: Path, source: str, found: list[str]
) -> None:
    path = _module(tmp_path, "module.py", source)
    assert [name for _, name in banned_in([path])] == found


def test_conditions_of_comprehensions_and_each_and_and_or_count_as_decisions(tmp_path: Path) -> None:
    conditions = " and ".join(f"one > {number}" for number in range(MOST - 1))
    just = f"def f(many):\n    return [one for one in many if {conditions}]\n"
    assert next(complex_in([_module(tmp_path, "dense.py", just)])).decisions > MOST
    assert not list(complex_in([_module(tmp_path, "plain.py", "def f(many):\n    return [one for one in many]\n")]))
