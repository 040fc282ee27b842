"""The store over DynamoDB. Each write is one conditional write; each refusal is read, not assumed.

A refused write whose row already holds what was to be written is done: its first answer was lost, and it was repeated.
Reads are strong, but for the due index, which only nominates.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from timeball.aws.backfills import Backfills
from timeball.aws.conclusions import Conclusions
from timeball.aws.dead_letters import DeadLetters
from timeball.aws.encoding import attempt_text, to_attempt
from timeball.aws.hosts import Hosts
from timeball.aws.keys import (
    Key,
    attempt_key,
    attempts_prefix,
    due_bucket,
    job_key,
    owner_of_row,
    request_key,
    run_bound,
    run_key,
)
from timeball.aws.patience import PATIENTLY, Asker
from timeball.aws.queries import Reader
from timeball.aws.rows import Item, Rows, to_job, to_run
from timeball.aws.slots import TenantSlots
from timeball.aws.swaps import swap_rows
from timeball.aws.works import Works, work_fields
from timeball.aws.writes import Insert, Update, Write, Writer
from timeball.domain.attempt import Attempt
from timeball.domain.backfill import Backfill
from timeball.domain.evolve import evolve
from timeball.domain.host import Host, HostKey
from timeball.domain.ids import BackfillKey, JobKey, Origin, RunId
from timeball.domain.instants import DAY_MS, LATEST
from timeball.domain.job import Job, Work
from timeball.domain.run import LIVE, Run
from timeball.domain.slots import Slots
from timeball.ports import Conclusion, DeadQuery, DuePage, DueQuery, LedgerPage, LedgerQuery, Owner, Swap, Swapped

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
        asker: Asker = PATIENTLY,
    ) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="store")
        self._rows = Rows(list_shards, retention_days)
        self._writer = Writer(client, table, self._threads, asker, in_batches=writes == "batch")
        self._reader = Reader(client, table, asker)
        self._works = Works(self._writer, self._reader)
        self._backfills = Backfills(self._writer, self._reader, self._rows)
        self._conclusions = Conclusions(self._writer, self._rows)
        self._slots = TenantSlots(self._writer, self._reader)
        self._hosts = Hosts(self._writer, self._reader, self._rows)
        self._dead_letters = DeadLetters(self._reader, list_shards)

    def create_jobs(self, jobs: Sequence[Job], now: int) -> list[Job | None]:
        """Insert each job that is not there; its work first, if that stands in a row of its own."""
        works = self._works.place(jobs)
        inserts = [Insert(self._rows.of_job(job, now) | work) for job, work in zip(jobs, works, strict=True)]
        return [
            None if written.done or written.row == insert.item else self._standing_job(written.row)
            for insert, written in zip(inserts, self._writer.write(inserts), strict=True)
        ]

    def read_jobs(self, keys: Sequence[JobKey], *, with_work: bool = False, strong: bool = True) -> list[Job | None]:
        """Return each job, with its work if that was asked for."""
        rows = self._reader.get([job_key(key) for key in keys], strong=strong)
        if not with_work:
            return [evolve(to_job(row), work=None) if row else None for row in rows]
        elsewhere = {
            key: row["work_digest"] for key, row in zip(keys, rows, strict=True) if row and "work_digest" in row
        }
        works = dict(zip(elsewhere, self._works.texts(list(elsewhere.items())), strict=True))
        return [to_job(row, works.get(key)) if row else None for key, row in zip(keys, rows, strict=True)]

    def swap_jobs(self, swaps: Sequence[Swap[Job]], now: int) -> list[Swapped[Job]]:
        """Change each job's row if it has the revision that was read; a new work stands before the row names it."""
        self._works.place([swap.after for swap in swaps if swap.with_work])
        changes = [
            (job_key(swap.before.key), self._job_row(swap, swap.before, now), self._job_row(swap, swap.after, now))
            for swap in swaps
        ]
        answers = swap_rows(self._writer, swaps, changes, _standing)
        unnamed = [
            (swap.before.key, str(before["work_digest"]))
            for swap, answer, (_, before, after) in zip(swaps, answers, changes, strict=True)
            if answer.done and "work_digest" in before and before["work_digest"] != after.get("work_digest")
        ]
        if unnamed:
            self._works.forget(unnamed, self._rows.expiry(now))
        return answers

    def conclude_jobs(self, conclusions: Sequence[Conclusion]) -> list[bool]:
        """Give each job its final status, if it is open for it and the fire is its final one."""
        return self._conclusions.apply(conclusions)

    def insert_runs(self, runs: Sequence[Run], now: int) -> list[Run | None]:
        """Insert each run that is not there."""
        written = self._writer.write([Insert(self._rows.of_run(run, now)) for run in runs])
        standing = [None if answer.row is None else to_run(answer.row) for answer in written]
        return [
            None if answer.done or found == run else found
            for run, answer, found in zip(runs, written, standing, strict=True)
        ]

    def read_runs(self, ids: Sequence[RunId], *, strong: bool = True) -> list[Run | None]:
        """Return each run."""
        rows = self._reader.get([run_key(run) for run in ids], strong=strong)
        return [to_run(row) if row else None for row in rows]

    def swap_runs(self, swaps: Sequence[Swap[Run]], now: int) -> list[Swapped[Run]]:
        """Change each run's row if it has the revision that was read."""
        changes = [
            (run_key(swap.before.id), self._rows.of_run(swap.before, now), self._rows.of_run(swap.after, now))
            for swap in swaps
        ]
        return swap_rows(self._writer, swaps, changes, lambda row, _: to_run(row))

    def save_works(self, works: Sequence[tuple[JobKey, Work]], now: int) -> list[str]:
        """Store each work beside its job, for twice as long as a run that is over: until then it may be retried."""
        return self._works.save(works, self._rows.expiry(now + self._rows.retention_days * DAY_MS))

    def read_works(self, names: Sequence[tuple[JobKey, str]]) -> list[Work | None]:
        """Return each work."""
        return self._works.read(names)

    def remember(self, job: JobKey, request: str, at: int, now: int) -> int:
        """Note when a request took effect; the first note stands."""
        note: Item = {**request_key(job, request), "at": at, "expires_at": self._rows.expiry(now)}
        written = self._writer.write([Insert(note)])[0]
        return at if written.done or written.row is None else int(written.row["at"])

    def create_backfills(self, backfills: Sequence[Backfill], now: int) -> list[Backfill | None]:
        """Insert each backfill that is not there."""
        return self._backfills.create(backfills, now)

    def read_backfills(self, keys: Sequence[BackfillKey]) -> list[Backfill | None]:
        """Return each backfill."""
        return self._backfills.read(keys)

    def swap_backfills(self, swaps: Sequence[Swap[Backfill]], now: int) -> list[Swapped[Backfill]]:
        """Change each backfill's row if it has the revision that was read."""
        return self._backfills.swap(swaps, now)

    def backfills_of(self, job: JobKey, after: str = "", limit: int | None = None) -> list[Backfill]:
        """Return a job's backfills."""
        return self._backfills.of_job(job, after, limit)

    def read_slots(self, tenants: Sequence[str]) -> list[Slots]:
        """Return each tenant's slots."""
        return self._slots.read(tenants)

    def swap_slots(self, swaps: Sequence[Swap[Slots]]) -> list[Swapped[Slots]]:
        """Change each tenant's row if it has the revision that was read."""
        return self._slots.swap(swaps)

    def runs_between(self, job: JobKey, first_at: int, last_at: int) -> list[Run]:
        """Return the schedule's runs whose fire time lies within."""
        runs = self._runs(job, run_bound(first_at), run_bound(last_at) + _LAST)
        return [run for run in runs if run.id.origin is Origin.SCHEDULE]

    def live_runs(self, job: JobKey, since_at: int, through_at: int = LATEST) -> list[Run]:
        """Return the job's runs that are not over."""
        states = [state.value for state in LIVE]
        return list(self._runs(job, run_bound(max(since_at, 0)), run_bound(through_at) + _LAST, states))

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

    def dead_letters(self, query: DeadQuery) -> list[tuple[int, RunId]]:
        """Return what the listing index names as dead letters."""
        return self._dead_letters.page(query)

    def read_hosts(self, keys: Sequence[HostKey]) -> list[Host | None]:
        """Return each host's row."""
        return self._hosts.read(keys)

    def create_hosts(self, hosts: Sequence[Host], now: int) -> list[Host | None]:
        """Insert each host's row that is not there."""
        return self._hosts.create(hosts, now)

    def swap_hosts(self, swaps: Sequence[Swap[Host]], now: int) -> list[Swapped[Host]]:
        """Change each host's row if it has the revision that was read."""
        return self._hosts.swap(swaps, now)

    def save_attempts(self, attempts: Sequence[tuple[RunId, Attempt]], now: int) -> list[Attempt | None]:
        """Keep each attempt in a row of its own, unless it is kept already."""
        rows: list[Item] = [
            {**attempt_key(run, attempt.number), **self._attempt_fields(attempt, now)} for run, attempt in attempts
        ]
        written = self._writer.write([Insert(row) for row in rows])
        standing = [None if answer.row is None else to_attempt(answer.row["attempt"]) for answer in written]
        return [
            None if answer.done or found == attempt else found
            for (_, attempt), answer, found in zip(attempts, written, standing, strict=True)
        ]

    def replace_attempts(self, attempts: Sequence[tuple[RunId, Attempt]], now: int) -> None:
        """Write each attempt over what its row keeps."""
        self._writer.write(
            [
                Update(attempt_key(run, attempt.number), {}, self._attempt_fields(attempt, now))
                for run, attempt in attempts
            ]
        )

    def _attempt_fields(self, attempt: Attempt, now: int) -> Item:
        return {"attempt": attempt_text(attempt), "expires_at": self._rows.expiry(now)}

    def read_attempts(self, run: RunId) -> list[Attempt]:
        """Return what was kept of a run's attempts, by number."""
        prefix = attempts_prefix(run)
        return [to_attempt(row["attempt"]) for row in self._reader.between(run_key(run)["pk"], prefix, prefix + _LAST)]

    def due(self, queries: Sequence[DueQuery]) -> list[DuePage]:
        """Ask the due index."""
        return list(self._threads.map(self._due, queries))

    def take_partition(self, partition: int, owner: Owner) -> bool:
        """Make the greater owner the partition's; one request when it is already."""
        mine = f"{owner.started_at}|{owner.name}"
        partition_row: Key = {"pk": f"PARTITION#{partition}", "sk": "OWNER"}
        standing = self._reader.get([partition_row], strong=False)[0]  # who is late to know does some work twice
        while standing is None or standing["owner"] < mine:
            taking: Write = Insert({**partition_row, "owner": mine})
            if standing is not None:
                taking = Update(partition_row, {"owner": [standing["owner"]]}, {"owner": mine})
            written = self._writer.write([taking])[0]
            standing = {"owner": mine} if written.done else written.row
        return bool(standing["owner"] == mine)

    def read_cursors(self, shards: Sequence[int]) -> dict[int, int]:
        """Return the cursors as the nearest copy of their rows has them."""
        rows = self._reader.get([_cursor_key(shard) for shard in shards], strong=False)
        return {shard: row["oldest_hour_at"] for shard, row in zip(shards, rows, strict=True) if row}

    def move_cursor(self, shard: int, oldest_hour_at: int) -> None:
        """Move the cursor, on condition that it stands where it was read, and before the new place."""
        key = _cursor_key(shard)
        standing = self._reader.get([key])[0]
        if standing is None:
            self._writer.write([Insert({**key, "oldest_hour_at": oldest_hour_at})])
        elif standing["oldest_hour_at"] < oldest_hour_at:
            where = {"oldest_hour_at": [standing["oldest_hour_at"]]}
            self._writer.write([Update(key, where, {"oldest_hour_at": oldest_hour_at})])

    def _job_row(self, swap: Swap[Job], job: Job, now: int) -> Item:
        return self._rows.of_job(job, now) | (work_fields(job) if swap.with_work else {})

    def _standing_job(self, row: dict[str, Any] | None) -> Job | None:
        return to_job(row) if row else None

    def _runs(self, job: JobKey, first: str, last: str, states: Sequence[str] = ()) -> Iterator[Run]:
        return map(to_run, self._reader.between(job_key(job)["pk"], first, last, states))

    def _due(self, query: DueQuery) -> DuePage:
        bucket, forward = due_bucket(query.shard, query.hour_at), not query.latest_first
        rows = self._reader.due(bucket, query.through_at, query.limit, forward=forward)
        candidates = tuple(owner_of_row(row["pk"], row["sk"]) for row in rows)
        return DuePage(candidates, len(rows) >= query.limit)


def _standing(row: dict[str, Any], swap: Swap[Job]) -> Job:
    """Return the job that refused a swap; as the swap's own, if the swap's work is that which stands there."""
    named = {name: row[name] for name in ("work", "work_digest") if name in row}
    mine = not swap.with_work or named == work_fields(swap.after)
    return evolve(to_job(row), work=swap.after.work if mine else None)


def _cursor_key(shard: int) -> Key:
    return {"pk": f"SHARD#{shard}", "sk": "CURSOR"}
