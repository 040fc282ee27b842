"""Users' changes over DynamoDB: revisions beside their job's row, announcements in rows of a tenant.

An announcement is all key: when, which job, which version or run or other resource, and by which API key. A tenant's
announcements are spread over the shards of its listing, because one partition of the table takes a thousand writes a
second.
"""

from collections.abc import Iterator, Mapping, Sequence
from heapq import merge
from itertools import islice
from typing import Any

from timeball.aws.dynamodb.collections.works import DynamoWorks
from timeball.aws.dynamodb.table.collection import TableAccess
from timeball.aws.dynamodb.table.keys import (
    announcement_bound,
    announcements_of,
    revision_key,
)
from timeball.aws.dynamodb.table.mapper import to_announcement, to_revision
from timeball.aws.dynamodb.table.writes import Insert
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import shard_of
from timeball.domain.model.jobs.revision import Announcement, Revision, RevisionId
from timeball.ports.registers.changes import ChangesQuery


class DynamoChanges:
    """The revisions and announcements of one table."""

    def __init__(self, table: TableAccess, works: DynamoWorks) -> None:
        self._table, self._works = table, works
        self._shards = table.mapper.list_shards

    def note(self, notes: Sequence[Revision | Announcement], now: int) -> None:
        """Insert each note that does not exist."""
        mapper = self._table.mapper
        items = [
            mapper.of_revision(note, now) if isinstance(note, Revision) else mapper.of_announcement(note, now)
            for note in notes
        ]
        self._table.writer.write([Insert(item) for item in items])

    def read(self, ids: Sequence[RevisionId], *, whole: bool = False) -> list[Revision | None]:
        """Return each revision that is kept."""
        rows = self._table.reader.get([revision_key(one) for one in ids])
        found = [to_revision(row) if row else None for row in rows]
        return self._completed(found, rows) if whole else found

    def of_job(self, newest: RevisionId, limit: int) -> list[Revision]:
        """Return a job's revisions, from one backwards."""
        first, last = revision_key(evolve(newest, version=0)), revision_key(newest)
        rows = self._table.reader.backwards(last["pk"], first["sk"], last["sk"], limit)
        return [to_revision(row) for row in islice(rows, limit)]

    def announced(self, query: ChangesQuery) -> list[Announcement]:
        """Return announcements, from the shard of the queried job or from all shards."""
        shards = range(self._shards) if query.job is None else [shard_of(query.job, self._shards)]
        found = [self._of_shard(query, shard) for shard in shards]
        return list(islice(merge(*found, reverse=True), query.limit))

    def _of_shard(self, query: ChangesQuery, shard: int) -> Iterator[Announcement]:
        pk, after = announcements_of(query.tenant, shard), query.after
        last_at = query.to_at if after is None else min(query.to_at, after.at)
        if last_at < query.from_at:
            return
        first, last = announcement_bound(query.from_at), announcement_bound(last_at + 1)
        for row in self._table.reader.backwards(pk, first, last, query.limit):
            one = to_announcement(query.tenant, row)
            if after is None or one < after:
                yield one

    def _completed(
        self, revisions: Sequence[Revision | None], rows: Sequence[Mapping[str, Any] | None]
    ) -> list[Revision | None]:
        """Return revisions with the payloads from rows of their own, where these still exist."""
        lacking = {
            position: (one.spec.key, row["work_digest"])
            for position, (one, row) in enumerate(zip(revisions, rows, strict=True))
            if one is not None and row is not None and one.lacks_payload
        }
        works = dict(zip(lacking, self._works.read(list(lacking.values())), strict=True))
        return [
            evolve(one, spec=evolve(one.spec, work=work), lacks_payload=False)
            if one is not None and (work := works.get(position)) is not None
            else one
            for position, one in enumerate(revisions)
        ]
