"""Users' changes over DynamoDB: revisions beside their job's row, announcements in rows of a tenant.

An announcement is all key: when, which job, which version or run or other resource, and by which API key. A tenant's
announcements are spread over the shards of its listing, because one partition of the table takes a thousand writes a
second.

The edges over DynamoDB: rows in the parent's item collection, named by the child.

A forgotten edge expires in a day, and is not returned any more; until then it may be noted again.

When clients' requests took effect, and when events were accepted, over DynamoDB: the first note stands.
"""

from collections.abc import Iterator, Mapping, Sequence
from heapq import merge
from itertools import islice
from typing import Any

from timeball.aws.dynamodb.collections import DynamoWorks
from timeball.aws.dynamodb.table.codec import Item
from timeball.aws.dynamodb.table.collection import TableAccess
from timeball.aws.dynamodb.table.keys import (
    CHILD,
    LAST,
    announcement_bound,
    announcements_of,
    edge_key,
    event_key,
    job_key,
    request_key,
    revision_key,
)
from timeball.aws.dynamodb.table.mapper import to_announcement, to_revision
from timeball.aws.dynamodb.table.writes import Insert, Update
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey, shard_of
from timeball.domain.model.jobs.revision import Announcement, Revision, RevisionId
from timeball.domain.model.terms.dependency import Edge
from timeball.domain.time.instants import DAY_MS, SECOND_MS
from timeball.ports.errors import UnavailableError
from timeball.ports.notes import ChangesQuery


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


class DynamoEdges:
    """The edges of one table."""

    def __init__(self, table: TableAccess) -> None:
        self._table = table

    def note(self, edges: Sequence[Edge], now: int) -> None:
        """Insert each edge that does not exist; renew the others."""
        noted: Item = {"noted_at": now}
        inserted = self._table.writer.write([Insert({**edge_key(one), **noted}) for one in edges])
        old = [edge_key(one) for one, written in zip(edges, inserted, strict=True) if not written.done]
        renewed = self._table.writer.write([Update(key, {}, noted, ("expires_at",)) for key in old])
        if not all(written.done for written in renewed):
            raise UnavailableError("an edge has just expired")

    def children(self, parents: Sequence[JobKey]) -> list[list[JobKey]]:
        """Return the children of each parent; all parents are queried at the same time."""
        return list(self._table.threads.map(lambda parent: [edge.child for edge, _ in self._edges(parent)], parents))

    def forget(self, edges: Sequence[Edge], noted_before: int, now: int) -> None:
        """Let each edge that is old enough expire, unless it is noted again just now."""
        wanted = {*edges}
        expiry: Item = {"expires_at": (now + DAY_MS) // SECOND_MS}
        self._table.writer.write(
            [
                Update(edge_key(edge), {"noted_at": noted_at}, expiry)
                for parent in dict.fromkeys(edge.parent for edge in edges)
                for edge, noted_at in self._edges(parent)
                if edge in wanted and noted_at < noted_before
            ]
        )

    def _edges(self, parent: JobKey) -> Iterator[tuple[Edge, int]]:
        rows = self._table.reader.between(job_key(parent)["pk"], CHILD, CHILD + LAST)
        for row in rows:
            if "expires_at" not in row:
                yield Edge(parent, JobKey(parent.tenant, row["sk"].removeprefix(CHILD))), row["noted_at"]


class DynamoRequests:
    """The requests of one table."""

    def __init__(self, table: TableAccess) -> None:
        self._table = table

    def remember(self, job: JobKey, request: str, at: int, now: int) -> int:
        """Note when a request took effect; the first note stands."""
        note: Item = {**request_key(job, request), "at": at, "expires_at": self._table.mapper.expiry(now)}
        written = self._table.writer.write([Insert(note)])[0]
        return at if written.done or written.row is None else int(written.row["at"])

    def noted(self, job: JobKey, request: str) -> int | None:
        """Read the note, strongly."""
        (row,) = self._table.reader.get([request_key(job, request)])
        return None if row is None else int(row["at"])

    def take_events(self, tenant: str, names: Sequence[str], now: int) -> list[int]:
        """Note when events were accepted. The first note stands until DynamoDB has removed it, after a day or more."""
        kept: Item = {"at": now, "expires_at": (now + DAY_MS) // SECOND_MS}
        notes = [Insert({**event_key(tenant, name), **kept}) for name in names]
        written = self._table.writer.write(notes)
        return [now if one.done or one.row is None else int(one.row["at"]) for one in written]
