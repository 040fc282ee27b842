"""Attempts and works over DynamoDB: rows of their own beside a job's, because its row would be too large with them.

A finished attempt has its row under its run's name. A job's work is in the job's own row if it is small; otherwise its
row is named by its digest.
"""

from collections.abc import Sequence
from typing import Any

from timeball.aws.dynamodb.table.codec import Item, from_text, to_text
from timeball.aws.dynamodb.table.collection import TableAccess
from timeball.aws.dynamodb.table.keys import LAST, attempt_key, attempts_prefix, run_key, work_key
from timeball.aws.dynamodb.table.mapper import to_work, work_digest, work_fields, work_text
from timeball.aws.dynamodb.table.writes import Insert, Update
from timeball.domain.model.ids import JobKey, RunId
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.runs.values import Attempt
from timeball.domain.model.terms.policies import Work
from timeball.domain.time.instants import DAY_MS, LATEST, SECOND_MS
from timeball.ports.errors import UnavailableError

_NEVER = LATEST // SECOND_MS
"""When the row of a job's work expires, in whole seconds, unless the job gets other work."""


class DynamoAttempts:
    """The attempts of one table."""

    def __init__(self, table: TableAccess) -> None:
        self._table = table
        self._shape = table.shape_of(Attempt)

    def insert(self, attempts: Sequence[tuple[RunId, Attempt]], now: int) -> list[Attempt | None]:
        """Store each attempt in a row of its own, unless it is stored already."""
        written = self._table.writer.write(
            [Insert({**attempt_key(run, attempt.number), **self._fields(attempt, now)}) for run, attempt in attempts]
        )
        standing = [None if answer.row is None else self._attempt_in(answer.row) for answer in written]
        return [None if found == attempt else found for (_, attempt), found in zip(attempts, standing, strict=True)]

    def replace(self, attempts: Sequence[tuple[RunId, Attempt]], now: int) -> None:
        """Overwrite the row of each attempt."""
        self._table.writer.write(
            [Update(attempt_key(run, attempt.number), {}, self._fields(attempt, now)) for run, attempt in attempts]
        )

    def of_run(self, run: RunId) -> list[Attempt]:
        """Return the stored attempts of a run, by number."""
        prefix = attempts_prefix(run)
        rows = self._table.reader.between(run_key(run)["pk"], prefix, prefix + LAST)
        return [self._attempt_in(row) for row in rows]

    def _attempt_in(self, row: dict[str, Any]) -> Attempt:
        attempt: Attempt = from_text(Attempt, self._shape.read(row)["attempt"])
        return attempt

    def _fields(self, attempt: Attempt, now: int) -> Item:
        return self._shape.written({"attempt": to_text(attempt), "expires_at": self._table.mapper.expiry(now)})


class DynamoWorks:
    """The works of one table. A row of work is written before any row names it, and never changes."""

    def __init__(self, table: TableAccess) -> None:
        self._writer, self._reader, self._mapper = table.writer, table.reader, table.mapper
        self._shape = table.shape_of(Work)

    def save(self, works: Sequence[tuple[JobKey, Work]], now: int) -> list[str]:
        """Store each work beside its job, for twice as long as an ended run: until then the run may be retried."""
        texts = [(key, work_text(work)) for key, work in works]
        self._write(texts, self._mapper.expiry(now + self._mapper.retention_days * DAY_MS))
        return [work_digest(text) for _, text in texts]

    def read(self, names: Sequence[tuple[JobKey, str]]) -> list[Work | None]:
        """Return each work."""
        rows = self._reader.get([work_key(key, digest) for key, digest in names])
        return [to_work(self._shape.read(row)["work"]) if row else None for row in rows]

    def store_new(self, jobs: Sequence[Job]) -> None:
        """Write the rows of works that are too large for their jobs' rows."""
        self._write(_large(jobs), _NEVER)

    def forget(self, jobs: Sequence[Job], now: int) -> None:
        """Let the rows of jobs' works expire in time, if they have any: only revisions name them by now."""
        expiry: Item = {"expires_at": max(self._mapper.expiry(now), self._mapper.history_expiry(now))}
        self._writer.write([Update(work_key(key, work_digest(text)), {}, expiry) for key, text in _large(jobs)])

    def _write(self, texts: Sequence[tuple[JobKey, str]], expires_at: int) -> None:
        """Insert a row for each text. A row that exists and expires earlier is kept until then."""
        rows = [self._shape.written({"work": text, "expires_at": expires_at}) for _, text in texts]
        keys = [work_key(key, work_digest(text)) for key, text in texts]
        inserted = self._writer.write([Insert({**key, **row}) for key, row in zip(keys, rows, strict=True)])
        updates = [
            Update(key, {"expires_at": written.row["expires_at"]}, {"expires_at": expires_at})
            for key, written in zip(keys, inserted, strict=True)
            if written.row and written.row["expires_at"] < expires_at
        ]
        if not all(written.done or written.row for written in self._writer.write(updates)):
            raise UnavailableError("a row of work has just expired")


def _large(jobs: Sequence[Job]) -> list[tuple[JobKey, str]]:
    works = [(job.key, job.spec.work) for job in jobs if "work_digest" in work_fields(job.spec.work)]
    return [(key, work_text(work)) for key, work in works if work is not None]
