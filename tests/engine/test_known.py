"""Rows that a process has read lately: it reads them again after two seconds, and only those that it lacks."""

from collections.abc import Sequence

from timeball.domain.model.jobs.freeze import KNOWN_MS, Freezes
from timeball.engine.context import Known
from timeball.testing.memory_rows import Memory, MemoryRows


class Asked(MemoryRows[str, Freezes]):
    """Freezes that note the keys of each read."""

    def __init__(self) -> None:
        super().__init__(Memory(), "tenant")
        self.asked: list[str] = []

    def read(self, keys: Sequence[str], *, strong: bool = True) -> list[Freezes | None]:
        """Note the keys that are read."""
        assert strong
        self.asked += keys
        return super().read(keys, strong=strong)


def test_a_row_that_was_read_is_known_for_a_while_and_so_is_its_absence() -> None:
    known, rows = Known(), Asked()
    rows.insert([Freezes("a")], 0)
    assert known.read("freezes", rows, ["a", "b", "a"], 10_000) == [Freezes("a"), None, Freezes("a")]
    assert rows.asked == ["a", "b"]
    assert known.read("freezes", rows, ["b", "c"], 10_000 + KNOWN_MS - 1) == [None, None]
    assert rows.asked == ["a", "b", "c"]
    known.read("freezes", rows, ["a", "c"], 10_000 + KNOWN_MS)
    assert rows.asked == ["a", "b", "c", "a"]


def test_a_row_that_this_process_changes_is_read_again() -> None:
    known, rows = Known(), Asked()
    known.read("freezes", rows, ["a"], 10_000)
    known.forget("freezes", "a")
    known.forget("freezes", "a")
    known.read("freezes", rows, ["a"], 10_000)
    assert rows.asked == ["a", "a"]


def test_a_process_with_very_many_tenants_forgets_instead_of_growing() -> None:
    known, rows = Known(), Asked()
    tenants = [str(number) for number in range(6_000)]
    assert known.read("freezes", rows, tenants[:4_000], 10_000) == [None] * 4_000
    assert known.read("freezes", rows, tenants, 10_001) == [None] * 6_000
    assert known.read("freezes", rows, ["x"], 10_002) == [None]
    known.read("freezes", rows, tenants[:1], 10_003)
    assert rows.asked.count("0") == 2
