"""Two releases write the same rows, and neither loses what the other has written."""

from collections.abc import Iterator

from tests.simulation.story import Story


def a_release_keeps_what_another_one_has_added_to_a_row(story: Story) -> Iterator[str]:
    yield from story.store.lost


def each_release_reads_what_the_other_one_writes(story: Story) -> Iterator[str]:
    yield from story.store.refused


PROMISES = (
    each_release_reads_what_the_other_one_writes,
    a_release_keeps_what_another_one_has_added_to_a_row,
)
