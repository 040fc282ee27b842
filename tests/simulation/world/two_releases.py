"""Rows of jobs and runs as two releases write them, side by side in one table.

The code is the adapter's own, over a table in memory. The former release reads the shapes of the next one, and writes
its own. Each process changes from one to the other and back, as in a deployment that is rolled back and repeated. The
store holds each row as today's code reads it, so it lacks whatever a release has lost.
"""

import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from random import Random
from typing import Any, cast

from tests.rows import releases
from tests.rows.releases import MARK
from tests.simulation.world.process import acting_name
from tests.simulation.world.store import Blur, LaggingJobs, LaggingMemory, LaggingRuns, LaggingStore
from timeball.aws.dynamodb.collections import DynamoWorks
from timeball.aws.dynamodb.jobs import DynamoJobs, DynamoRuns
from timeball.aws.dynamodb.table.collection import TableAccess
from timeball.aws.dynamodb.table.keys import Key
from timeball.aws.dynamodb.table.mapper import Mapper
from timeball.aws.dynamodb.table.shapes import NewerRowError
from timeball.aws.dynamodb.table.writes import Insert, Write, Written
from timeball.domain.model.ids import JobKey, RunId
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.runs.run import Run
from timeball.domain.time.instants import MINUTE_MS, SECOND_MS
from timeball.ports.rows import Swap
from timeball.testing.memory_rows import Memory
from timeball.testing.virtual_clock import VirtualClock

Item = dict[str, Any]
_TURNS = 3
"""The deployments of the next release, of which all but the last are rolled back."""


class RawTable:
    """The rows of a table, and what it does with a write. It notes what was lost and who could not read."""

    def __init__(self) -> None:
        self.rows: dict[tuple[str, str], Item] = {}
        self.lost: list[str] = []
        self.refused: list[str] = []

    def get(self, keys: Sequence[Key], *, strong: bool = True) -> list[Item | None]:  # noqa: ARG002 - all reads are strong
        """Return each row."""
        return [self.rows.get((key["pk"], key["sk"])) for key in keys]

    def write(self, writes: Sequence[Write]) -> list[Written]:
        """Do each write if its condition holds."""
        return [self._insert(one.item) if isinstance(one, Insert) else self._update(one) for one in writes]

    def _insert(self, item: Item) -> Written:
        standing = self.rows.setdefault((item["pk"], item["sk"]), item)
        return Written(standing is item, None if standing is item else standing)

    def _update(self, write: Any) -> Written:
        name = write.key["pk"], write.key["sk"]
        row = self.rows.get(name)
        if row is None or any(row.get(one) != value for one, value in write.where.items()):
            return Written(done=False, row=row)
        after = {one: value for one, value in {**row, **write.set}.items() if one not in write.remove}
        if MARK in row and after.get(MARK) != row[MARK]:
            self.lost.append(f"{name} lost its {MARK}")
        self.rows[name] = after
        return Written(done=True)


class TwoReleases:
    """One table, which process has which release at an instant, and the collections of each release."""

    def __init__(self, seed: int, begins_at: int) -> None:
        self.seed, self.table = seed, RawTable()
        self._draw = Random(f"the deployments of {seed}")
        self._turns = sorted(begins_at + self._draw.randrange(2 * MINUTE_MS) for _ in range(2 * _TURNS - 1))
        self._ids = itertools.count(1)
        self._after_ms: dict[str, int] = {}

    def is_next(self, process: str, at: int) -> bool:
        """Return whether a process has the next release: it changes up to half a minute after each deployment."""
        late_ms = self._after_ms.setdefault(process, Random(f"{process} of {self.seed}").randrange(30 * SECOND_MS))
        return sum(turn + late_ms <= at for turn in self._turns) % 2 == 1

    def is_next_now(self, memory: Memory) -> bool:
        """Return whether the process whose work is being done has the next release."""
        assert isinstance(memory, LaggingMemory)
        return self.is_next(acting_name(), memory.clock.now())

    @contextmanager
    def noting(self) -> Iterator[None]:
        """Note that a process cannot read a row."""
        try:
            yield
        except NewerRowError as newer:
            self.table.refused.append(f"{acting_name()}: {newer}")
            raise

    def collections(self, make: Callable[[TableAccess], Any]) -> tuple[Any, Any]:
        """Return the same collection of the former release, and of the next one."""
        table: Any = self.table
        both = (releases.FORMER, releases.NEXT)
        accesses = [
            TableAccess(table, table, Mapper(), cast("Any", None), lambda: f"{next(self._ids)}", shapes)
            for shapes in both
        ]
        former, following = map(make, accesses)
        return former, following


class ReleasesOfJobs(LaggingJobs):
    """The jobs, of which each process reads and writes the rows with the code of its release."""

    def __init__(self, memory: Memory, both: TwoReleases) -> None:
        super().__init__(memory)
        self._both = both
        self._coded = both.collections(lambda access: DynamoJobs(access, DynamoWorks(access)))

    def write(self, key: JobKey, after: Job, now: int, write_id: int = 0) -> None:
        """Store a row as today's code reads it after the acting process has written it."""
        mine = self._coded[self._both.is_next_now(self._memory)]
        (before,) = mine.read([key], with_work=True)
        mine.swap([Swap(before, after)], now) if before else mine.insert([after], now)
        (read,) = self._coded[1].read([key], with_work=True)
        super().write(key, read, now, write_id)

    def read(self, keys: Sequence[JobKey], *, strong: bool = True, with_work: bool = False) -> list[Job | None]:
        """Return each row as the acting process reads it; an old one as it was stored."""
        if is_blurred(self._memory, strong=strong):
            return super().read(keys, strong=strong, with_work=with_work)
        mine = self._coded[self._both.is_next_now(self._memory)]
        with self._both.noting():
            read: list[Job | None] = mine.read(keys, with_work=with_work)
        return read


class ReleasesOfRuns(LaggingRuns):
    """The runs, of which each process reads and writes the rows with the code of its release."""

    def __init__(self, memory: Memory, both: TwoReleases) -> None:
        super().__init__(memory)
        self._both = both
        self._coded = both.collections(DynamoRuns)

    def write(self, key: RunId, after: Run, now: int, write_id: int = 0) -> None:
        """Store a row as today's code reads it after the acting process has written it."""
        mine = self._coded[self._both.is_next_now(self._memory)]
        (before,) = mine.read([key])
        mine.swap([Swap(before, after)], now) if before else mine.insert([after], now)
        (read,) = self._coded[1].read([key])
        super().write(key, read, now, write_id)

    def read(self, keys: Sequence[RunId], *, strong: bool = True) -> list[Run | None]:
        """Return each row as the acting process reads it; an old one as it was stored."""
        if is_blurred(self._memory, strong=strong):
            return super().read(keys, strong=strong)
        mine = self._coded[self._both.is_next_now(self._memory)]
        with self._both.noting():
            read: list[Run | None] = mine.read(keys)
        return read


def is_blurred(memory: Memory, *, strong: bool) -> bool:
    """Return whether a read may return an old row."""
    return isinstance(memory, LaggingMemory) and memory.lags and memory.blur.reads_are_old and not strong


def store_of_two_releases(seed: int, clock: VirtualClock, random: Random, blur: Blur) -> LaggingStore:
    """Return a store that two releases share."""
    both = TwoReleases(seed, clock.now())
    store = LaggingStore(
        clock, random, blur, lambda memory: ReleasesOfJobs(memory, both), lambda memory: ReleasesOfRuns(memory, both)
    )
    store.lost, store.refused = both.table.lost, both.table.refused
    store.versions = lambda: {row.get("v", 1) for row in both.table.rows.values()}
    return store
