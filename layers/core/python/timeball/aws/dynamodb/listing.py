"""The listing indexes: what a tenant has, by its time, over all of the shards.

The index lags, and may name a row for too long; the caller reads the rows. Entries of the same millisecond are ordered
by their identity, so all of them are read before a page ends among them.
"""

from collections.abc import Iterator, Mapping, Sequence
from heapq import merge, nsmallest
from itertools import groupby, islice
from operator import itemgetter
from typing import Any

from timeball.aws.dynamodb.table.collection import DynamoRows, RowKind, TableAccess
from timeball.aws.dynamodb.table.keys import (
    by_task_partition,
    job_of,
    list_partition,
    listed_of_row,
    notable_partition,
    owner_of_row,
)
from timeball.aws.dynamodb.table.listing_shards import position_of, strata
from timeball.aws.dynamodb.table.queries import TableReader
from timeball.aws.dynamodb.table.schema import BY_STATE, BY_TASK, LISTING, NOTABLE, Index
from timeball.domain.model.ids import JobKey, RunId, TaskKey
from timeball.domain.model.runs.run import RunState
from timeball.domain.time.instants import LATEST
from timeball.domain.usage.spending import Estimate, estimated, goes_on
from timeball.ports.rows import Id, ListQuery, Row

_FEWEST = 4
_SAMPLED_AT_ONCE = 5_000


class Listing:
    """The listing of one table."""

    def __init__(self, reader: TableReader, list_shards: int) -> None:
        self._reader, self._list_shards = reader, list_shards

    def page(
        self, kind: type[Id], states: Sequence[str], query: ListQuery[Id], index: Index = LISTING
    ) -> list[tuple[int, Id]]:
        """Return a page of the entries in some states."""
        partitions = {
            list_partition(query.tenant, state, stratum.name): stratum.share / len(states)
            for state in states
            for stratum in strata(self._list_shards)
        }
        return self._page(kind, index, partitions, query)

    def count(self, tenant: str, state: str, index: Index = LISTING) -> Estimate:
        """Count a tenant's entries in a state, or estimate the number from the first strata."""
        counted, share = 0, 0.0
        for stratum in strata(self._list_shards):
            if share and not goes_on(counted, share, stratum.share):
                return estimated(counted, share)
            counted += self._reader.count(index, list_partition(tenant, state, stratum.name))
            share = stratum.end
        return estimated(counted, share)

    def count_older(self, tenant: str, state: str, before_at: int, most: int) -> int:
        """Count a tenant's jobs in a state since before an instant (ms), and stop once there are `most`."""
        counted = 0
        for stratum in strata(self._list_shards):
            if counted < most:
                partition = list_partition(tenant, state, stratum.name)
                counted += self._reader.count(BY_STATE, partition, before_at - 1, most - counted)
        return counted

    def sample(self, tenant: str, state: str, most: int) -> list[JobKey]:
        """Return a fair sample of a tenant's jobs in a state: those with the lowest hashes, or all if they are few.

        The strata are ordered by hash, so no more of them are read than needed.
        """
        found: list[JobKey] = []
        for stratum in strata(self._list_shards):
            if len(found) >= most:
                break
            partition = list_partition(tenant, state, stratum.name)
            rows = self._reader.listed(BY_STATE, partition, 0, LATEST, _SAMPLED_AT_ONCE, forward=True)
            found += [job_of(row["pk"]) for row in rows]
        return nsmallest(most, found, key=lambda job: position_of(tenant, job.job_id))

    def page_of_task(self, task: TaskKey, query: ListQuery[JobKey]) -> list[tuple[int, JobKey]]:
        """Return a page of a task's jobs."""
        shards = range(self._list_shards)
        partitions = {by_task_partition(task, shard): 1 / len(shards) for shard in shards}
        return self._page(JobKey, BY_TASK, partitions, query)

    def rows_of_runs(self, states: Sequence[RunState], query: ListQuery[RunId]) -> list[dict[str, Any]]:
        """Return a page of the notable runs in some states, as whole rows."""
        shards = range(self._list_shards)
        partitions = [notable_partition(query.tenant, state, shard) for state in states for shard in shards]
        entries = [self._rows_from_position(partition, query, len(partitions)) for partition in partitions]
        merged = groupby(merge(*entries, key=_position_of_run, reverse=not query.oldest_first), _position_of_run)
        return [next(same) for _, same in islice(merged, query.limit)]

    def _rows_from_position(self, partition: str, query: ListQuery[RunId], of: int) -> Iterator[dict[str, Any]]:
        """Yield the whole rows of one `of` several partitions after a position, in the order of the query.

        A partition is read little further than its part of the page: rows cost more than names.
        """
        first_at, last_at = query.span
        if first_at > last_at:
            return
        at_once, more = query.limit // of + _FEWEST, max(_FEWEST, query.limit // of // _FEWEST)
        rows = self._reader.listed(
            NOTABLE, partition, first_at, last_at, at_once, forward=query.oldest_first, following=more
        )
        for _, same in groupby(rows, itemgetter(NOTABLE.sort.name)):
            following = (row for row in same if query.is_next(_position_of_run(row)))
            yield from sorted(following, key=_position_of_run, reverse=not query.oldest_first)

    def _page(
        self, kind: type[Id], index: Index, partitions: Mapping[str, float], query: ListQuery[Id]
    ) -> list[tuple[int, Id]]:
        """Return a page from partitions with their shares. Little more of each is read than its part of the page.

        An entry that moves from one partition to another may be in both for a while; it is in a page once.
        """
        entries = [
            self._from_position(kind, index, partition, query, int(query.limit * share) + _FEWEST)
            for partition, share in partitions.items()
        ]
        merged = groupby(merge(*entries, reverse=not query.oldest_first))
        return [one for one, _ in islice(merged, query.limit)]

    def _from_position(
        self, kind: type[Id], index: Index, partition: str, query: ListQuery[Id], at_once: int
    ) -> Iterator[tuple[int, Id]]:
        """Yield the entries of a partition after a position, in the order of the query."""
        first_at, last_at = query.span
        if first_at > last_at:
            return
        rows = self._reader.listed(index, partition, first_at, last_at, at_once, forward=query.oldest_first)
        for at, same in groupby(rows, itemgetter("listed_at")):
            named = [owner for row in same if isinstance(owner := listed_of_row(row["pk"], row["sk"]), kind)]
            yield from filter(query.is_next, sorted(((at, owner) for owner in named), reverse=not query.oldest_first))


def _position_of_run(row: Mapping[str, Any]) -> tuple[int, RunId]:
    run = owner_of_row(row["pk"], row["sk"])
    if not isinstance(run, RunId):
        raise TypeError(f"{row['pk']} is among the notable runs, and no run")
    return row[NOTABLE.sort.name], run


class DynamoListedRows(DynamoRows[Id, Row]):
    """Rows that are listed in a state that stands for all of their kind."""

    def __init__(self, table: TableAccess, kind: RowKind[Id, Row], names: type[Id], state: str) -> None:
        super().__init__(table, kind)
        self._names, self._state = names, state
        self._listing = Listing(table.reader, table.mapper.list_shards)

    def listed(self, query: ListQuery[Id]) -> list[tuple[int, Id]]:
        """Return what the listing index names."""
        return self._listing.page(self._names, [self._state], query)
