"""The dead letters of a tenant, as the listing index names them: by when they died, over all of its shards.

The index lags, and may name a run too long; whoever asks reads the rows. Runs that died in the same millisecond are
told apart by their identity, so all of them are read before a page ends among them.
"""

from collections.abc import Iterator
from heapq import merge
from itertools import groupby, islice

from timeball.aws.dynamodb.table.keys import dead_partition, owner_of_row
from timeball.aws.dynamodb.table.queries import Reader
from timeball.aws.dynamodb.table.schema import LISTING
from timeball.domain.model.ids import RunId
from timeball.ports.runs import DeadQuery

_Dead = tuple[int, RunId]


class DeadLetters:
    """The dead letters of one table."""

    def __init__(self, reader: Reader, list_shards: int) -> None:
        self._reader, self._list_shards = reader, list_shards

    def page(self, query: DeadQuery) -> list[_Dead]:
        """Return a page."""
        latest_first = not query.oldest_first
        shards = [self._of_shard(query, shard) for shard in range(self._list_shards)]
        merged = merge(*shards, key=_died_at, reverse=latest_first)
        ordered = (one for _, same in groupby(merged, _died_at) for one in sorted(same, reverse=latest_first))
        return list(islice((one for one in ordered if _is_behind(query, one)), query.limit))

    def _of_shard(self, query: DeadQuery, shard: int) -> Iterator[_Dead]:
        """Yield those of a shard, from the instant on at which the page before ended."""
        first_at, last_at = query.from_at, query.to_at
        if query.after is not None and query.oldest_first:
            first_at = max(first_at, query.after[0])
        elif query.after is not None:
            last_at = min(last_at, query.after[0])
        if first_at > last_at:
            return
        partition, page = dead_partition(query.tenant, shard), query.limit + 1
        for row in self._reader.listed(LISTING, partition, first_at, last_at, page, forward=query.oldest_first):
            run = owner_of_row(row["pk"], row["sk"])
            if isinstance(run, RunId):
                yield row["listed_at"], run


def _died_at(one: _Dead) -> int:
    return one[0]


def _is_behind(query: DeadQuery, one: _Dead) -> bool:
    return query.after is None or (one > query.after if query.oldest_first else one < query.after)
