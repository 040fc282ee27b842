"""The capacity units a second for which the jobs table and its indexes are pre-warmed."""

from dataclasses import dataclass

from timeball.aws.dynamodb.table import schema


@dataclass(frozen=True)
class Units:
    """Capacity units a second."""

    writes: int
    reads: int = 0


_PER_RUN = {
    schema.JOBS.name: Units(writes=4, reads=4),
    schema.DUE.name: Units(writes=4),
    schema.LISTING.name: Units(writes=1),
    schema.BY_STATE.name: Units(writes=2),
    schema.BY_TASK.name: Units(writes=1),
    schema.NOTABLE.name: Units(writes=1),
}
"""The capacity units for each run in the second in which it is due, for the jobs table and each index.

A recurring run is inserted, claimed and ended, and its job advances. The job is read twice, the run once, and one read
finds existing runs. Its due entry takes two units, and twice as many are pre-warmed, because the index has few shards
as keys, which spread unevenly over its partitions. A one-off is listed when it is created, in three indexes if it names
a task, and leaves the index of open jobs when it ends; a failed one is listed there as failed. A failed run enters the
index of notable runs.
"""

NEW = Units(writes=4_000, reads=12_000)
"""The units for which AWS pre-warms a new table or index by itself."""


def ready_for(name: str, runs_per_second: int) -> Units:
    """Return the units for which a table or an index must be warm: AWS's default, or more for so many runs a second."""
    each = _PER_RUN.get(name, Units(writes=0))
    writes, reads = each.writes * runs_per_second, each.reads * runs_per_second
    return Units(max(writes, NEW.writes), max(reads, NEW.reads))
