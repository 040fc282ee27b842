"""The store over DynamoDB. Each write is one conditional write; each refusal is read, not assumed.

A refused write whose row already holds what was to be written is done: its first answer was lost, and the SDK repeated
it. Reads are strong, but for the due index, which only nominates.
"""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from timeball.aws.queries import Reader
from timeball.aws.rows import (
    INLINE_WORK_BYTES,
    JOB,
    Item,
    Key,
    Rows,
    attempt_key,
    attempt_text,
    attempts_prefix,
    due_bucket,
    job_key,
    list_key,
    owner_of_row,
    run_bound,
    run_key,
    to_attempt,
    to_job,
    to_run,
    work_digest,
    work_key,
    work_text,
)
from timeball.aws.schema import DUE
from timeball.aws.writes import Insert, Update, Write, Writer
from timeball.domain.ids import JobKey, Origin, RunId
from timeball.domain.job import Job, JobStatus
from timeball.domain.run import LIVE, Attempt, Run
from timeball.ports import Conclusion, DuePage, DueQuery, LedgerPage, LedgerQuery, Owner, Swap, Swapped

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient

_MAX_EXAMINED = 1_000
_LAST = "~"
"""Sorts after every character of a sort key."""


class DynamoStore:
    """Everything the engine stores, in the jobs table."""

    def __init__(
        self,
        client: "DynamoDBClient",
        table: str,
        *,
        list_shards: int = 4,
        retention_days: int = 90,
        writes: str = "single",
        threads: int = 8,
    ) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="store")
        self._rows = Rows(list_shards, retention_days)
        self._writer = Writer(client, table, self._threads, in_batches=writes == "batch")
        self._reader = Reader(client, table)

    def create_jobs(self, jobs: Sequence[Job], now: int) -> list[Job | None]:
        """Insert each job that is not there; its work first, if that stands in a row of its own."""
        inserts: list[Insert] = []
        works: list[Write] = []
        for job in jobs:
            row = self._rows.of_job(job, now)
            if job.work is None:
                raise ValueError(f"job {job.key.job_id} has no work")
            text = work_text(job.work)
            if len(text.encode()) <= INLINE_WORK_BYTES:
                row["work"] = text
            else:
                row["work_digest"] = work_digest(text)
                works.append(Insert({**work_key(job.key, work_digest(text)), "work": text}))
            inserts.append(Insert(row))
        if works:
            self._writer.write(works)
        return [
            None if written.done or written.row == insert.item else self._standing_job(written.row)
            for insert, written in zip(inserts, self._writer.write(inserts), strict=True)
        ]

    def read_jobs(self, keys: Sequence[JobKey], *, with_work: bool = False) -> list[Job | None]:
        """Return each job, with its work if that was asked for."""
        rows = self._reader.get([job_key(key) for key in keys])
        if not with_work:
            return [replace(to_job(row), work=None) if row else None for row in rows]
        elsewhere = {
            key: row["work_digest"] for key, row in zip(keys, rows, strict=True) if row and "work_digest" in row
        }
        found = self._reader.get([work_key(key, digest) for key, digest in elsewhere.items()])
        works = {key: row["work"] for key, row in zip(elsewhere, found, strict=True) if row}
        return [to_job(row, works.get(key)) if row else None for key, row in zip(keys, rows, strict=True)]

    def swap_jobs(self, swaps: Sequence[Swap[Job]], now: int) -> list[Swapped[Job]]:
        """Change each job's row if it has the revision that was read."""
        updates = [
            _change(
                job_key(swap.before.key),
                self._rows.of_job(swap.before, now),
                self._rows.of_job(swap.after, now),
            )
            for swap in swaps
        ]
        answers: list[Swapped[Job]] = []
        for swap, written in zip(swaps, self._writer.write(updates), strict=True):
            standing = replace(to_job(written.row), work=swap.after.work) if written.row else None
            done = written.done or standing == swap.after
            answers.append(Swapped(done, swap.after if done else standing))
        return answers

    def conclude_jobs(self, conclusions: Sequence[Conclusion]) -> list[bool]:
        """Give each job its final status, if it is open for it and the fire is its final one."""
        updates = [self._conclude(conclusion) for conclusion in conclusions]
        return [
            written.done or _is_concluded(written.row, conclusion)
            for conclusion, written in zip(conclusions, self._writer.write(updates), strict=True)
        ]

    def insert_runs(self, runs: Sequence[Run], now: int) -> list[Run | None]:
        """Insert each run that is not there."""
        written = self._writer.write([Insert(self._rows.of_run(run, now)) for run in runs])
        standing = [None if answer.row is None else to_run(answer.row) for answer in written]
        return [
            None if answer.done or found == run else found
            for run, answer, found in zip(runs, written, standing, strict=True)
        ]

    def read_runs(self, ids: Sequence[RunId]) -> list[Run | None]:
        """Return each run."""
        return [to_run(row) if row else None for row in self._reader.get([run_key(run) for run in ids])]

    def swap_runs(self, swaps: Sequence[Swap[Run]], now: int) -> list[Swapped[Run]]:
        """Change each run's row if it has the revision that was read."""
        updates = [
            _change(
                run_key(swap.before.id),
                self._rows.of_run(swap.before, now),
                self._rows.of_run(swap.after, now),
            )
            for swap in swaps
        ]
        answers: list[Swapped[Run]] = []
        for swap, written in zip(swaps, self._writer.write(updates), strict=True):
            standing = to_run(written.row) if written.row else None
            done = written.done or standing == swap.after
            answers.append(Swapped(done, swap.after if done else standing))
        return answers

    def runs_between(self, job: JobKey, first_at: int, last_at: int) -> list[Run]:
        """Return the schedule's runs whose fire time lies within."""
        runs = self._runs(job, run_bound(first_at), run_bound(last_at) + _LAST)
        return [run for run in runs if run.id.origin is Origin.SCHEDULE]

    def live_runs(self, job: JobKey, since_at: int) -> list[Run]:
        """Return the job's runs that are not over."""
        return list(
            self._runs(job, run_bound(since_at), run_bound(10**15 - 1) + _LAST, [state.value for state in LIVE])
        )

    def ledger(self, query: LedgerQuery) -> LedgerPage:
        """Return a page, newest first; under a filter it may be short, as it examines 1,000 rows at most."""
        rows, last = self._reader.page(
            job_key(query.job)["pk"],
            run_bound(query.from_at or 0),
            run_bound(10**15 - 1 if query.to_at is None else query.to_at) + _LAST,
            limit=query.limit,
            states=[state.value for state in query.states],
            after=run_key(query.before) if query.before else None,
            examine=_MAX_EXAMINED,
        )
        following = owner_of_row(last["pk"], last["sk"]) if last else None
        return LedgerPage(tuple(map(to_run, rows)), following if isinstance(following, RunId) else None)

    def save_attempts(self, attempts: Sequence[tuple[RunId, Attempt]], now: int) -> None:
        """Keep each attempt in a row of its own, unless it is kept already."""
        rows: list[Item] = [
            {
                **attempt_key(run, attempt.number),
                "attempt": attempt_text(attempt),
                "expires_at": self._rows.expiry(now),
            }
            for run, attempt in attempts
        ]
        self._writer.write([Insert(row) for row in rows])

    def read_attempts(self, run: RunId) -> list[Attempt]:
        """Return what was kept of a run's attempts, by number."""
        prefix = attempts_prefix(run)
        return [to_attempt(row["attempt"]) for row in self._reader.between(run_key(run)["pk"], prefix, prefix + _LAST)]

    def due(self, queries: Sequence[DueQuery]) -> list[DuePage]:
        """Ask the due index."""
        return list(self._threads.map(self._due, queries))

    def take_partition(self, partition: int, owner: Owner, shards: Sequence[int]) -> dict[int, int] | None:
        """Make the greater owner the partition's; one request when it is already."""
        mine = f"{owner.started_at}|{owner.name}"
        partition_row: Key = {"pk": f"PARTITION#{partition}", "sk": "OWNER"}
        standing, *cursors = self._reader.get([partition_row, *map(_cursor_key, shards)])
        while standing is None or standing["owner"] < mine:
            taking: Write = Insert({**partition_row, "owner": mine})
            if standing is not None:
                taking = Update(partition_row, {"owner": [standing["owner"]]}, {"owner": mine})
            written = self._writer.write([taking])[0]
            standing = {"owner": mine} if written.done else written.row
        if standing["owner"] != mine:
            return None
        return {shard: row["oldest_hour_at"] for shard, row in zip(shards, cursors, strict=True) if row}

    def move_cursor(self, shard: int, oldest_hour_at: int) -> None:
        """Move the cursor, on condition that it stands where it was read, and before the new place."""
        key = _cursor_key(shard)
        standing = self._reader.get([key])[0]
        if standing is None:
            self._writer.write([Insert({**key, "oldest_hour_at": oldest_hour_at})])
        elif standing["oldest_hour_at"] < oldest_hour_at:
            where = {"oldest_hour_at": [standing["oldest_hour_at"]]}
            self._writer.write([Update(key, where, {"oldest_hour_at": oldest_hour_at})])

    def _standing_job(self, row: dict[str, Any] | None) -> Job | None:
        return to_job(row) if row else None

    def _conclude(self, conclusion: Conclusion) -> Update:
        return Update(
            job_key(conclusion.job),
            where={
                "status": [JobStatus.PENDING.value, JobStatus.PAUSED.value],
                "final_fire_at": [conclusion.fire_at],
            },
            set={
                "status": conclusion.status.value,
                "list_key": list_key(conclusion.job, conclusion.status, self._rows.list_shards),
                "updated_at": conclusion.at,
                "expires_at": self._rows.expiry(conclusion.at),
            },
            remove=("next_fire_at", "due_at", "due_bucket"),
            increment=("revision",),
        )

    def _runs(self, job: JobKey, first: str, last: str, states: Sequence[str] = ()) -> Iterator[Run]:
        return map(to_run, self._reader.between(job_key(job)["pk"], first, last, states))

    def _due(self, query: DueQuery) -> DuePage:
        rows = self._reader.due(DUE.name, due_bucket(query.shard, query.hour_at), query.through_at, query.limit)
        candidates = tuple(owner_of_row(row["pk"], row["sk"]) for row in rows)
        return DuePage(candidates, len(rows) >= query.limit)


def _change(key: Key, before: Item, after: Item) -> Update:
    """Return what turns one row into another, on condition that the stored one has the first one's revision.

    The stored bucket is that of its own time of writing, which nobody remembers: a moved due key brings its bucket.
    """
    moved = before.get("due_at") != after.get("due_at")
    return Update(
        key,
        where={"revision": [int(before["revision"])]},
        set={
            name: value
            for name, value in after.items()
            if before.get(name) != value or (moved and name == "due_bucket")
        },
        remove=tuple(name for name in before if name not in after),
    )


def _is_concluded(row: Mapping[str, Any] | None, conclusion: Conclusion) -> bool:
    return (
        row is not None
        and row["sk"] == JOB
        and row["status"] == conclusion.status
        and row["updated_at"] == conclusion.at
    )


def _cursor_key(shard: int) -> Key:
    return {"pk": f"SHARD#{shard}", "sk": "CURSOR"}
