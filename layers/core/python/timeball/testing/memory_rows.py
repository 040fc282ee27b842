"""Rows in memory: a dictionary of values, in which each write is atomic under the lock of its store; and the due index.

`answers_to_lose` makes the next conditional writes happen twice, as if the first answer were lost and the write
repeated. The due index has its entries by shard, and by the UTC day of their due time or of their writing.
"""

import threading
from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import partial
from operator import attrgetter
from typing import Any, Generic, TypeVar

from timeball.domain.backfill import Backfill
from timeball.domain.model.ids import JobKey, LimiterKey, OperationKey, RunId
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.runs.limiter import Limiter
from timeball.domain.model.runs.run import Run
from timeball.domain.operation import Operation
from timeball.domain.time.instants import DAY_MS
from timeball.ports.due_index import DueCursor, DuePage, DueQuery, Owned, tenant_of
from timeball.ports.rows import Row, Swap, Swapped


class Buckets:
    """The buckets of the due index; `entries` holds (shard, day, due instant in ms) by owner."""

    def __init__(self) -> None:
        self.entries: dict[Owned, tuple[int, int, int]] = {}
        self._buckets: dict[tuple[int, int], dict[Owned, tuple[int, str, Owned]]] = {}

    def put(self, key: Owned, due_at: int | None, shard: int, now: int) -> None:
        """Set the instant for which a row waits, in place of an earlier one; None removes the row."""
        if key in self.entries:
            old_shard, day, _ = self.entries.pop(key)
            del self._buckets[old_shard, day][key]
        if due_at is not None:
            day = max(due_at, now) // DAY_MS
            self.entries[key] = (shard, day, due_at)
            self._buckets.setdefault((shard, day), {})[key] = (due_at, _name(key), key)

    def page(self, query: DueQuery) -> DuePage:
        """Return the due entries, ordered by instant and then by name."""
        entries = self._buckets.get((query.shard, query.day_at // DAY_MS), {})
        ready = sorted(entry for entry in entries.values() if entry[0] <= query.through_at)
        start = 0 if query.after is None else bisect_right(ready, _order(query.after), key=lambda entry: entry[:2])
        examined = ready[start : start + query.limit]
        stopped = DueCursor(examined[-1][0], examined[-1][2]) if len(examined) == query.limit else None
        return DuePage(tuple(key for *_, key in examined if tenant_of(key) not in query.left_out), stopped)


def _order(cursor: DueCursor) -> tuple[int, str]:
    return cursor.due_at, _name(cursor.owned)


def _name(owned: Owned) -> str:
    if isinstance(owned, JobKey):
        return f"{owned.tenant}#{owned.job_id}"
    if isinstance(owned, OperationKey):
        return f"{owned.tenant}#!!!{owned.name}"
    if isinstance(owned, LimiterKey):
        return f"{owned.tenant}#!${owned.name}"
    return f"{owned.job.tenant}#{owned if isinstance(owned, RunId) else f'{owned.job.job_id}/{owned.name}'}"


RowKey = TypeVar("RowKey")
_T = TypeVar("_T")


class Memory:
    """The state shared by the collections of one store: a lock, answers to lose, and a due index without lag."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.buckets = Buckets()
        self.answers_to_lose = 0
        self._writes = 0
        self._written_by: dict[tuple[type, object], int] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Return the state that outlives its process."""
        return {name: value for name, value in vars(self).items() if name != "lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, lock=threading.RLock())

    def repeatedly(self, write: Callable[[int], _T]) -> _T:
        """Do a write under an id of its own, and once more if its answer must be lost."""
        with self.lock:
            self._writes += 1
            answer = write(self._writes)
            if self.answers_to_lose > 0:
                self.answers_to_lose -= 1
                answer = write(self._writes)
            return answer

    def sign(self, write_id: int, key: object, row: object) -> None:
        """Note the write that a row is from; 0: a write that is not repeated."""
        self._written_by[type(row), key] = write_id

    def is_of(self, write_id: int, key: object, row: object) -> bool:
        """Return whether a standing row is from a write."""
        return self._written_by.get((type(row), key)) == write_id

    def written(self, key: object, before: object, after: object, now: int) -> None:
        """Update the due index after a row was written."""
        due_before = getattr(before, "due_at", None) if before else -1
        if (
            isinstance(key, Owned)
            and isinstance(after, (Job, Run, Backfill, Operation, Limiter))
            and due_before != after.due_at
        ):
            self.index(key, after.due_at, after.shard, now)

    def seen(self, key: object, row: Row | None, *, strong: bool) -> Row | None:  # noqa: ARG002 - all reads are strong here
        """Return a row as a read returns it."""
        return row

    def index(self, key: Owned, due_at: int | None, shard: int, now: int) -> None:
        """Set a row's entry in the due index, or (None) remove it."""
        self.buckets.put(key, due_at, shard, now)


class Locked(dict[RowKey, _T]):
    """A dictionary that all threads of a process share: the lock of its store guards it."""

    def __init__(self, memory: Memory) -> None:
        super().__init__()
        self._memory = memory


class MemoryRows(Locked[RowKey, Row], Generic[RowKey, Row]):
    """The rows of one kind, by their keys, which are in the field `key`."""

    def __init__(self, memory: Memory, key: str = "key") -> None:
        super().__init__(memory)
        self._key_of: Callable[[Row], RowKey] = attrgetter(key)

    def insert(self, rows: Sequence[Row], now: int) -> list[Row | None]:
        """Insert each row that does not exist."""
        return [self._memory.repeatedly(partial(self._insert, row, now)) for row in rows]

    def read(self, keys: Sequence[RowKey], *, strong: bool = True) -> list[Row | None]:
        """Return each row."""
        with self._memory.lock:
            return [self._memory.seen(key, self.get(key), strong=strong) for key in keys]

    def swap(self, swaps: Sequence[Swap[Row]], now: int) -> list[Swapped[Row]]:
        """Replace each row that is unchanged since it was read."""
        return [self._memory.repeatedly(partial(self._swap, swap, now)) for swap in swaps]

    def write(self, key: RowKey, after: Row, now: int, write_id: int = 0) -> None:
        """Store a row in place of any other; `write_id` identifies a write that may be repeated."""
        before, self[key] = self.get(key), after
        self._memory.sign(write_id, key, after)
        self._memory.written(key, before, after, now)

    def _insert(self, row: Row, now: int, write_id: int) -> Row | None:
        key = self._key_of(row)
        standing = self.get(key)
        if standing is None:
            self.write(key, row, now, write_id)
        return None if standing is None or self._memory.is_of(write_id, key, standing) else standing

    def _swap(self, swap: Swap[Row], now: int, write_id: int) -> Swapped[Row]:
        key, after = self._key_of(swap.before), swap.written
        standing = self.get(key)
        if standing is None:
            return Swapped(done=False, row=None)
        if standing.revision == swap.before.revision:
            self.write(key, after, now, write_id)
            return Swapped(done=True, row=after)
        return Swapped(self._memory.is_of(write_id, key, standing), standing)
