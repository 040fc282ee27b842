"""Capacity units of the jobs table and of its due index: what a write takes, and who is throttled.

A write is refused as a whole if its row, or the entry of its row in the due index, finds no units left: an index that
is throttled refuses its table's write. Each partition has units of its own. None is saved up for longer than a second.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from bench.scale.placement import partition_of
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.runs.run import Run
from timeball.domain.time.instants import SECOND_MS
from timeball.ports.collections.rows import Swap


@dataclass
class Tokens:
    """A bucket that fills by `rate` a second, up to `most` (a second's worth, if nothing is said)."""

    rate: float
    most: float = 0.0
    left: float = field(default=0.0, init=False)
    at: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.most = self.left = self.most or self.rate

    def has(self, amount: float, now: int) -> bool:
        """Say whether so much is there now."""
        self.left = min(self.most, self.left + (now - self.at) * self.rate / SECOND_MS)
        self.at = now
        return self.left >= amount

    def take(self, amount: float) -> None:
        """Take what is there."""
        self.left -= amount


@dataclass(frozen=True)
class Units:
    """What one write takes: of the table's partition in which a row stands, and of a shard's one in the due index."""

    table: int
    index: int = 0
    shard: int = 0
    row: str = ""


def units_of(write: object) -> Units:
    """Return what an insert or a swap of a row takes. A changed entry of an index is one that goes and one that comes.

    Rows are under 1 KB, as they are to be; attempts and other rows stand in no index here.
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
    """What a table, or an index, takes: units a second of all, and writes and reads of each partition."""

    writes: float
    reads: float
    writes_of: Sequence[float]
    reads_of: Sequence[float] = ()


@dataclass
class Table:
    """The jobs table and its due index: units a second of each as a whole, and of each of their partitions.

    `partition_of_shard` tells where a shard's key stands in the index; rows stand by their job in the table. `used` are
    the units of each second by where, `refused` the writes that were throttled.
    """

    rows: Bounds
    index: Bounds
    partition_of_shard: Sequence[int]
    used: defaultdict[tuple[str, int], float] = field(default_factory=lambda: defaultdict(float))
    refused: int = 0

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
        """Say of each write whether it has its units, and take those."""
        return [self._admits(units_of(write), now) for write in writes]

    def read(self, rows: float, now: int) -> float:
        """Take the units of a read; return how long (ms) it is asked again until there are any."""
        self.used["reads", now // SECOND_MS] += rows
        return _wait_ms(self._reads, rows, now)

    def read_index(self, shard: int, units: float, now: int) -> float:
        """Take the units of a query of a shard; return how long (ms) it is asked again until there are any."""
        self.used["reads", now // SECOND_MS] += units
        tokens = self._index_reads[self.partition_of_shard[shard]]
        return 0 if tokens is None else _wait_ms(tokens, units, now)

    def total(self, where: str) -> float:
        """Return all units of a place."""
        return sum(units for (name, _), units in self.used.items() if name == where)

    def highest(self, where: str) -> float:
        """Return the most units of a second of a place."""
        return max((units for (name, _), units in self.used.items() if name == where), default=0)

    def fullest(self) -> float:
        """Return how much of a partition of the index was used in the fullest second, of the fullest partition."""
        bounds = enumerate(self.index.writes_of)
        return max(self.highest(f"partition {number}") / rate for number, rate in bounds if rate)

    def fullest_of_rows(self) -> float:
        """Return how much of a partition of the table was used in the fullest second, of the fullest partition."""
        return max(self.highest(f"rows {number}") / rate for number, rate in enumerate(self.rows.writes_of))

    def _admits(self, units: Units, now: int) -> bool:
        of_rows, of_index = partition_of(units.row, len(self._rows_of)), self.partition_of_shard[units.shard]
        places = [(self._rows, units.table), (self._rows_of[of_rows], units.table), (self._index, units.index)]
        if (tokens_of_index := self._index_of[of_index]) is not None:
            places.append((tokens_of_index, units.index))
        if not all(tokens.has(amount, now) for tokens, amount in places if amount):
            self.refused += 1
            return False
        for tokens, amount in places:
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
