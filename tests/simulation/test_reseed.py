"""A new seed replaces the old one in a module, and nothing else changes."""

import pytest

from tests.simulation.faults import FAULTS
from tests.simulation.reseed import CATALOGUE, with_seeds

BEFORE = """
FAULTS = {
    "one": Fault(lost("runs.swap"), "nothing is stuck", 7),
    "ünlike": Fault(
        both(lost("a"), Fault_of(3)),  # 7
        "nothing is stuck",
        seed=7,
    ),
    "first": Fault(lost("b"), "nothing is stuck"),
    "met": Fault(lost("c"), "nothing is stuck", meeting="a pause"),
}
"""


@pytest.mark.parametrize(
    ("name", "line", "after"),
    [
        ("one", 2, '    "one": Fault(lost("runs.swap"), "nothing is stuck", 123),'),
        ("ünlike", 6, "        seed=123,"),
        ("first", 8, '    "first": Fault(lost("b"), "nothing is stuck", 123),'),
    ],
)
def test_a_fault_gets_a_new_seed_and_nothing_else_changes(name: str, line: int, after: str) -> None:
    expected = BEFORE.split("\n")
    expected[line] = after
    assert with_seeds(BEFORE, {name: 123, "of another module": 5}) == "\n".join(expected)


def test_the_seeds_of_all_faults_that_stories_show_can_be_found_in_their_modules() -> None:
    seeds = {name: 100_000 + number for number, (name, fault) in enumerate(FAULTS.items()) if not fault.is_scripted}
    written = [with_seeds(path.read_text(), seeds) for path in CATALOGUE.glob("*.py")]
    assert [seed for seed in seeds.values() if not any(str(seed) in text for text in written)] == []
