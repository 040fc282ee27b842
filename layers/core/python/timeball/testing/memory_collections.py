"""Collections in memory: the queries of each beyond reading and writing rows."""

from collections import Counter
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any, Generic, TypeVar

from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey, LimiterKey, Origin, RunId, TaskKey, fraction_of
from timeball.domain.model.jobs.job import Job, with_spec
from timeball.domain.model.jobs.job_states import Among, among
from timeball.domain.model.jobs.task import Task, TaskRef
from timeball.domain.model.runs.notable import is_notable, ordered_at
from timeball.domain.model.runs.run import Permit, Run, RunState, Waiting
from timeball.domain.model.terms.policies import Work
from timeball.domain.usage.spending import Estimate, JobCounts
from timeball.ports.collections import LedgerPage, LedgerQuery
from timeball.ports.rows import Id, ListQuery, Row, Swap, Swapped
from timeball.testing.memory_rows import Memory, MemoryRows, RowKey

Owner = TypeVar("Owner")


class MemoryJobs(MemoryRows[JobKey, Job]):
    """The jobs. Work is returned only by a reading that asks for it, so that no code relies on it by chance."""

    tasks: "MemoryTasks"
    """The tasks that are read together with jobs."""

    def insert(self, rows: Sequence[Job], now: int) -> list[Job | None]:
        """Insert each job that does not exist."""
        return [job and _with_work(job, None) for job in super().insert(rows, now)]

    def read(self, keys: Sequence[JobKey], *, strong: bool = True, with_work: bool = False) -> list[Job | None]:
        """Return each job; its work only if that was asked for."""
        found = super().read(keys, strong=strong)
        return found if with_work else [job and _with_work(job, None) for job in found]

    def swap(self, swaps: Sequence[Swap[Job]], now: int) -> list[Swapped[Job]]:
        """Replace each job that is unchanged since it was read."""
        return [evolve(one, row=one.row and _with_work(one.row, None)) for one in super().swap(swaps, now)]

    def listed(self, parts: Sequence[Among], query: ListQuery[JobKey]) -> list[tuple[int, JobKey]]:
        """Return the jobs of a tenant, or of parts of them, by their creation."""
        with self._memory.lock:
            own = [job for job in self._of_users() if job.key.tenant == query.tenant]
            jobs = [(job.created_at, job.key) for job in own if self._is_listed(job, parts)]
        return _page(jobs, query)

    def _is_listed(self, job: Job, parts: Sequence[Among]) -> bool:
        """Return whether the index has a job in one of these parts, or (none) at all; this index never lags."""
        return not parts or among(job.status) in parts

    def read_with_tasks(
        self, keys: Sequence[JobKey], refs: Sequence[TaskRef], *, with_work: bool = False
    ) -> tuple[list[Job | None], list[Task | None]]:
        """Return jobs, and versions of tasks."""
        with self._memory.lock:
            return self.read(keys, with_work=with_work), [self.tasks.version(ref) for ref in refs]

    def of_task(self, task: TaskKey, query: ListQuery[JobKey]) -> list[tuple[int, JobKey]]:
        """Return a task's jobs, by their creation."""
        with self._memory.lock:
            own = [job for job in self.values() if job.key.tenant == task.tenant and job.task_id == task.task_id]
            return _page([(job.created_at, job.key) for job in own], query)

    def count(self, tenant: str) -> JobCounts:
        """Count a tenant's jobs."""
        with self._memory.lock:
            found = Counter(among(job.status) for job in self._of_users() if job.key.tenant == tenant)
        return JobCounts(Estimate(found.total()), {permit: Estimate(found[permit]) for permit in Among})

    def count_open(self, tenant: str, before_at: int, most: int) -> int:
        """Count a tenant's jobs that have not ended."""
        with self._memory.lock:
            own = [job for job in self._of_users() if job.key.tenant == tenant and job.created_at < before_at]
            return min(sum(job.is_open for job in own), most)

    def sample_open(self, tenant: str, most: int) -> list[JobKey]:
        """Return a tenant's open jobs, those with the lowest hashes first."""
        with self._memory.lock:
            keys = [job.key for job in self._of_users() if job.key.tenant == tenant and job.is_open]
        return sorted(keys, key=lambda key: fraction_of("listed", key.tenant, key.job_id))[:most]

    def _of_users(self) -> list[Job]:
        return [job for job in self.values() if job.spec.notice is None]

    def _swap(self, swap: Swap[Job], now: int, write_id: int) -> Swapped[Job]:
        standing = self.get(swap.before.key)
        if standing is None or swap.before.spec.work is None or swap.after.spec.work in (None, swap.before.spec.work):
            swap = Swap(swap.before, _with_work(swap.after, standing.spec.work if standing else None))
        if standing is not None and _with_work(swap.before, None).spec == _with_work(swap.after, None).spec:
            swap = Swap(swap.before, with_spec(evolve(swap.after, spec=standing.spec), work=swap.after.spec.work))
        return super()._swap(swap, now, write_id)


class MemoryRuns(MemoryRows[RunId, Run]):
    """The runs."""

    def __init__(self, memory: Memory) -> None:
        super().__init__(memory, "id")

    def between(self, job: JobKey, first_at: int, last_at: int) -> list[Run]:
        """Return the schedule's runs with a fire time between two instants, both included."""
        return [
            run
            for run in self._of_job(job)
            if run.id.origin is Origin.SCHEDULE and first_at <= run.id.fire_at <= last_at
        ]

    def ledger(self, query: LedgerQuery) -> LedgerPage:
        """Return a page, newest first."""
        within = [
            run
            for run in self._of_job(query.job)
            if (query.from_at is None or run.id.fire_at >= query.from_at)
            and (query.to_at is None or run.id.fire_at <= query.to_at)
            and (query.before is None or _is_next(run.id, query.before, oldest_first=query.oldest_first))
            and (not query.states or run.state in query.states)
        ]
        matching = within if query.oldest_first else within[::-1]
        page = tuple(matching[: query.limit])
        return LedgerPage(page, page[-1].id if len(matching) > len(page) else None)

    def newest(self, jobs: Sequence[JobKey], limit: int, to_at: int) -> list[list[Run]]:
        """Return the newest rows of each ledger."""
        return [list(self.ledger(LedgerQuery(job, limit, to_at=to_at)).runs) for job in jobs]

    def ledgers(self, queries: Sequence[LedgerQuery]) -> list[LedgerPage]:
        """Return a page for each query."""
        return [self.ledger(query) for query in queries]

    def notable(self, states: Sequence[RunState], query: ListQuery[RunId]) -> list[Run]:
        """Return the notable runs of a tenant in these states; this index never lags."""
        with self._memory.lock:
            own = [run for run in self.values() if run.id.job.tenant == query.tenant and run.state in states]
        entries = [(ordered_at(run), run.id) for run in own if is_notable(run)]
        return [self[run_id] for _, run_id in _page(entries, query)]

    def in_line(self, limiter: LimiterKey, permit: Permit, limit: int) -> list[RunId]:
        """Return the runs that wait in a line."""
        mine = Waiting(limiter.name, permit)
        with self._memory.lock:
            waiting = [(run.line_order, run.id) for run in self.values() if run.waiting == mine]
        return [run for _, run in sorted(waiting) if run.job.tenant == limiter.tenant][:limit]

    def dead_letters(self, query: ListQuery[RunId]) -> list[tuple[int, RunId]]:
        """Return the dead letters of a tenant, by the time of their failure."""
        with self._memory.lock:
            dead = [((run.finished_at or 0), run.id) for run in self.values() if run.is_dead_letter]
        return _page([one for one in dead if one[1].job.tenant == query.tenant], query)

    def count_dead_letters(self, tenant: str) -> Estimate:
        """Count the dead letters of a tenant."""
        with self._memory.lock:
            return Estimate(sum(run.is_dead_letter and run.id.job.tenant == tenant for run in self.values()))

    def _of_job(self, job: JobKey) -> list[Run]:
        with self._memory.lock:
            return sorted((run for run in self.values() if run.id.job == job), key=lambda run: _position(run.id))


def _page(entries: Sequence[tuple[int, Id]], query: ListQuery[Id]) -> list[tuple[int, Id]]:
    """Return the entries after a position, in the order of the query."""
    first_at, last_at = query.span
    within = [one for one in entries if first_at <= one[0] <= last_at and query.is_next(one)]
    return sorted(within, reverse=not query.oldest_first)[: query.limit]


class MemoryNamedRows(MemoryRows[RowKey, Row], Generic[Owner, RowKey, Row]):
    """Rows of owners. `owner_and_name` returns the two parts of a key."""

    def __init__(self, memory: Memory, owner_and_name: Callable[[RowKey], tuple[Owner, str]], key: str = "key") -> None:
        super().__init__(memory, key)
        self._owner_and_name: Callable[[RowKey], tuple[Owner, str]] = owner_and_name

    def of_owner(self, owner: Owner, after: str = "", limit: int | None = None) -> list[Row]:
        """Return an owner's rows after a name."""
        with self._memory.lock:
            named = [(*self._owner_and_name(key), row) for key, row in self.items()]
        own = sorted(((name, row) for one, name, row in named if one == owner and name > after), key=itemgetter(0))
        return [row for _, row in own if not getattr(row, "is_deleted", False)][:limit]


class MemoryListedRows(MemoryRows[RowKey, Row]):
    """Rows that are listed by their creation, unless they are deleted."""

    def listed(self, query: ListQuery[RowKey]) -> list[tuple[int, RowKey]]:
        """Return the rows of a tenant."""
        with self._memory.lock:
            rows: list[tuple[Any, Any]] = [*self.items()]
        there = [(row.created_at, key) for key, row in rows if not getattr(row, "is_deleted", False)]
        return _page([one for one in there if one[1].tenant == query.tenant], query)


class MemoryTasks(MemoryListedRows[TaskKey, Task]):
    """The tasks, and their replaced versions."""

    def __init__(self, memory: Memory) -> None:
        super().__init__(memory)
        self.replaced: MemoryRows[TaskRef, Task] = MemoryRows(memory, "ref")

    def version(self, ref: TaskRef) -> Task | None:
        """Return a version of a task."""
        task = self.get(ref.key)
        return task if task is not None and ref.version in (None, task.version) else self.replaced.get(ref)


def _is_next(run: RunId, after: RunId, *, oldest_first: bool) -> bool:
    return _position(run) > _position(after) if oldest_first else _position(run) < _position(after)


def _position(run: RunId) -> tuple[int, str, str, int]:
    return run.fire_at, run.origin.value, run.series, run.generation


def _with_work(job: Job, work: Work | None) -> Job:
    return job if job.spec.work is work else with_spec(job, work=work)
