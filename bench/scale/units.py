"""Capacity units of the jobs table and of its due index: the price of a write, and which writes are throttled.

A write is refused as a whole if its row, or the row's entry in the due index, has no units left: a throttled index
refuses its table's write. Each partition has its own units. No unit is saved up for longer than a second.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from bench.scale.placement import partition_of
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.runs.run import Run
from timeball.domain.time.instants import SECOND_MS
from timeball.ports.rows import Swap


@dataclass
class Tokens:
    """A bucket that fills by `rate` a second, up to `most` (by default a second's worth)."""

    rate: float
    most: float = 0.0
    left: float = field(default=0.0, init=False)
    at: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.most = self.left = self.most or self.rate

    def has(self, amount: float, now: int) -> bool:
        """Say whether so many tokens are left now."""
        self.left = min(self.most, self.left + (now - self.at) * self.rate / SECOND_MS)
        self.at = now
        return self.left >= amount

    def take(self, amount: float) -> None:
        """Take tokens."""
        self.left -= amount


@dataclass(frozen=True)
class Units:
    """The units of a write: in the table's partition of its row, and in the due index's partition of its shard."""

    table: int
    index: int = 0
    shard: int = 0
    row: str = ""


def units_of(write: object) -> Units:
    """Return the units of an insert or a swap of a row; a changed index entry is removed and added.

    Rows are under 1 KB, as designed; attempts and other rows have no index entry here.
    """
    before, after = (write.before, write.after) if isinstance(write, Swap) else (None, write)
    if not isinstance(after, Job | Run):
        return Units(1, row=str(getattr(after, "key", "")))
    due_before = before.due_at if isinstance(before, Job | Run) else None
    entries = {due_before, after.due_at} - {None} if due_before != after.due_at else set()
    key = after.key if isinstance(after, Job) else after.id.job
    return Units(1, len(entries), after.shard, f"{key.tenant}#{key.job_id}")


@dataclass(frozen=True)
class Bounds:
    """The units a second of a table or an index: of the whole, and writes and reads of each partition."""

    writes: float
    reads: float
    writes_of: Sequence[float]
    reads_of: Sequence[float] = ()


@dataclass
class Table:
    """The jobs table and its due index: units a second of each as a whole, and of each of their partitions."""

    rows: Bounds
    index: Bounds
    partition_of_shard: Sequence[int]
    """The partition of each shard's key in the index; in the table a row's job decides."""
    used: defaultdict[tuple[str, int], float] = field(default_factory=lambda: defaultdict(float))
    """The units of each second, by where they were used."""
    refused: int = 0
    """The number of throttled writes."""

    def __post_init__(self) -> None:
        self._rows, self._index, self._reads = (
            Tokens(self.rows.writes),
            Tokens(self.index.writes),
            Tokens(self.rows.reads),
        )
        self._rows_of = [Tokens(rate) for rate in self.rows.writes_of]
        self._index_of = [Tokens(rate) if rate else None for rate in self.index.writes_of]
        self._index_reads = [Tokens(rate) if rate else None for rate in self.index.reads_of]

    def admit(self, writes: Sequence[object], now: int) -> list[bool]:
        """Say for each write whether there are units for it, and take them."""
        return [self._admits(units_of(write), now) for write in writes]

    def read(self, rows: float, now: int) -> float:
        """Take the units of a read; return how long (ms) it is retried until there are units."""
        self.used["reads", now // SECOND_MS] += rows
        return _wait_ms(self._reads, rows, now)

    def read_index(self, shard: int, units: float, now: int) -> float:
        """Take the units of a query of a shard; return how long (ms) it is retried until there are units."""
        self.used["reads", now // SECOND_MS] += units
        tokens = self._index_reads[self.partition_of_shard[shard]]
        return 0 if tokens is None else _wait_ms(tokens, units, now)

    def total(self, where: str) -> float:
        """Return all used units of the table, the index or a partition."""
        return sum(units for (name, _), units in self.used.items() if name == where)

    def highest(self, where: str) -> float:
        """Return the most units of the table, the index or a partition in a second."""
        return max((units for (name, _), units in self.used.items() if name == where), default=0)

    def fullest(self) -> float:
        """Return the used fraction of the index's fullest partition in its fullest second."""
        bounds = enumerate(self.index.writes_of)
        return max(self.highest(f"partition {number}") / rate for number, rate in bounds if rate)

    def fullest_of_rows(self) -> float:
        """Return the used fraction of the table's fullest partition in its fullest second."""
        return max(self.highest(f"rows {number}") / rate for number, rate in enumerate(self.rows.writes_of))

    def _admits(self, units: Units, now: int) -> bool:
        of_rows, of_index = partition_of(units.row, len(self._rows_of)), self.partition_of_shard[units.shard]
        slots = [(self._rows, units.table), (self._rows_of[of_rows], units.table), (self._index, units.index)]
        if (tokens_of_index := self._index_of[of_index]) is not None:
            slots.append((tokens_of_index, units.index))
        if not all(tokens.has(amount, now) for tokens, amount in slots if amount):
            self.refused += 1
            return False
        for tokens, amount in slots:
            tokens.take(amount)
        second = now // SECOND_MS
        self.used["table", second] += units.table
        self.used[f"rows {of_rows}", second] += units.table
        self.used["index", second] += units.index
        self.used[f"partition {of_index}", second] += units.index
        return True


def _wait_ms(tokens: Tokens, units: float, now: int) -> float:
    wait_ms = 0.0 if tokens.has(units, now) else (units - tokens.left) / tokens.rate * SECOND_MS
    tokens.take(units)
    return wait_ms
