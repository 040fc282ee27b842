"""Promises about lists of runs: a failure is in them at most two seconds after it, and no run is in one twice."""

from collections import Counter
from collections.abc import Iterator

from tests.simulation.actors.listings import Listing
from tests.simulation.story import MOST_SKEW_MS, Story
from timeball.domain.model.ids import RunId
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.time.instants import HOUR_MS, SECOND_MS

_BEHIND_MS = 2 * SECOND_MS + MOST_SKEW_MS


def _no_run_is_listed_twice(story: Story) -> Iterator[str]:
    """A late run that is skipped while its list is read may come again: it counts as ended at its start."""
    for listing in story.listings:
        for run, times in Counter(run.id for run in listing.runs if not _is_backdated(run)).items():
            if times > 1:
                yield f"{run} is {times} times in the list of {listing.began_at}"


def _is_backdated(run: Run) -> bool:
    return run.state is RunState.SKIPPED and run.finished_at == run.not_before


def _a_failed_run_is_listed_two_seconds_later(story: Story) -> Iterator[str]:
    """A list of failed runs has all runs that failed two seconds before it began, unless they are tried again."""
    runs = list(story.store.runs)
    for listing in story.listings:
        listed = {run.id for run in listing.runs}
        for run in runs:
            if run.job.tenant == listing.where.tenant and run not in listed and _stays_failed(story, run, listing):
                yield f"{run} is not in the list of {listing.began_at}: {story.store.history.of_run(run)[-1]}"


def _stays_failed(story: Story, run: RunId, listing: Listing) -> bool:
    """Return whether a run had failed well before a list began, within its hour, and until it ended."""
    writes = story.store.history.of_run(run)
    before = [one.after for one in writes if one.at <= listing.began_at - _BEHIND_MS][-1:]
    since = [one.after for one in writes if listing.began_at - _BEHIND_MS < one.at <= listing.ended_at]
    first_at = listing.began_at - HOUR_MS + MOST_SKEW_MS
    return bool(before) and all(
        row.state is RunState.FAILED and (row.finished_at or 0) >= first_at for row in (*before, *since)
    )


PROMISES = (_no_run_is_listed_twice, _a_failed_run_is_listed_two_seconds_later)
