"""The capacity units a second for which the jobs table and its indexes are made ready."""

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
}
"""The units made ready for a run, in the second in which it is due, of the jobs table and of each index.

A recurring run is inserted, claimed and ended, and its job moves on. The job is read twice, the run once, and one read
looks for runs that stand already. Its due entry takes two units, and twice as many are made ready: the keys of the
shards are few, and fall unevenly on the partitions. A one-off is listed when it is created, in three indexes if it
names a task, and leaves that of open jobs when it ends; a failed one stands there among others.
"""

NEW = Units(writes=4_000, reads=12_000)
"""AWS makes a new table or index ready for so many by itself."""


def ready_for(name: str, runs_per_second: int) -> Units:
    """Return what a table or an index is ready for, of so many runs a second: AWS's default, or more."""
    each = _PER_RUN.get(name, Units(writes=0))
    writes, reads = each.writes * runs_per_second, each.reads * runs_per_second
    return Units(max(writes, NEW.writes), max(reads, NEW.reads))
