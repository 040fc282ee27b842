"""The finished attempts of runs over DynamoDB, each in a row of its own.

The backfills over DynamoDB: rows beside their job's, in the due index while they have something to do.

The calendars over DynamoDB: rows of their tenant, and beside each calendar a row for each job that may name it.

The bulk operations over DynamoDB: a row each, in the due index while it runs.

The tasks over DynamoDB: one row each, and beside it the rows of replaced versions.

The works of jobs: in the job's own row if the work is small, else in a row of its own, named by its digest.

Rows that each tenant has once, identified by the key alone: its backfill slots, and its event patterns.
"""

from collections.abc import Sequence
from itertools import islice
from typing import Any

from timeball.aws.dynamodb.listing import Listing
from timeball.aws.dynamodb.table.codec import Item, from_item, from_text, to_item, to_text
from timeball.aws.dynamodb.table.collection import DynamoRows, RowKind, TableAccess
from timeball.aws.dynamodb.table.keys import (
    BACKFILL,
    CALENDAR,
    LAST,
    OPERATIONS,
    REGISTERED,
    USE,
    attempt_key,
    attempts_prefix,
    backfill_key,
    calendar_key,
    job_key,
    operation_key,
    patterns_key,
    run_key,
    slots_key,
    task_key,
    tenant_key,
    use_key,
    work_key,
)
from timeball.aws.dynamodb.table.mapper import (
    to_backfill,
    to_calendar,
    to_operation,
    to_task,
    to_work,
    work_digest,
    work_fields,
    work_text,
)
from timeball.aws.dynamodb.table.schema import SCHEMA_VERSION
from timeball.aws.dynamodb.table.writes import Insert, Update
from timeball.domain.backfill import Backfill
from timeball.domain.backfill_slots import BackfillSlots
from timeball.domain.model.ids import BackfillKey, JobKey, OperationKey, RunId, TaskKey
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.jobs.task import Task
from timeball.domain.model.runs.values import Attempt
from timeball.domain.model.terms.calendar import Calendar, CalendarKey
from timeball.domain.model.terms.event import Patterns
from timeball.domain.model.terms.policies import Work
from timeball.domain.operation import Operation
from timeball.domain.time.instants import DAY_MS, LATEST, SECOND_MS
from timeball.ports.errors import UnavailableError
from timeball.ports.rows import ListQuery


class DynamoAttempts:
    """The attempts of one table."""

    def __init__(self, table: TableAccess) -> None:
        self._table = table

    def insert(self, attempts: Sequence[tuple[RunId, Attempt]], now: int) -> list[Attempt | None]:
        """Store each attempt in a row of its own, unless it is stored already."""
        written = self._table.writer.write(
            [Insert({**attempt_key(run, attempt.number), **self._fields(attempt, now)}) for run, attempt in attempts]
        )
        standing = [None if answer.row is None else from_text(Attempt, answer.row["attempt"]) for answer in written]
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
        return [from_text(Attempt, row["attempt"]) for row in rows]

    def _fields(self, attempt: Attempt, now: int) -> Item:
        return {"attempt": to_text(attempt), "expires_at": self._table.mapper.expiry(now)}


class DynamoBackfills(DynamoRows[BackfillKey, Backfill]):
    """The backfills of one table."""

    def __init__(self, table: TableAccess) -> None:
        super().__init__(table, RowKind(backfill_key, table.mapper.of_backfill, to_backfill))

    def of_job(self, job: JobKey, after: str = "", limit: int | None = None) -> list[Backfill]:
        """Return a job's backfills after a name."""
        # A space sorts before any character with which a name continues.
        first = f"{BACKFILL}{after} " if after else BACKFILL
        rows = self._table.reader.between(job_key(job)["pk"], first, BACKFILL + LAST)
        return [to_backfill(row) for row in islice(rows, limit)]


class DynamoCalendars(DynamoRows[CalendarKey, Calendar]):
    """The calendars of one table."""

    def __init__(self, table: TableAccess) -> None:
        super().__init__(table, RowKind(calendar_key, table.mapper.of_calendar, to_calendar))

    def of_tenant(self, tenant: str, after: str, limit: int) -> list[Calendar]:
        """Return a tenant's calendars after a name."""
        rows = self._table.reader.between(tenant_key(tenant), _behind(CALENDAR, after), CALENDAR + LAST)
        found = (to_calendar(row) for row in rows)
        return list(islice((one for one in found if not one.is_deleted), limit))

    def note_uses(self, uses: Sequence[tuple[CalendarKey, JobKey]], now: int) -> list[None]:
        """Note that jobs are about to name calendars."""
        keys = [use_key(calendar, job) for calendar, job in uses]
        written = self._table.writer.write([Insert({**key, "at": now}) for key in keys])
        standing = [key for key, one in zip(keys, written, strict=True) if not one.done]
        self._table.writer.write([Update(key, where={}, set={"at": now}) for key in standing])
        return [None] * len(uses)

    def uses(self, key: CalendarKey, after: str, limit: int) -> list[tuple[JobKey, int]]:
        """Return the jobs that may name a calendar."""
        partition = use_key(key, JobKey(key.tenant, ""))["pk"]
        rows = islice(self._table.reader.between(partition, _behind(USE, after), USE + LAST), limit)
        return [(JobKey(key.tenant, str(row["sk"]).removeprefix(USE)), int(row["at"])) for row in rows]


def _behind(prefix: str, name: str) -> str:
    # A space sorts before any character with which a name continues.
    return f"{prefix}{name} " if name else prefix


class DynamoOperations(DynamoRows[OperationKey, Operation]):
    """The operations of one table."""

    def __init__(self, table: TableAccess) -> None:
        super().__init__(table, RowKind(operation_key, table.mapper.of_operation, to_operation))
        self._listing = Listing(table.reader, table.mapper.list_shards)

    def listed(self, query: ListQuery[OperationKey]) -> list[tuple[int, OperationKey]]:
        """Return what the listing index names as operations."""
        return self._listing.page(OperationKey, [OPERATIONS], query)


class DynamoTasks(DynamoRows[TaskKey, Task]):
    """The tasks of one table."""

    def __init__(self, table: TableAccess) -> None:
        super().__init__(table, RowKind(task_key, table.mapper.of_task, to_task))
        self._listing = Listing(table.reader, table.mapper.list_shards)

    def listed(self, query: ListQuery[TaskKey]) -> list[tuple[int, TaskKey]]:
        """Return what the listing index names as tasks."""
        return self._listing.page(TaskKey, [REGISTERED], query)


_NEVER = LATEST // SECOND_MS
"""When the row of a job's work expires, in whole seconds, unless the job gets other work."""


class DynamoWorks:
    """The works of one table. A row of work is written before any row names it, and never changes."""

    def __init__(self, table: TableAccess) -> None:
        self._writer, self._reader, self._mapper = table.writer, table.reader, table.mapper

    def save(self, works: Sequence[tuple[JobKey, Work]], now: int) -> list[str]:
        """Store each work beside its job, for twice as long as an ended run: until then the run may be retried."""
        texts = [(key, work_text(work)) for key, work in works]
        self._write(texts, self._mapper.expiry(now + self._mapper.retention_days * DAY_MS))
        return [work_digest(text) for _, text in texts]

    def read(self, names: Sequence[tuple[JobKey, str]]) -> list[Work | None]:
        """Return each work."""
        rows = self._reader.get([work_key(key, digest) for key, digest in names])
        return [to_work(row["work"]) if row else None for row in rows]

    def store_new(self, jobs: Sequence[Job]) -> None:
        """Write the rows of works that are too large for their jobs' rows."""
        self._write(_large(jobs), _NEVER)

    def forget(self, jobs: Sequence[Job], now: int) -> None:
        """Let the rows of jobs' works expire in time, if they have any: only revisions name them by now."""
        expiry: Item = {"expires_at": max(self._mapper.expiry(now), self._mapper.history_expiry(now))}
        self._writer.write([Update(work_key(key, work_digest(text)), {}, expiry) for key, text in _large(jobs)])

    def _write(self, texts: Sequence[tuple[JobKey, str]], expires_at: int) -> None:
        """Insert a row for each text. A row that exists and expires earlier is kept until then."""
        rows: list[Item] = [{"work": text, "expires_at": expires_at} for _, text in texts]
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


def of_slots(slots: BackfillSlots, _: int) -> Item:
    """Return a tenant's slots as a row. It never expires: a backfill may take years."""
    return {**slots_key(slots.tenant), "v": SCHEMA_VERSION, **to_item(slots, "tenant")}


def to_slots(row: dict[str, Any]) -> BackfillSlots:
    """Return the slots that a row holds."""
    return from_item(BackfillSlots, row, tenant=row["pk"].removesuffix("#!"))


def of_patterns(patterns: Patterns, _: int) -> Item:
    """Return a tenant's patterns as a row. It never expires: a job may keep its pattern for years."""
    return {**patterns_key(patterns.tenant), "v": SCHEMA_VERSION, **to_item(patterns, "tenant")}


def to_patterns(row: dict[str, Any]) -> Patterns:
    """Return the patterns that a row holds."""
    return from_item(Patterns, row, tenant=row["pk"].removesuffix("#!"))
