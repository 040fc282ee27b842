"""The promises of limiters' lines: their order, the runs that stand in them, and that no slot stays free."""

from collections import defaultdict
from collections.abc import Iterator

from tests.simulation.story import MOST_SKEW_MS, Story
from timeball.domain.model.ids import LimiterKey, RunId
from timeball.domain.model.runs.limiter import Limiter
from timeball.domain.model.runs.run import Part, Run
from timeball.domain.sharing.limiter import SETTLES_MS


def _what_is_under_way_or_over_waits_in_no_line(story: Story) -> Iterator[str]:
    for write in story.store.history.runs:
        if write.after.waiting is not None and (write.after.owner is not None or write.after.is_terminal):
            yield str(write)


def _a_line_is_served_in_its_order(story: Story) -> Iterator[str]:
    """No run that comes later gets a slot before a run that has long been in the line.

    A limiter that names a run gives it the slot. A run may be seen in the line when the index shows it, and scans look:
    while they stand still and a look is overdue, others go on without one.
    """
    stood = _standing(story)
    for key, rows in story.store.history.limiters.items():
        before: set[RunId] = set()
        for at, row in rows:
            named = {one.run for one in row.begun}
            is_looked_at = row.due_at is None or at < row.due_at + SETTLES_MS
            for run in named - before if is_looked_at else ():
                yield from _passed(story, stood[key], row, run, at)
            before = named


def _passed(story: Story, stood: list[tuple[int, int, Run]], row: Limiter, run: RunId, at: int) -> Iterator[str]:
    """Yield the runs that a run passes which a limiter names from an instant on."""
    standing = story.store.history.run_at(run, at)
    named = {one.run for one in row.begun}
    for since_at, until, other in stood if standing is not None else ():
        is_seen = since_at + SETTLES_MS + MOST_SKEW_MS < at < until - MOST_SKEW_MS
        if is_seen and standing is not None and other.place_in_line < standing.place_in_line and other.id not in named:
            yield f"{standing} passes {other}, which has stood in the line of {row.key} since {since_at}, at {at}"


def _standing(story: Story) -> dict[LimiterKey, list[tuple[int, int, Run]]]:
    """Return who stood in the line for each limiter's slots, from when until when."""
    stood: dict[LimiterKey, list[tuple[int, int, Run]]] = defaultdict(list)
    begun: dict[RunId, tuple[int, Run]] = {}
    for write in story.store.history.runs:
        after, standing = write.after, begun.pop(write.after.id, None)
        waits = after.stands_in_line and after.waiting is not None and after.waiting.part is Part.PLACE
        if standing is not None and waits and standing[1].waiting == after.waiting:
            begun[after.id] = standing
            continue
        if standing is not None and standing[1].waiting is not None:
            key = LimiterKey(after.id.job.tenant, standing[1].waiting.name)
            stood[key].append((standing[0], write.at, standing[1]))
        if waits:
            begun[after.id] = write.at, after
    return stood


def _no_slot_stays_free_while_a_run_waits_for_it(story: Story) -> Iterator[str]:
    yield from story.idle_slots.values()


PROMISES = (
    _what_is_under_way_or_over_waits_in_no_line,
    _a_line_is_served_in_its_order,
    _no_slot_stays_free_while_a_run_waits_for_it,
)
