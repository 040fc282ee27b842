"""A store that keeps a history of all that is written to it, and whose due index and listing lag.

The history tells a checker who did what when.
"""

from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from itertools import count
from random import Random
from typing import Any

from tests.simulation.world.history import History, Write
from tests.simulation.world.process import acting_name
from timeball.domain.backfills.backfill import Backfill
from timeball.domain.model.ids import JobKey, RunId, TaskKey
from timeball.domain.model.jobs.freeze import Freezes
from timeball.domain.model.jobs.job import Job, JobStatus
from timeball.domain.model.jobs.task import Task
from timeball.domain.model.runs.run import Run
from timeball.domain.model.terms.calendar import Calendar
from timeball.domain.model.terms.flow import Named
from timeball.domain.operations.operation import Operation
from timeball.domain.time.instants import LATEST, SECOND_MS
from timeball.ports.collections.listing import ListQuery
from timeball.ports.collections.runs import LedgerPage, LedgerQuery
from timeball.ports.registers.due_index import DuePage, DueQuery, Owned
from timeball.testing.memory_collections import MemoryJobs, MemoryRuns
from timeball.testing.memory_kept import MemoryDueIndex
from timeball.testing.memory_rows import Memory
from timeball.testing.memory_store import MemoryStore
from timeball.testing.virtual_clock import VirtualClock

LONGEST_LAG_MS = 10 * SECOND_MS

_READING_MS = 2_000
"""How long a page of the listing is read, which is of many partitions."""


class LaggingMemory(Memory):
    """A memory that notes each write, and whose due index follows by up to ten seconds, key by key in order."""

    def __init__(self, clock: VirtualClock, random: Random) -> None:
        super().__init__()
        self.lags = True
        self.history = History()
        self.live: dict[RunId, Run] = {}
        self.moving: dict[JobKey, int] = {}
        self.clock, self._random = clock, random
        self._coming: list[tuple[int, int, Callable[[], None]]] = []
        self._last_seen: dict[Owned, int] = {}
        self._order = count()

    def catch_up(self) -> None:
        """Let the index show what has reached it by now."""
        now = self.clock.now()
        while self._coming and self._coming[0][0] <= now:
            heappop(self._coming)[2]()

    def written(self, key: Any, before: Any, after: object, now: int) -> None:
        """Note who wrote what, and let the index follow."""
        super().written(key, before, after, now)
        at, by = self.clock.now(), acting_name()
        self.history.named += [(at, before, after)] if isinstance(after, Named) else []
        if isinstance(after, Job):
            self.history.note_job(Write(at, by, before, after))
            if before is not None and before.status is not after.status:
                self.moving[after.key] = at
        elif isinstance(after, Task) and isinstance(key, TaskKey):
            self.history.note_task(Write(at, by, before, after))
        elif isinstance(after, Backfill):
            self.history.backfills.append(Write(at, by, before, after))
        elif isinstance(after, Freezes):
            self.history.note_freezes(at, after)
        elif isinstance(after, Calendar):
            self.history.calendars[after.key].append((at, after))
        elif isinstance(after, Operation):
            self.history.operations.append(Write(at, by, before, after))
        elif isinstance(after, Run):
            self.history.note_run(Write(at, by, before, after))
            self.live.pop(after.id, None)
            if not after.is_terminal:
                self.live[after.id] = after

    def index(self, key: Owned, due_at: int | None, shard: int, now: int) -> None:
        """Let a row stand in the due index after a while."""
        lag_ms = self._random.choice((0, 0, 0, 50, 50, LONGEST_LAG_MS)) if self.lags else 0
        seen_at = max(self.clock.now() + lag_ms, self._last_seen.get(key, 0))
        self._last_seen[key] = seen_at
        index = super().index
        heappush(self._coming, (seen_at, next(self._order), lambda: index(key, due_at, shard, now)))


class LaggingIndex(MemoryDueIndex):
    """A due index that answers from what has reached it; with its first question a scan begins."""

    def __init__(self, memory: Memory) -> None:
        super().__init__(memory)
        assert isinstance(memory, LaggingMemory)
        self._lagging = memory

    def query(self, queries: Sequence[DueQuery]) -> list[DuePage]:
        if queries and not any(query.after for query in queries):
            self._lagging.history.note_scan(acting_name())
        self._lagging.catch_up()
        return super().query(queries)


class LaggingJobs(MemoryJobs):
    """Jobs whose listing is read partition by partition: one that moves meanwhile is in neither."""

    def listed(self, statuses: Sequence[JobStatus], query: ListQuery[JobKey]) -> list[tuple[int, JobKey]]:
        """Leave out, once, whatever has just moved from one status to another."""
        assert isinstance(self._memory, LaggingMemory)
        moving, now = self._memory.moving, self._memory.clock.now()
        named = super().listed(statuses, query)
        missed = {key for _, key in named if self._memory.lags and now - moving.get(key, -LATEST) <= _READING_MS}
        for key in missed:
            del moving[key]
        return [one for one in named if one[1] not in missed]


class NotedRuns(MemoryRuns):
    """Runs of which it is noted who looks into a job's ledger."""

    def ledger(self, query: LedgerQuery) -> LedgerPage:
        """Return a page, and note who asks for it."""
        assert isinstance(self._memory, LaggingMemory)
        looks = self._memory.history.looks[acting_name(), query.job, query.from_at]
        looks.append((self._memory.clock.now(), query.to_at or LATEST))
        return super().ledger(query)


class LaggingStore(MemoryStore):
    """A store whose due index lags; its `past` is all that was written to it."""

    def __init__(self, clock: VirtualClock, random: Random) -> None:
        self.past = LaggingMemory(clock, random)
        super().__init__(self.past, jobs=LaggingJobs, runs=NotedRuns, due=LaggingIndex)

    @property
    def history(self) -> History:
        return self.past.history
