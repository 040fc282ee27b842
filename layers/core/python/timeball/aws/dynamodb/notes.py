"""Notes, former rows, links, users' changes and the signing secrets in DynamoDB.

The first note of a name stands. A link is a row of its owner, named by the job; its last note counts. The signing
secrets are the note of the first process that needs one, which a rotation replaces.

Revisions stand beside their job's row, announcements in rows of the tenant. An announcement is all key: when, which
job, which version or run or other resource, and by which API key. A tenant's announcements are spread over the shards
of its listing, because one partition of the table takes a thousand writes a second.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from heapq import merge
from itertools import islice
from typing import Any, Generic, TypeVar

from timeball.aws.dynamodb.collections import DynamoWorks
from timeball.aws.dynamodb.table.codec import Item, from_item, to_item
from timeball.aws.dynamodb.table.collection import TableAccess, rows_after
from timeball.aws.dynamodb.table.keys import (
    LAST,
    SIGNING,
    Key,
    Name,
    announcement_bound,
    announcements_of,
    former_key,
    revision_key,
)
from timeball.aws.dynamodb.table.mapper import to_announcement, to_revision
from timeball.aws.dynamodb.table.writes import Insert, Update
from timeball.domain.attempts.callback_token import SigningSecrets, rotated
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey, shard_of
from timeball.domain.model.jobs.calendar import CalendarKey
from timeball.domain.model.jobs.revision import Announcement, Revision, RevisionId
from timeball.domain.time.instants import DAY_MS, SECOND_MS
from timeball.ports.errors import UnavailableError
from timeball.ports.notes import ChangesQuery, Former, Noted

_Owner = TypeVar("_Owner", JobKey, CalendarKey)
_FormerOwner = TypeVar("_FormerOwner", str, CalendarKey)


class DynamoNotes(Generic[Name, Noted]):
    """The notes of one kind, a row each. `to_item` returns a note's attributes when it is written, in ms."""

    def __init__(
        self,
        table: TableAccess,
        key_of: Callable[[Name], Key],
        to_item: Callable[[Noted, int], Item],
        to_note: Callable[[dict[str, Any]], Noted],
    ) -> None:
        self._table = table
        self._key_of: Callable[[Name], Key] = key_of
        self._to_item: Callable[[Noted, int], Item] = to_item
        self._to_note: Callable[[dict[str, Any]], Noted] = to_note

    def note(self, notes: Sequence[tuple[Name, Noted]], now: int) -> list[Noted]:
        """Insert each note that does not exist."""
        inserts = [Insert({**self._key_of(name), **self._to_item(note, now)}) for name, note in notes]
        written = self._table.writer.write(inserts)
        return [
            note if one.done or one.row is None else self._to_note(one.row)
            for (_, note), one in zip(notes, written, strict=True)
        ]

    def read(self, names: Sequence[Name]) -> list[Noted | None]:
        """Read each note, strongly."""
        rows = self._table.reader.get([self._key_of(name) for name in names])
        return [self._to_note(row) if row else None for row in rows]


class DynamoFormerRows(Generic[_FormerOwner, Former]):
    """The former rows of one kind, beside those of their owner. They expire with the history, unless kept for good."""

    def __init__(
        self, table: TableAccess, of: type[Former], range_of: Callable[[_FormerOwner], Key], *, for_good: bool = False
    ) -> None:
        self._table, self._for_good = table, for_good
        self._of: type[Former] = of
        self._shape = table.shape_of(of)
        self._range_of: Callable[[_FormerOwner], Key] = range_of

    def note(self, rows: Sequence[tuple[_FormerOwner, Former]], now: int) -> None:
        """Insert each row that does not exist."""
        expiry: Item = {} if self._for_good else {"expires_at": self._table.mapper.history_expiry(now)}
        items: list[Item] = [
            self._shape.written({**former_key(self._range_of(owner), row.order), **to_item(row), **expiry})
            for owner, row in rows
        ]
        self._table.writer.write([Insert(item) for item in items])

    def of_owner(self, owner: _FormerOwner, limit: int, before: tuple[int, str] | None = None) -> list[Former]:
        """Return an owner's rows, from one backwards."""
        within = self._range_of(owner)
        last = within["sk"] + LAST if before is None else former_key(within, before)["sk"]
        rows = self._table.reader.backwards(within["pk"], within["sk"], last, limit + 1)
        found = islice((row for row in rows if row["sk"] < last), limit)
        return [from_item(self._of, self._shape.read(row)) for row in found]


class DynamoLinks(Generic[_Owner]):
    """The links of one kind: rows beside their owner's, named by the job, with the time of the note as `noted`.

    A forgotten link expires in a day, and is not returned any more; until then it may be noted again.
    """

    def __init__(self, table: TableAccess, key_of: Callable[[_Owner, JobKey], Key], noted: str) -> None:
        self._table, self._noted = table, noted
        self._key_of: Callable[[_Owner, JobKey], Key] = key_of

    def note(self, links: Sequence[tuple[_Owner, JobKey]], now: int) -> None:
        """Insert each link that does not exist; renew the others."""
        noted: Item = {self._noted: now}
        keys = [self._key_of(*link) for link in links]
        inserted = self._table.writer.write([Insert({**key, **noted}) for key in keys])
        old = [key for key, written in zip(keys, inserted, strict=True) if not written.done]
        renewed = self._table.writer.write([Update(key, {}, noted, ("expires_at",)) for key in old])
        if not all(written.done for written in renewed):
            raise UnavailableError("a link has just expired")

    def of_owner(self, owner: _Owner, after: str = "", limit: int | None = None) -> list[tuple[JobKey, int]]:
        """Return an owner's links after a job's id."""
        prefix = self._key_of(owner, JobKey(owner.tenant, ""))
        rows = rows_after(self._table.reader, prefix, after)
        standing = islice((row for row in rows if "expires_at" not in row), limit)
        return [(JobKey(owner.tenant, row["sk"].removeprefix(prefix["sk"])), row[self._noted]) for row in standing]

    def children(self, owners: Sequence[_Owner]) -> list[list[JobKey]]:
        """Return the jobs of each owner; all owners are queried at the same time."""
        return [[job for job, _ in links] for links in self._table.threads.map(self.of_owner, owners)]

    def forget(self, links: Sequence[tuple[_Owner, JobKey]], noted_before: int, now: int) -> None:
        """Let each link that is old enough expire, unless it is noted again just now."""
        wanted = {*links}
        expiry: Item = {"expires_at": (now + DAY_MS) // SECOND_MS}
        self._table.writer.write(
            [
                Update(self._key_of(owner, job), {self._noted: noted_at}, expiry)
                for owner in dict.fromkeys(owner for owner, _ in links)
                for job, noted_at in self.of_owner(owner)
                if (owner, job) in wanted and noted_at < noted_before
            ]
        )


class DynamoChanges:
    """The revisions and announcements of one table."""

    def __init__(self, table: TableAccess, works: DynamoWorks) -> None:
        self._table, self._works = table, works
        self._shards = table.mapper.list_shards
        self._revisions, self._announcements = table.shape_of(Revision), table.shape_of(Announcement)

    def note(self, notes: Sequence[Revision | Announcement], now: int) -> None:
        """Insert each note that does not exist."""
        mapper = self._table.mapper
        items = [
            self._revisions.written(mapper.of_revision(note, now))
            if isinstance(note, Revision)
            else self._announcements.written(mapper.of_announcement(note, now))
            for note in notes
        ]
        self._table.writer.write([Insert(item) for item in items])

    def read(self, ids: Sequence[RevisionId], *, whole: bool = False) -> list[Revision | None]:
        """Return each revision that is kept."""
        stored = self._table.reader.get([revision_key(one) for one in ids])
        rows = [row and self._revisions.read(row) for row in stored]
        found = [to_revision(row) if row else None for row in rows]
        return self._completed(found, rows) if whole else found

    def of_job(self, newest: RevisionId, limit: int) -> list[Revision]:
        """Return a job's revisions, from one backwards."""
        first, last = revision_key(evolve(newest, version=0)), revision_key(newest)
        rows = self._table.reader.backwards(last["pk"], first["sk"], last["sk"], limit)
        return [to_revision(self._revisions.read(row)) for row in islice(rows, limit)]

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
            one = to_announcement(query.tenant, self._announcements.read(row))
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


class DynamoSigning:
    """The row that has the secrets."""

    def __init__(self, table: TableAccess) -> None:
        self._table = table

    def secrets(self, fresh: str) -> SigningSecrets:
        """Return the stored secrets; read first, because mostly they exist."""
        (row,) = self._table.reader.get([SIGNING])
        if row is None:
            (written,) = self._table.writer.write([Insert({**SIGNING, "v": 1, "secret": fresh})])
            row = {"secret": fresh} if written.done or written.row is None else written.row
        return _to_secrets(row)

    def rotate(self, fresh: str, now: int) -> SigningSecrets:
        """Make another secret the newest. Of two rotations at once the second is refused, and finds the first."""
        before = self.secrets(fresh)
        after = None if before.newest == fresh else rotated(before, fresh, now)
        if after is None:
            return before
        changes: Item = {"secret": after.newest, "before": before.newest, "rotated_at": now}
        (written,) = self._table.writer.write([Update(SIGNING, {"secret": before.newest}, changes)])
        if written.done:
            return after
        return self.secrets(fresh) if written.row is None else _to_secrets(written.row)


def _to_secrets(row: dict[str, Any]) -> SigningSecrets:
    before = row.get("before")
    return SigningSecrets(str(row["secret"]), None if before is None else str(before), int(row.get("rotated_at", 0)))
