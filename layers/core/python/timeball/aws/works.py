"""Where a job's work stands: in the job's own row if it is small, else in a row of its own, named by its digest."""

from collections.abc import Sequence

from timeball.aws.encoding import to_work, work_digest, work_text
from timeball.aws.keys import Key, work_key
from timeball.aws.queries import Reader
from timeball.aws.rows import INLINE_WORK_BYTES, Item
from timeball.aws.writes import Insert, Update, Writer
from timeball.domain.ids import JobKey
from timeball.domain.instants import LATEST, SECOND_MS
from timeball.domain.job import Job, Work
from timeball.ports import UnavailableError

_NEVER = LATEST // SECOND_MS
"""When a row is forgotten that was once to be, in whole seconds."""


class Works:
    """The works of one table. A row of work is written before whatever names it, and never changed."""

    def __init__(self, writer: Writer, reader: Reader) -> None:
        self._writer, self._reader = writer, reader

    def place(self, jobs: Sequence[Job]) -> list[Item]:
        """Return the fields that a job's row has for its work; write the rows of large works first."""
        fields: list[Item] = []
        rows: list[Insert] = []
        for job in jobs:
            fields.append(work_fields(job))
            if "work_digest" in fields[-1]:
                rows.append(_row(job.key, _text(job)))
        self._write(rows, _NEVER)
        return fields

    def save(self, works: Sequence[tuple[JobKey, Work]], expires_at: int) -> list[str]:
        """Store each work in a row of its own, to be forgotten in whole seconds; return its name."""
        texts = [work_text(work) for _, work in works]
        rows = [_row(key, text) for (key, _), text in zip(works, texts, strict=True)]
        mortal = [Insert({**row.item, "expires_at": expires_at}) for row in rows]
        self._write(mortal, expires_at)
        return [work_digest(text) for text in texts]

    def texts(self, names: Sequence[tuple[JobKey, str]]) -> list[str | None]:
        """Return the text of each name."""
        rows = self._reader.get([work_key(key, digest) for key, digest in names])
        return [row["work"] if row else None for row in rows]

    def read(self, names: Sequence[tuple[JobKey, str]]) -> list[Work | None]:
        """Return the work of each name."""
        return [None if text is None else to_work(text) for text in self.texts(names)]

    def forget(self, names: Sequence[tuple[JobKey, str]], expires_at: int) -> None:
        """Let rows of work that nothing names any longer go in time."""
        self._writer.write([Update(work_key(key, digest), {}, {"expires_at": expires_at}) for key, digest in names])

    def _write(self, rows: Sequence[Insert], expires_at: int) -> None:
        """Insert each row; one that stands already is kept until then, if it was to be forgotten earlier."""
        inserted = self._writer.write(rows) if rows else []
        updates = [
            Update(_key(row), {"expires_at": [written.row["expires_at"]]}, {"expires_at": expires_at})
            for row, written in zip(rows, inserted, strict=True)
            if not written.done and written.row and written.row.get("expires_at", expires_at) < expires_at
        ]
        if updates and not all(written.done or written.row for written in self._writer.write(updates)):
            raise UnavailableError("a row of work was forgotten just now")


def work_fields(job: Job) -> Item:
    """Return the fields of a job's row that say where its work stands."""
    text = _text(job)
    if len(text.encode()) <= INLINE_WORK_BYTES:
        return {"work": text}
    return {"work_digest": work_digest(text)}


def _row(key: JobKey, text: str) -> Insert:
    return Insert({**work_key(key, work_digest(text)), "work": text})


def _key(row: Insert) -> Key:
    return {"pk": str(row.item["pk"]), "sk": str(row.item["sk"])}


def _text(job: Job) -> str:
    if job.work is None:
        raise ValueError(f"job {job.key.job_id} has no work")
    return work_text(job.work)
