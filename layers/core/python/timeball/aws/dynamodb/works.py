"""Where a job's work stands: in the job's own row if it is small, else in a row of its own, named by its digest."""

from collections.abc import Sequence

from timeball.aws.dynamodb.table.codec import Item, from_text, to_text
from timeball.aws.dynamodb.table.collection import Table
from timeball.aws.dynamodb.table.keys import Key, work_key
from timeball.aws.dynamodb.table.mapper import work_digest, work_fields
from timeball.aws.dynamodb.table.writes import Insert, Update
from timeball.domain.model.ids import JobKey
from timeball.domain.model.job import Job, Work
from timeball.domain.time.instants import DAY_MS, LATEST, SECOND_MS
from timeball.ports.errors import UnavailableError

_NEVER = LATEST // SECOND_MS
"""When a row is forgotten that was once to be, in whole seconds."""


class DynamoWorks:
    """The works of one table. A row of work is written before whatever names it, and never changed."""

    def __init__(self, table: Table) -> None:
        self._writer, self._reader, self._mapper = table.writer, table.reader, table.mapper

    def save(self, works: Sequence[tuple[JobKey, Work]], now: int) -> list[str]:
        """Store each work beside its job, for twice as long as a run that is over: until then it may be retried."""
        texts = [to_text(work) for _, work in works]
        expires_at = self._mapper.expiry(now + self._mapper.retention_days * DAY_MS)
        rows = [_row(key, text) for (key, _), text in zip(works, texts, strict=True)]
        self._write([Insert({**row.item, "expires_at": expires_at}) for row in rows], expires_at)
        return [work_digest(text) for text in texts]

    def read(self, names: Sequence[tuple[JobKey, str]]) -> list[Work | None]:
        """Return each work."""
        rows = self._reader.get([work_key(key, digest) for key, digest in names])
        return [from_text(Work, row["work"]) if row else None for row in rows]

    def place(self, jobs: Sequence[Job]) -> None:
        """Write the rows of those jobs' works that are too large for their own."""
        self._write(_large(jobs), _NEVER)

    def forget(self, jobs: Sequence[Job], now: int) -> None:
        """Let the rows of jobs' works go in time, if they have any: nothing names them any longer."""
        expiry: Item = {"expires_at": self._mapper.expiry(now)}
        self._writer.write([Update(_key(row), {}, expiry) for row in _large(jobs)])

    def _write(self, rows: Sequence[Insert], expires_at: int) -> None:
        """Insert each row; one that stands already is kept until then, if it was to be forgotten earlier."""
        inserted = self._writer.write(rows)
        updates = [
            Update(_key(row), {"expires_at": written.row["expires_at"]}, {"expires_at": expires_at})
            for row, written in zip(rows, inserted, strict=True)
            if not written.done and written.row and written.row.get("expires_at", expires_at) < expires_at
        ]
        if not all(written.done or written.row for written in self._writer.write(updates)):
            raise UnavailableError("a row of work was forgotten just now")


def _large(jobs: Sequence[Job]) -> list[Insert]:
    works = [(job.key, job.spec.work) for job in jobs if "work_digest" in work_fields(job.spec.work)]
    return [_row(key, to_text(work)) for key, work in works]


def _row(key: JobKey, text: str) -> Insert:
    return Insert({**work_key(key, work_digest(text)), "work": text})


def _key(row: Insert) -> Key:
    return {"pk": str(row.item["pk"]), "sk": str(row.item["sk"])}
