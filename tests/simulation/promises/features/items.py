"""Promises about runs with items: each item that another run has named has a run of its own."""

from collections.abc import Iterator

from tests.simulation.promises.calls import own_payload
from tests.simulation.story import Story
from tests.simulation.world.history import Write
from timeball.domain.dependencies.fan_out import NamedItems, answered_items, is_answered, item_id, to_named
from timeball.domain.model.ids import Origin, RunId
from timeball.domain.model.runs.run import Run, RunState

_READ_WITHIN_MS = 60_000
"""A writer has read the rows that it decides by at most this long before."""


def _fixed(story: Story) -> Iterator[tuple[Write[Run], RunId, NamedItems]]:
    """Yield each write that fixed a list of items, the run that named them, and the list."""
    for write in story.store.history.runs:
        fan, before = write.after.fan, write.before
        if fan is not None and fan.items is not None and (before is None or before.fan is None or not before.fan.items):
            yield write, fan.of, to_named(story.store.works[write.after.id.job, fan.items].payload)


def _the_items_are_those_that_the_target_named(story: Story) -> Iterator[str]:
    """The attempt with which the run ended named them, while it worked or in its answer. The run was over by then."""
    for write, of, named in _fixed(story):
        runs = _as_read(story, write, of)
        if named.items not in [_by_its_end(story, run) for run in runs if run.is_terminal]:
            yield f"{write}: {named.items}, and {runs}"


def _as_read(story: Story, write: Write[Run], run_id: RunId) -> list[Run]:
    """Return a run in all states in which the writer may have read it: it may have been rerun since."""
    before = story.store.history.run_at(run_id, write.at - _READ_WITHIN_MS)
    later = [one for one in story.store.history.of_run(run_id) if write.at - _READ_WITHIN_MS < one.at <= write.at]
    return [*([] if before is None else [before]), *(one.after for one in later)]


def _by_its_end(story: Story, run: Run) -> tuple[str, ...]:
    posted = NamedItems() if run.named is None else to_named(story.store.works[run.id.job, run.named].payload)
    answered = answered_items(run.last.body if run.last else None) if is_answered(run) else []
    return posted.with_more(answered or []).items


def _acknowledged_items_are_among_the_items(story: Story) -> Iterator[str]:
    """The list has all items that were acknowledged to the attempt with which the run ended."""
    for write, of, named in _fixed(story):
        attempts = {run.attempt for run in _as_read(story, write, of)}
        for by, attempt, items in story.receiver.named:
            if by == of and attempts == {attempt} and not {*items} <= {*named.items}:
                yield f"{write} lacks {items}"


def _items_that_an_attempt_names_are_kept(story: Story) -> Iterator[str]:
    """Until another attempt begins lists only grow."""
    for write in story.store.history.runs:
        before, after = write.before, write.after
        if before is None or before.named in (None, after.named) or after.attempt != before.attempt:
            continue
        old, new = (
            () if name is None else to_named(story.store.works[after.id.job, name].payload).items
            for name in (before.named, after.named)
        )
        if new[: len(old)] != old:
            yield str(write)


def _a_run_of_an_item_is_called_with_that_item(story: Story) -> Iterator[str]:
    """If its cycle was rerun, an item is called with what it was before, or is now."""
    items: dict[RunId, list[str | None]] = {}
    for write, _, named in _fixed(story):
        for number, text in enumerate(named.items, 1):
            items.setdefault(item_id(write.after.id, number), []).append(text)
    for run in story.store.runs:
        if run.origin is Origin.DEPENDENCY and run not in items:
            yield f"{run} is the run of no item"
    for arrival in story.receiver.arrivals:
        is_item = arrival.run.origin is Origin.DEPENDENCY
        if is_item and own_payload(arrival.payload) not in items.get(arrival.run, []):
            yield f"{arrival} should have {items.get(arrival.run)}"


def _a_run_with_items_ends_as_these_do(story: Story) -> Iterator[str]:
    history = story.store.history
    for write in history.runs:
        before, after = write.before, write.after
        if before is None or after.fan is None or not after.fan.count or before.state is after.state:
            continue
        items = [history.run_at(item_id(after.id, number), write.at) for number in range(1, after.fan.count + 1)]
        states = [None if item is None else item.state for item in items]
        if after.state is RunState.SUCCEEDED and after.marked_succeeded is None and {*states} != {RunState.SUCCEEDED}:
            yield f"{write}, its items: {states}"
        if after.state is RunState.FAILED and None in states:
            yield f"{write}, its items: {states}"


def _a_cycle_that_runs_again_runs_its_items_again(story: Story) -> Iterator[str]:
    """Each item that the cycle then has runs before the cycle succeeds."""
    history = story.store.history
    for write in history.runs:
        fan = write.after.fan
        if (
            fan is None
            or fan.since is None
            or write.after.state is not RunState.SUCCEEDED
            or write.after.marked_succeeded
        ):
            continue
        items = [history.run_at(item_id(write.after.id, number), write.at) for number in range(1, fan.count + 1)]
        if any(item and (item.budget_at or item.created_at) < fan.since for item in items):
            yield f"{write}, its items: {items}"


def _a_head_run_that_failed_with_an_item_is_mended_with_it(story: Story) -> Iterator[str]:
    for run in story.store.runs.values():
        if run.fan is None or run.state is not RunState.FAILED or not run.fan.count or run.due_at is not None:
            continue  # the run has no dead items, or is about to be evaluated
        items = [story.store.runs.get(item_id(run.id, number)) for number in range(1, run.fan.count + 1)]
        if all(item is not None and item.state is RunState.SUCCEEDED for item in items):
            yield f"{run}, and all of its items have succeeded"


PROMISES = (
    _the_items_are_those_that_the_target_named,
    _acknowledged_items_are_among_the_items,
    _items_that_an_attempt_names_are_kept,
    _a_run_of_an_item_is_called_with_that_item,
    _a_run_with_items_ends_as_these_do,
    _a_cycle_that_runs_again_runs_its_items_again,
    _a_head_run_that_failed_with_an_item_is_mended_with_it,
)
