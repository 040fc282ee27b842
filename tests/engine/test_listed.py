"""A page of a list: its length, the bound of examined rows, and where the next page begins."""

from collections.abc import Callable, Sequence

import pytest

from timeball.domain.model.ids import JobKey
from timeball.engine.filtered_pages import MAX_EXAMINED, Page, read_page

Where = tuple[int, JobKey]


class Numbers:
    """A list of numbers, the largest first, that counts how many were named and read."""

    def __init__(self, count: int) -> None:
        self.entries = [(number, JobKey("acme", str(number))) for number in reversed(range(count))]
        self.named = self.read = 0

    def page(self, limit: int, after: Where | None, is_meant: Callable[[int], bool]) -> Page[int, JobKey]:
        def name(at_once: int, behind: Where | None) -> Sequence[Where]:
            found = [one for one in self.entries if behind is None or one < behind][:at_once]
            self.named += len(found)
            return found

        def read(keys: Sequence[JobKey]) -> list[int | None]:
            self.read += len(keys)
            return [number if is_meant(number := int(key.job_id)) else None for key in keys]

        return read_page(name, read, limit, after)


@pytest.mark.parametrize("limit", [1, 2, 7, 99, 100, 101, 250])
def test_pages_show_all_matching_rows_once_and_come_to_an_end(limit: int) -> None:
    numbers, found = Numbers(250), list[int]()
    after: Where | None = None
    while True:
        page = numbers.page(limit, after, lambda number: number % 3 > 0)
        assert len(page.items) <= limit
        found += page.items
        if page.next_after is None:
            break
        assert len(page.items) == limit
        after = page.next_after
    assert found == [number for number in reversed(range(250)) if number % 3 > 0]


def test_a_page_without_a_filter_reads_one_more_than_it_shows() -> None:
    numbers = Numbers(5_000)
    numbers.page(50, None, lambda _: True)
    assert (numbers.named, numbers.read) == (51, 51)


def test_a_filter_without_matches_examines_a_bounded_number_and_returns_where_to_continue() -> None:
    numbers = Numbers(5_000)
    page = numbers.page(50, None, lambda _: False)
    assert page.items == ()
    assert page.next_after == (numbers.entries[numbers.read - 1])
    assert MAX_EXAMINED <= numbers.read < MAX_EXAMINED + 100
