"""Promises about limiters' lines: their order, the runs that stand in them, and that no slot or token stays unused."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from tests.simulation.story import MOST_SKEW_MS, Story
from timeball.domain.model.ids import LimiterKey, RunId
from timeball.domain.model.runs.limiter import Limiter
from timeball.domain.model.runs.run import Permit, Run
from timeball.domain.sharing.slots_and_tokens import SETTLES_MS
from timeball.domain.time.instants import MINUTE_MS


def _no_run_that_is_under_way_or_over_stands_in_a_line(story: Story) -> Iterator[str]:
    for write in story.store.history.runs:
        if write.after.waiting is not None and (write.after.owner is not None or write.after.is_terminal):
            yield str(write)


@dataclass(frozen=True)
class _Stay:
    """A run's time in a line, from `since_at` until `until` (ms): its row while it stood there, and as it left."""

    since_at: int
    until: int
    run: Run
    after: Run

    @property
    def shown_at(self) -> int:
        """The instant (ms) from which the index of the line must show the run."""
        return self.since_at + SETTLES_MS + MOST_SKEW_MS

    def lasts_long_at(self, at: int) -> bool:
        """Return whether the index must show the run at an instant, and the run stays in the line after it."""
        return self.shown_at < at < self.until - MOST_SKEW_MS


def _a_line_is_served_in_its_order(story: Story) -> Iterator[str]:
    """No later run gets a slot before a run that a check of the line has found, or should have found.

    A limiter that names a run gives it the slot. While scans stand still no process checks the line, and runs that come
    then get slots.
    """
    stays = _stays(story, Permit.SLOT)
    for key, rows in story.store.history.limiters.items():
        before: Limiter | None = None
        looked_at = 0
        for at, row in rows:
            known_at = at if row.due_at is None else looked_at
            for run in _named(row) - _named(before):
                yield from _passed(story, stays[key], row, run, at, known_at)
            looked_at = at if before is not None and _is_look(before, row, at) else looked_at
            before = row
    yield from _passed_for_turns(story)


def _named(row: Limiter | None) -> set[RunId]:
    return {one.run for one in row.begun} if row is not None else set()


def _is_look(before: Limiter, after: Limiter, at: int) -> bool:
    """Return whether a write follows a check of the line: only a check makes the next one due later than it was."""
    if before.due_at is None or after.due_at is None:
        return after.due_at is None
    return after.due_at > max(before.due_at, at + MOST_SKEW_MS)


def _passed(story: Story, stays: list[_Stay], row: Limiter, run: RunId, at: int, known_at: int) -> Iterator[str]:
    """Yield the runs that a newly named run passes, of those that the check at `known_at` must show."""
    standing = story.store.history.run_at(run, at)
    for stay in stays if standing is not None else ():
        is_behind = standing is not None and stay.run.line_order < standing.line_order
        is_known = stay.lasts_long_at(at) and stay.shown_at < known_at
        if is_known and is_behind and stay.run.id not in _named(row):
            yield f"{standing} passes {stay.run}, in the line of {row.key} since {stay.since_at}, at {at}"


def _passed_for_turns(story: Story) -> Iterator[str]:
    """Yield the runs in lines for tokens that later runs passed in the calm. Before the calm calls get lost."""
    quiet_at = story.ends_at + MINUTE_MS
    for key, stays in _stays(story, Permit.TOKEN).items():
        called = [one for one in stays if one.until > quiet_at and not one.after.is_terminal]
        for one, other in product(called, stays):
            if other.lasts_long_at(one.until) and other.run.line_order < one.run.line_order:
                yield f"{one.run} passes {other.run}, in the line of {key} since {other.since_at}, at {one.until}"


def _stays(story: Story, permit: Permit) -> dict[LimiterKey, list[_Stay]]:
    """Return the stays of runs in the line of each limiter for its slots, or for its tokens."""
    stays = defaultdict[LimiterKey, list[_Stay]](list)
    begun: dict[RunId, tuple[int, Run]] = {}
    for write in story.store.history.runs:
        after, standing = write.after, begun.pop(write.after.id, None)
        waits = after.stands_in_line and after.waiting is not None and after.waiting.permit is permit
        if standing is not None and waits and standing[1].waiting == after.waiting:
            begun[after.id] = standing
            continue
        if standing is not None and standing[1].waiting is not None:
            key = LimiterKey(after.id.job.tenant, standing[1].waiting.name)
            stays[key].append(_Stay(standing[0], write.at, standing[1], after))
        if waits:
            begun[after.id] = write.at, after
    return stays


def _no_slot_stays_free_while_a_run_waits_for_it(story: Story) -> Iterator[str]:
    yield from story.idle_slots.values()


def _turns_are_given_while_a_run_waits_for_one(story: Story) -> Iterator[str]:
    yield from story.idle_turns.values()


PROMISES = (
    _no_run_that_is_under_way_or_over_stands_in_a_line,
    _a_line_is_served_in_its_order,
    _no_slot_stays_free_while_a_run_waits_for_it,
    _turns_are_given_while_a_run_waits_for_one,
)
