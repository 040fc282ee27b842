"""The number of partitions may change at any time: each tick gives it, so the newest loop has every shard."""

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from tests.engine.play import NOW, Play, spec
from timeball.domain.time.instants import SECOND_MS
from timeball.domain.time.schedule import At
from timeball.engine.context import Rules
from timeball.engine.scanning.buckets import Sweeps
from timeball.engine.scanning.scan import scan
from timeball.ports.due_index import DuePage, DueQuery, Owner
from timeball.testing.memory_kept import MemoryDueIndex
from timeball.testing.memory_rows import Memory
from timeball.testing.memory_store import MemoryStore

SHARDS = 5


class AskedIndex(MemoryDueIndex):
    """A due index that notes which shards were queried."""

    def __init__(self, memory: Memory) -> None:
        super().__init__(memory)
        self.asked: set[int] = set()

    def query(self, queries: Sequence[DueQuery]) -> list[DuePage]:
        self.asked |= {query.shard for query in queries}
        return super().query(queries)


@dataclass(frozen=True)
class Loop:
    """One partition's loop of an execution that began with a number of partitions."""

    execution: str
    partition: int
    partitions: int


def _loops(execution: str, partitions: int) -> list[Loop]:
    return [Loop(execution, partition, partitions) for partition in range(partitions)]


# Columns: how many partitions the executions "1", "2" ... began with, the newest last; which loops go on.
HANDOVERS: dict[str, tuple[tuple[int, ...], list[Loop]]] = {
    "as many as before": ((2, 2), _loops("2", 2)),
    "more: the newest has the numbers of the older": ((1, 2), _loops("2", 2)),
    "many more": ((2, 5), _loops("2", 5)),
    "fewer: what the newest does not count goes on, and does its work twice": (
        (2, 1),
        [Loop("1", 1, 2), *_loops("2", 1)],
    ),
    "one less": ((4, 3), [Loop("1", 3, 4), *_loops("2", 3)]),
    "one that was started late with the count of before is the newest": (
        (3, 2, 3),
        _loops("3", 3),
    ),
    "one that was started late with fewer": ((1, 2, 1), [Loop("2", 1, 2), *_loops("3", 1)]),
}


@pytest.mark.parametrize("case", HANDOVERS)
@pytest.mark.parametrize("is_newest_first", [True, False])
def test_in_every_second_of_a_handover_each_shard_is_scanned_and_each_fire_runs_once(
    case: str, *, is_newest_first: bool
) -> None:
    counts, left = HANDOVERS[case]
    play = Play(MemoryStore(due=AskedIndex), rules=Rules(shards=SHARDS))
    due = play.store.due
    assert isinstance(due, AskedIndex)
    play.store_jobs(spec(f"job-{number}", At(NOW + number * SECOND_MS // 4)) for number in range(60))
    loops: list[Loop] = []
    for execution, partitions in enumerate(counts, start=1):
        begun = _loops(str(execution), partitions)
        loops = _tick(play, due, [*begun, *loops] if is_newest_first else [*loops, *begun])
    for _ in range(12):
        loops = _tick(play, due, loops)
    assert sorted(loops, key=str) == left
    play.drain()
    assert len(play.caller.calls) == len({call.run for _, call in play.caller.calls}) == 60


def _tick(play: Play, due: AskedIndex, loops: Sequence[Loop]) -> list[Loop]:
    """Let each loop scan, in one second, and assert that all shards were scanned. Return the loops that go on."""
    due.asked.clear()
    going_on = []
    for loop in loops:
        owner = Owner(loop.execution, "name")
        if not scan(play.context(), loop.partition, owner, Sweeps(), loop.partitions).superseded:
            going_on.append(loop)
    assert due.asked == {*range(SHARDS)}
    play.clock.advance(SECOND_MS)
    return going_on
