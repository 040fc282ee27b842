"""The listing index: what a tenant has in some states, by its time, over all of the shards.

The index lags, and may name a row too long; whoever asks reads the rows. What has the same millisecond is told apart by
its identity, so all of that is read before a page ends among it.
"""

from collections.abc import Iterator, Sequence
from heapq import merge
from itertools import groupby, islice
from operator import itemgetter

from timeball.aws.dynamodb.table.keys import by_task_partition, list_partition, listed_of_row
from timeball.aws.dynamodb.table.queries import Reader
from timeball.aws.dynamodb.table.schema import BY_TASK, LISTING, Index
from timeball.domain.model.ids import JobKey, TaskKey
from timeball.ports.listing import Id, ListQuery

_FEWEST = 4


class Listing:
    """The listing of one table."""

    def __init__(self, reader: Reader, list_shards: int) -> None:
        self._reader, self._list_shards = reader, list_shards

    def page(self, kind: type[Id], states: Sequence[str], query: ListQuery[Id]) -> list[tuple[int, Id]]:
        """Return a page of what is in some states."""
        partitions = [
            list_partition(query.tenant, state, shard) for state in states for shard in range(self._list_shards)
        ]
        return self._page(kind, LISTING, partitions, query)

    def page_of_task(self, task: TaskKey, query: ListQuery[JobKey], *, is_open: bool) -> list[tuple[int, JobKey]]:
        """Return a page of a task's jobs, those that are open or those that have ended."""
        partitions = [by_task_partition(task, shard, is_open=is_open) for shard in range(self._list_shards)]
        return self._page(JobKey, BY_TASK, partitions, query)

    def _page(
        self, kind: type[Id], index: Index, partitions: Sequence[str], query: ListQuery[Id]
    ) -> list[tuple[int, Id]]:
        """Return a page. Of each partition little more is read than its part of that."""
        at_once = query.limit // len(partitions) + _FEWEST
        entries = [self._from_position(kind, index, partition, query, at_once) for partition in partitions]
        return list(islice(merge(*entries, reverse=not query.oldest_first), query.limit))

    def _from_position(
        self, kind: type[Id], index: Index, partition: str, query: ListQuery[Id], at_once: int
    ) -> Iterator[tuple[int, Id]]:
        """Yield what a partition names behind a position, in the order that was asked for."""
        first_at, last_at, after = query.from_at, query.to_at, query.after
        if after is not None and query.oldest_first:
            first_at = max(first_at, after[0])
        elif after is not None:
            last_at = min(last_at, after[0])
        if first_at > last_at:
            return
        rows = self._reader.listed(index, partition, first_at, last_at, at_once, forward=query.oldest_first)
        for at, same in groupby(rows, itemgetter("listed_at")):
            named = [owner for row in same if isinstance(owner := listed_of_row(row["pk"], row["sk"]), kind)]
            for one in sorted(((at, owner) for owner in named), reverse=not query.oldest_first):
                if after is None or (one > after if query.oldest_first else one < after):
                    yield one
