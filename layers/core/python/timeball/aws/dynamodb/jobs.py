"""The jobs and the runs over DynamoDB.

Work too large for a job's row has its own row, which is written before it is named. A job's ledger is a range of its
item collection, in the order of the fires.
"""

from collections.abc import Sequence
from itertools import islice
from typing import Any

from timeball.aws.dynamodb.collections import DynamoWorks
from timeball.aws.dynamodb.listing import Listing
from timeball.aws.dynamodb.table.collection import DynamoRows, RowKind, TableAccess
from timeball.aws.dynamodb.table.keys import (
    DEAD,
    JOBS,
    LAST,
    TASKS,
    job_key,
    line_partition,
    owner_of_row,
    run_bound,
    run_key,
    task_version_key,
)
from timeball.aws.dynamodb.table.mapper import to_job, to_run, to_task
from timeball.aws.dynamodb.table.queries import KeyRange
from timeball.aws.dynamodb.table.schema import BY_STATE, LISTING
from timeball.aws.request_retries import side_by_side
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey, LimiterKey, Origin, RunId, TaskKey
from timeball.domain.model.jobs.job import Job, with_spec
from timeball.domain.model.jobs.job_states import Among
from timeball.domain.model.jobs.task import Task, TaskRef
from timeball.domain.model.runs.run import Permit, Run, RunState
from timeball.domain.usage.spending import Estimate, JobCounts
from timeball.ports.collections import LedgerPage, LedgerQuery
from timeball.ports.rows import ListQuery, Swap, Swapped

_FoundRows = Sequence[dict[str, Any] | None]
_MAX_EXAMINED = 1_000
"""The most rows that a page of runs examines under a filter."""


class DynamoJobs(DynamoRows[JobKey, Job]):
    """The jobs of one table."""

    def __init__(self, table: TableAccess, works: DynamoWorks) -> None:
        super().__init__(table, RowKind(Job, job_key, table.mapper.of_job, _bare))
        self._works, self._tasks = works, table.shape_of(Task)
        self._listing = Listing(table.reader, table.mapper.list_shards)

    def insert(self, rows: Sequence[Job], now: int) -> list[Job | None]:
        """Insert each job that does not exist; first its work, if that has a row of its own."""
        self._works.store_new(rows)
        return super().insert(rows, now)

    def read(self, keys: Sequence[JobKey], *, strong: bool = True, with_work: bool = False) -> list[Job | None]:
        """Return each job, with its work if that was asked for."""
        if not with_work:
            return super().read(keys, strong=strong)
        return self._with_works(keys, self._table.reader.get([job_key(key) for key in keys], strong=strong))

    def read_with_tasks(
        self, keys: Sequence[JobKey], refs: Sequence[TaskRef], *, with_work: bool = False
    ) -> tuple[list[Job | None], list[Task | None]]:
        """Return jobs and versions of tasks. A version is read from the current one's row, and from its own."""
        current, replaced = (
            [TASKS.key_of(ref.key) for ref in refs],
            [task_version_key(ref) for ref in refs if ref.version],
        )
        found = self._table.reader.get([*map(job_key, keys), *current, *replaced])
        rows = found[: len(keys)]
        versions = [row and self._tasks.read(row) for row in found[len(keys) :]]
        jobs = self._with_works(keys, rows) if with_work else [self.row_in(row) if row else None for row in rows]
        return jobs, _versions(refs, versions[: len(refs)], versions[len(refs) :])

    def _with_works(self, keys: Sequence[JobKey], stored: _FoundRows) -> list[Job | None]:
        found = [row and self._shape.read(row) for row in stored]
        named = {key: row["work_digest"] for key, row in zip(keys, found, strict=True) if row and "work_digest" in row}
        works = dict(zip(named, self._works.read(list(named.items())), strict=True))
        jobs = [to_job(row) if row else None for row in found]
        return [with_spec(job, work=works[job.key]) if job and job.key in works else job for job in jobs]

    def swap(self, swaps: Sequence[Swap[Job]], now: int) -> list[Swapped[Job]]:
        """Change each job's row if it has the revision that was read; new work is written before the row names it."""
        swaps = [swap if _brings_work(swap) else Swap(_without(swap.before), _without(swap.after)) for swap in swaps]
        self._works.store_new([swap.after for swap in swaps])
        answers = super().swap(swaps, now)
        left = [swap.before for swap, answer in zip(swaps, answers, strict=True) if answer.done]
        self._works.forget(left, now)
        return [evolve(answer, row=answer.row and _without(answer.row)) for answer in answers]

    def listed(self, parts: Sequence[Among], query: ListQuery[JobKey]) -> list[tuple[int, JobKey]]:
        """Return the jobs that the listing names in those parts, or all jobs that it names."""
        if not parts:
            return self._listing.page(JobKey, [JOBS], query)
        return self._listing.page(JobKey, parts, query, BY_STATE)

    def of_task(self, task: TaskKey, query: ListQuery[JobKey]) -> list[tuple[int, JobKey]]:
        """Return the jobs that the index of tasks names for a task."""
        return self._listing.page_of_task(task, query)

    def count(self, tenant: str) -> JobCounts:
        """Count a tenant's jobs and each part of them, all at once."""
        asked = [(JOBS, LISTING), *((part, BY_STATE) for part in Among)]
        counted = self._table.threads.map(lambda one: self._listing.count(tenant, *one), asked)
        in_all, *parts = counted
        return JobCounts(in_all, dict(zip(Among, parts, strict=True)))

    def count_open(self, tenant: str, before_at: int, most: int) -> int:
        """Count a tenant's jobs that have not ended."""
        return self._listing.count_older(tenant, Among.OPEN, before_at, most)

    def sample_open(self, tenant: str, most: int) -> list[JobKey]:
        """Return a fair sample of the jobs that the index names as open."""
        return self._listing.sample(tenant, Among.OPEN, most)


def _versions(refs: Sequence[TaskRef], current: _FoundRows, replaced: _FoundRows) -> list[Task | None]:
    """Return the named versions of tasks, from the rows of the current versions and of the replaced ones."""
    newest, older = ([to_task(row) for row in rows if row] for rows in (current, replaced))
    by_ref = {task.ref: task for task in (*older, *newest)}
    by_key = {task.key: task for task in newest}
    return [by_ref.get(ref) if ref.version else by_key.get(ref.key) for ref in refs]


def _brings_work(swap: Swap[Job]) -> bool:
    return swap.before.spec.work is not None and swap.after.spec.work not in (None, swap.before.spec.work)


def _bare(row: dict[str, Any]) -> Job:
    return _without(to_job(row))


def _without(job: Job) -> Job:
    return with_spec(job, work=None)


class DynamoRuns(DynamoRows[RunId, Run]):
    """The runs of one table."""

    def __init__(self, table: TableAccess) -> None:
        super().__init__(table, RowKind(Run, run_key, table.mapper.of_run, to_run))
        self._listing = Listing(table.reader, table.mapper.list_shards)

    def between(self, job: JobKey, first_at: int, last_at: int) -> list[Run]:
        """Return the schedule's runs with a fire time between two instants, both included."""
        rows = self._table.reader.between(job_key(job)["pk"], run_bound(first_at), run_bound(last_at) + LAST)
        return [run for run in map(self.row_in, rows) if run.id.origin is Origin.SCHEDULE]

    def ledger(self, query: LedgerQuery) -> LedgerPage:
        """Return a page. Under a filter it may be short, as it examines 1,000 rows at most."""
        rows, last = self._table.reader.page(
            KeyRange(
                job_key(query.job)["pk"],
                run_bound(query.from_at or 0),
                run_bound(10**15 - 1 if query.to_at is None else query.to_at) + LAST,
            ),
            limit=query.limit,
            states=[state.value for state in query.states],
            after=run_key(query.before) if query.before else None,
            examine=_MAX_EXAMINED,
            forward=query.oldest_first,
            strong=query.strong,
        )
        following = owner_of_row(last["pk"], last["sk"]) if last else None
        return LedgerPage(tuple(map(self.row_in, rows)), following if isinstance(following, RunId) else None)

    def newest(self, jobs: Sequence[JobKey], limit: int, to_at: int) -> list[list[Run]]:
        """Query all ledgers at the same time, each once: twelve rows of 600 bytes cost one read unit."""

        def rows_of(job: JobKey) -> list[Run]:
            first, last = run_bound(0), run_bound(to_at) + LAST
            rows = self._table.reader.backwards(job_key(job)["pk"], first, last, limit, strong=False)
            return [*map(self.row_in, islice(rows, limit))]

        return side_by_side(self._table.threads, rows_of, jobs)

    def ledgers(self, queries: Sequence[LedgerQuery]) -> list[LedgerPage]:
        """Return a page for each query: several requests at once."""
        return side_by_side(self._table.threads, self.ledger, queries)

    def notable(self, states: Sequence[RunState], query: ListQuery[RunId]) -> list[Run]:
        """Return what the index of notable runs has."""
        return [self.row_in(row) for row in self._listing.rows_of_runs(states, query)]

    def in_line(self, limiter: LimiterKey, permit: Permit, limit: int) -> list[RunId]:
        """Return the runs that the listing index names in the line."""
        partition = line_partition(limiter, permit)
        rows = self._table.reader.listed(LISTING, partition, 0, 10**16, limit, forward=True)
        found = ((row["listed_at"], owner_of_row(row["pk"], row["sk"])) for row in islice(rows, limit))
        return [run for _, run in sorted(found) if isinstance(run, RunId)]

    def dead_letters(self, query: ListQuery[RunId]) -> list[tuple[int, RunId]]:
        """Return what the listing index names as dead letters."""
        return self._listing.page(RunId, [DEAD], query)

    def count_dead_letters(self, tenant: str) -> Estimate:
        """Count what the listing index names as dead letters."""
        return self._listing.count(tenant, DEAD)
