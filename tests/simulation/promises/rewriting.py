"""Promises about repetition: no row is rewritten without end, and no run is watched without end."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from tests.simulation.story import Story
from timeball.domain.attempts.watch import pause_ms
from timeball.domain.model.ids import RunId
from timeball.domain.time.instants import MINUTE_MS

_MOST_A_MINUTE = 45
"""A row that is rewritten every second has more. In stories without a fault no row has had more than thirty."""


def _no_row_is_rewritten_without_end(story: Story) -> Iterator[str]:
    """Exceptions are renewals, jobs that fire or whose lock moves, and runs that name items."""
    written: dict[object, list[int]] = defaultdict(list)
    for write in story.store.history.runs:
        before, after = write.before, write.after
        if before is not None and before.lease_until == after.lease_until and after.fan is None:
            written[after.id].append(write.at)
    for change in story.store.history.jobs:
        job, changed = change.before, change.after
        is_same = job is not None and (job.next_fire_at, job.holder, job.next_holder, job.version) == (
            changed.next_fire_at,
            changed.holder,
            changed.next_holder,
            changed.version,
        )
        if is_same:
            written[changed.key].append(change.at)
    for key, instants in written.items():
        if (count := _most_in_a_minute(instants)) > _MOST_A_MINUTE:
            yield f"{key} was written {count} times in a minute"


def _most_in_a_minute(instants: Sequence[int]) -> int:
    first = most = 0
    for position, at in enumerate(instants):
        while instants[first] < at - MINUTE_MS:
            first += 1
        most = max(most, position - first + 1)
    return most


def _no_run_that_is_over_is_watched_for_long(story: Story) -> Iterator[str]:
    """The next check drops its watch, and is late only by the time of its delivery.

    A process that hung between its reading of the clock and its send may send a watch whose instant is past. A process
    that hung before it wrote an end has written an instant that is past, too.
    """
    now = story.clock.now()
    for watch in story.queue.watches if story.is_lossy else ():
        visible_at = max(watch.at, story.queue.watched_at[watch])
        if visible_at < now - MINUTE_MS:
            yield f"{watch} should have been processed {now - visible_at} ms ago"
        for run in watch.runs:
            row, ended_at = story.store.runs.get(run), _over_since(story, run)
            looked_at = watch.at - _pause_before(watch.round_number)
            if ended_at is not None and watch.round_number > 1 and ended_at < looked_at - MINUTE_MS:
                yield f"{watch} was made {looked_at - ended_at} ms after the end of {row}"


def _over_since(story: Story, run: RunId) -> int | None:
    """Return since which true time a run is over in its current state, or None if it is not over, or is gone."""
    row = story.store.runs.get(run)
    if row is None or not row.is_terminal:
        return None
    writes = story.store.history.of_run(run)
    return max(one.at for one in writes if one.before is None or not one.before.is_terminal)


def _pause_before(round_number: int) -> int:
    return pause_ms(round_number - 1) if round_number > 1 else 0


PROMISES = (_no_row_is_rewritten_without_end, _no_run_that_is_over_is_watched_for_long)
