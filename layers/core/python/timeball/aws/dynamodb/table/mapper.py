"""The one mapper between values and rows: it adds the attributes that are no fields of a value.

A row that is updated is kept small, under 1 KB apart from its user's data, because every write is billed by the whole
row: work above 400 bytes is in a row of its own, named by its digest and written once.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from timeball.aws.dynamodb.table.codec import Item, from_item, from_text, to_item, to_text
from timeball.aws.dynamodb.table.keys import (
    DEAD,
    JOBS,
    OPERATION,
    REGISTERED,
    TASKS,
    Key,
    announcement_in,
    announcement_key,
    by_task_key,
    due_bucket,
    job_key,
    line_partition,
    list_key,
    notable_key,
    owner_of_row,
    revision_key,
    run_key,
    task_version_key,
)
from timeball.domain.attempts.circuit_breaker import Circuit
from timeball.domain.backfill import Backfill, BackfillStatus
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import LimiterKey
from timeball.domain.model.jobs.job import Job, with_spec
from timeball.domain.model.jobs.job_states import among
from timeball.domain.model.jobs.revision import Announcement, Revision, outline
from timeball.domain.model.jobs.task import Task
from timeball.domain.model.runs.limiter import Bounds, Limiter
from timeball.domain.model.runs.notable import is_notable, ordered_at
from timeball.domain.model.runs.run import Run
from timeball.domain.model.tenants.actor import Actor
from timeball.domain.model.terms.event import WaitingEvent
from timeball.domain.model.terms.flow import UniqueKeyRow
from timeball.domain.model.terms.policies import Work
from timeball.domain.model.terms.target import Target
from timeball.domain.operation import Operation
from timeball.domain.time.instants import DAY_MS, SECOND_MS
from timeball.setting import whole

INLINE_WORK_BYTES = 400
_LONGEST_LIFE_DAYS = 14
"""Longer than a run lives from its plan to its end."""


@dataclass(frozen=True)
class Mapper:
    """Turns values into rows, with a number of listing shards, and with the time for which an ended row is kept."""

    list_shards: int = whole(4, 1, 64, "Shards of the listing of one tenant's jobs in one state")
    retention_days: int = whole(90, 1, 3650, "How long finished jobs and runs are kept")
    history_days: int = whole(
        104,
        15,
        3664,
        "How long the history of changes is kept: at least 14 days longer than `retention_days`, so that no run "
        "outlives what planned it; that of a finished job or run expires with it",
    )

    @property
    def least_history_days(self) -> int:
        """The fewest days of history with which no run outlives what planned it."""
        return self.retention_days + _LONGEST_LIFE_DAYS

    def of_job(self, job: Job, now: int) -> Item:
        """Return a job's row, with its work if it was read. `now` is the time of writing, for the due bucket."""
        item = {
            **_row(job_key(job.key), with_spec(job, work=None)),
            **work_fields(job.spec.work),
            **_bucket(job, now),
        }
        if job.spec.notice is None:  # the listing has the jobs that users made, and no notices
            item |= self._listed(job.key.tenant, JOBS, job.key.job_id, job.created_at)
            if (part := among(job.status)) is not None:
                item["state_key"] = list_key(job.key.tenant, part, job.key.job_id, self.list_shards)
        if job.task_id is not None:
            item["task_key"] = by_task_key(job.key, job.task_id, self.list_shards)
        if not job.is_open and job.intent is None and not job.is_gate:
            item["expires_at"] = self.expiry(job.updated_at)
        return item

    def of_run(self, run: Run, now: int) -> Item:
        """Return a run's row. `now` is the time of writing, for the due bucket."""
        item = {**_row(run_key(run.id), run, "id"), **_bucket(run, now)}
        if run.is_dead_letter and run.finished_at is not None:
            item |= self._listed(run.id.job.tenant, DEAD, str(run.id), run.finished_at)
        if run.waiting is not None and run.stands_in_line:
            line = line_partition(LimiterKey(run.id.job.tenant, run.waiting.name), run.waiting.permit)
            item |= {"listed_at": run.line_order, "list_key": line}
        if is_notable(run):
            item |= {"notable_key": notable_key(run, self.list_shards), "notable_at": ordered_at(run)}
        if run.is_terminal:
            item["expires_at"] = self.expiry(run.finished_at or now)
        return item

    def of_backfill(self, backfill: Backfill, now: int) -> Item:
        """Return what a backfill's row has besides its fields. `now` is the time of writing, for the due bucket."""
        item = _bucket(backfill, now)
        if backfill.status is not BackfillStatus.RUNNING:
            item["expires_at"] = self.expiry(backfill.updated_at)
        return item

    def of_revision(self, revision: Revision, now: int) -> Item:
        """Return the row of a revision that was read with its work. A large payload has a row already, as the job's."""
        shown, work = outline(revision), revision.spec.work
        if work is None or shown.spec.work is None:
            raise ValueError(f"version {revision.version} of {revision.spec.key} was read without its work")
        bare = evolve(shown, spec=evolve(shown.spec, work=None))
        item = {**_row(revision_key(revision.id), bare), "work": work_text(shown.spec.work)}
        if shown.lacks_payload:
            item["work_digest"] = work_digest(work_text(work))
        return {**item, "expires_at": self.history_expiry(now)}

    def of_announcement(self, announced: Announcement, now: int) -> Item:
        """Return the row of an announcement. It has the author if no revision and no run has it."""
        by = {"by": to_text(announced.by)} if announced.asked else {}
        return {**announcement_key(announced, self.list_shards), **by, "expires_at": self.history_expiry(now)}

    def of_task(self, task: Task, _: int) -> Item:
        """Return a task's row, listed unless it is deleted. It never expires: finished jobs may run again."""
        item = _row(TASKS.key_of(task.key), task)
        listing = self._listed(task.key.tenant, REGISTERED, task.key.task_id, task.created_at)
        return item if task.is_deleted else item | listing

    def of_operation(self, operation: Operation, now: int) -> Item:
        """Return what a bulk operation's row has besides its fields: it is due, and listed by its creation."""
        key = operation.key
        item = _bucket(operation, now) | self._listed(key.tenant, OPERATION, key.name, operation.created_at)
        if not operation.is_running:
            item["expires_at"] = self.expiry(operation.updated_at)
        return item

    def of_task_version(self, task: Task, now: int) -> Item:
        """Return the row of a replaced version, kept for twice as long as an ended run."""
        return {**_row(task_version_key(task.ref), task), "expires_at": self.expiry(now + self.retention_days * DAY_MS)}

    def of_waiting_event(self, _: WaitingEvent, now: int) -> Item:
        """Return what an event that waits for a fire has besides its fields: it is kept as long as its payload."""
        return {"expires_at": self.expiry(now + self.retention_days * DAY_MS)}

    def of_limiter(self, limiter: Limiter, now: int) -> Item:
        """Return what a limiter's row has besides its fields.

        It expires after a long time without use, unless a person has set its bounds.
        """
        is_fixed = limiter.fixed.bounds != Bounds()
        return _bucket(limiter, now) | ({} if is_fixed else {"expires_at": self.expiry(now)})

    def of_request(self, at: int, now: int) -> Item:
        """Return the note when a client's request took effect."""
        return {"at": at, "expires_at": self.expiry(now)}

    def _listed(self, tenant: str, state: str, name: str, at: int) -> Item:
        return {"listed_at": at, "list_key": list_key(tenant, state, name, self.list_shards)}

    def expiry(self, at: int) -> int:
        """Return when a row that ended at an instant expires, in whole seconds, as DynamoDB requires."""
        return (at + self.retention_days * DAY_MS) // SECOND_MS

    def history_expiry(self, now: int) -> int:
        """Return when the note of a change expires, in whole seconds."""
        return (now + self.history_days * DAY_MS) // SECOND_MS


def of_event(at: int, now: int) -> Item:
    """Return the note when an event was accepted. It stands until DynamoDB has removed it, after a day or more."""
    return {"at": at, "expires_at": (now + DAY_MS) // SECOND_MS}


def to_instant(row: dict[str, Any]) -> int:
    """Return the instant that a note holds."""
    return int(row["at"])


def work_fields(work: Work | None) -> Item:
    """Return the fields of a job's row that hold or name its work; none for work that was not read."""
    if work is None:
        return {}
    text = work_text(work)
    return {"work": text} if len(text.encode()) <= INLINE_WORK_BYTES else {"work_digest": work_digest(text)}


def work_text(work: Work) -> str:
    """Return a work as text: its target, and on a second line its payload, unchanged.

    If it were escaped within JSON, a payload might be four times as large, more than a row of DynamoDB holds.
    """
    target = to_text(work.target)
    return target if work.payload is None else f"{target}\n{work.payload}"


def to_work(text: str) -> Work:
    """Return the work that a text holds."""
    target, line, payload = text.partition("\n")
    return Work(from_text(Target, target), payload if line else None)


def work_digest(text: str) -> str:
    """Return the name of a work text in a row of its own."""
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def to_job(row: dict[str, Any]) -> Job:
    """Return the job that a row holds, with its work if the row has that too."""
    job = from_item(Job, row)
    return with_spec(job, work=to_work(row["work"])) if "work" in row else job


def to_revision(row: Mapping[str, Any]) -> Revision:
    """Return the revision that a row holds, without a large payload."""
    revision = from_item(Revision, row)
    return evolve(revision, spec=evolve(revision.spec, work=to_work(row["work"])))


def to_run(row: dict[str, Any]) -> Run:
    """Return the run that a row holds."""
    return from_item(Run, row, id=owner_of_row(row["pk"], row["sk"]))


def to_task(row: dict[str, Any]) -> Task:
    """Return the version of a task that a row holds."""
    return from_item(Task, row)


def to_announcement(tenant: str, row: Mapping[str, Any]) -> Announcement:
    """Return the announcement that a row holds."""
    announced = announcement_in(tenant, row["sk"])
    return evolve(announced, by=from_text(Actor, row["by"])) if announced.asked else announced


def expiry_of_circuit(_: Circuit, now: int) -> Item:
    """Return when a resource's row expires: a day after it was written."""
    return {"expires_at": (now + DAY_MS) // SECOND_MS}


def expiry_of_unique(named: UniqueKeyRow, _: int) -> Item:
    """Return when a unique key's row expires: a while after its window; without a window it stays."""
    return {} if named.until is None else {"expires_at": (named.until + DAY_MS) // SECOND_MS}


def _row(key: Key, value: object, key_field: str = "") -> Item:
    return {**key, **to_item(value, key_field)}


def _bucket(row: Job | Run | Backfill | Operation | Limiter, now: int) -> Item:
    """Return the bucket of a due key: the day of its time, or of the write if later, so that no scan is past it."""
    return {} if row.due_at is None else {"due_bucket": due_bucket(row.shard, max(row.due_at, now))}
