"""Capacity units of the jobs table and of its due index: what a write takes, and who is throttled.

A write is refused as a whole if its row, or the entry of its row in the due index, finds no units left: an index that
is throttled refuses its table's write. No unit is saved up for longer than a second.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from bench.scale.limits import INDEX_PARTITION_UNITS
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
    """What one write takes: of the table, and of one shard's place in the due index."""

    table: int
    index: int = 0
    shard: int = 0


def units_of(write: object) -> Units:
    """Return what an insert or a swap of a row takes. A changed entry of an index is one that goes and one that comes.

    Rows are under 1 KB, as they are to be; attempts and other rows stand in no index here.
    """
    before, after = (write.before, write.after) if isinstance(write, Swap) else (None, write)
    if not isinstance(after, Job | Run):
        return Units(1)
    due_before = before.due_at if isinstance(before, Job | Run) else None
    entries = {due_before, after.due_at} - {None} if due_before != after.due_at else set()
    return Units(1, len(entries), after.shard)


@dataclass
class Table:
    """The jobs table: units a second of it and of its due index as a whole; each shard's have a limit of their own.

    `used` are the units of each second by where, `refused` the writes that were throttled.
    """

    writes: float
    reads: float
    used: Counter[tuple[str, int]] = field(default_factory=Counter)
    refused: int = 0

    def __post_init__(self) -> None:
        self._table, self._index, self._reads = Tokens(self.writes), Tokens(self.writes), Tokens(self.reads)
        self._shards: dict[int, Tokens] = {}

    def admit(self, writes: Sequence[object], now: int) -> list[bool]:
        """Say of each write whether it has its units, and take those."""
        return [self._admits(units_of(write), now) for write in writes]

    def read(self, rows: float, now: int) -> float:
        """Take the units of a read; return how long (ms) it is asked again until there are any."""
        wait_ms = 0.0
        if not self._reads.has(rows, now):
            wait_ms = (rows - self._reads.left) / self.reads * SECOND_MS
        self._reads.take(rows)
        self.used["reads", now // SECOND_MS] += round(rows)
        return wait_ms

    def total(self, where: str) -> int:
        """Return all units of a place."""
        return sum(units for (name, _), units in self.used.items() if name == where)

    def highest(self, where: str) -> int:
        """Return the most units of a second of a place."""
        return max((units for (name, _), units in self.used.items() if name == where), default=0)

    def _admits(self, units: Units, now: int) -> bool:
        shard = self._shards.setdefault(units.shard, Tokens(INDEX_PARTITION_UNITS))
        places = [(self._table, units.table), (self._index, units.index), (shard, units.index)]
        if not all(tokens.has(amount, now) for tokens, amount in places if amount):
            self.refused += 1
            return False
        for tokens, amount in places:
            tokens.take(amount)
        second = now // SECOND_MS
        self.used["table", second] += units.table
        self.used["index", second] += units.index
        self.used[f"shard {units.shard}", second] += units.index
        return True
