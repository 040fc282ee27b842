"""A store in memory: dictionaries of values, each method atomic under one lock. The due index never lags.

`lose_answers(n)` makes the next n conditional writes happen twice, as when the first answer is lost and repeated below.
"""

import hashlib
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from timeball.domain.attempt import Attempt
from timeball.domain.backfill import Backfill
from timeball.domain.evolve import evolve
from timeball.domain.host import Host, HostKey
from timeball.domain.ids import BackfillKey, JobKey, Origin, RunId
from timeball.domain.instants import LATEST
from timeball.domain.job import Job, Work
from timeball.domain.run import Run
from timeball.domain.slots import Slots
from timeball.ports import (
    Conclusion,
    DeadQuery,
    DuePage,
    DueQuery,
    LedgerPage,
    LedgerQuery,
    Owned,
    Owner,
    Swap,
    Swapped,
)
from timeball.testing.memory_index import DueIndex

_T = TypeVar("_T")
_Row = TypeVar("_Row", Job, Run, Backfill)
_Key = TypeVar("_Key", JobKey, RunId, BackfillKey)


class MemoryStore:
    """Everything the engine stores, in this process."""

    def __init__(self) -> None:
        self.jobs: dict[JobKey, Job] = {}
        self.runs: dict[RunId, Run] = {}
        self.attempts: dict[RunId, dict[int, Attempt]] = {}
        self.backfills: dict[BackfillKey, Backfill] = {}
        self.hosts: dict[HostKey, Host] = {}
        self.slots: dict[str, Slots] = {}
        self.works: dict[tuple[JobKey, str], Work] = {}
        self.requests: dict[tuple[JobKey, str], int] = {}
        self.cursors: dict[int, int] = {}
        self.owners: dict[int, Owner] = {}
        self._due_index = DueIndex()
        self._due = self._due_index.entries
        self._lock = threading.RLock()
        self._answers_to_lose = 0

    def lose_answers(self, count: int) -> None:
        """Make the next conditional writes lose their first answer."""
        self._answers_to_lose = count

    def create_jobs(self, jobs: Sequence[Job], now: int) -> list[Job | None]:
        """Insert each job that is not there."""
        return [self._repeatedly(partial(self._create_job, job, now)) for job in jobs]

    def read_jobs(
        self,
        keys: Sequence[JobKey],
        *,
        with_work: bool = False,
        strong: bool = True,  # noqa: ARG002 - all are
    ) -> list[Job | None]:
        """Return each job; its work only if that was asked for, so that nobody relies on it by chance."""
        with self._lock:
            found = [self.jobs.get(key) for key in keys]
            return found if with_work else [job and _with_work(job, None) for job in found]

    def swap_jobs(self, swaps: Sequence[Swap[Job]], now: int) -> list[Swapped[Job]]:
        """Replace each job that is as it was read."""
        return [self._repeatedly(partial(self._swap_job, swap, now)) for swap in swaps]

    def conclude_jobs(self, conclusions: Sequence[Conclusion]) -> list[bool]:
        """Give each job its final status where the conclusion's conditions hold."""
        return [self._conclude(conclusion) for conclusion in conclusions]

    def save_works(self, works: Sequence[tuple[JobKey, Work]], now: int) -> list[str]:  # noqa: ARG002 - kept for good
        """Keep each work under a name that is made from it."""
        with self._lock:
            names = [hashlib.blake2b(repr(work).encode(), digest_size=16).hexdigest() for _, work in works]
            self.works.update({(key, name): work for (key, work), name in zip(works, names, strict=True)})
            return names

    def read_works(self, names: Sequence[tuple[JobKey, str]]) -> list[Work | None]:
        """Return each work."""
        with self._lock:
            return [self.works.get(name) for name in names]

    def remember(self, job: JobKey, request: str, at: int, now: int) -> int:  # noqa: ARG002 - kept for good
        """Note when a request took effect; the first note stands."""
        with self._lock:
            return self.requests.setdefault((job, request), at)

    def create_backfills(self, backfills: Sequence[Backfill], now: int) -> list[Backfill | None]:
        """Insert each backfill that is not there."""
        return [self._repeatedly(partial(self._create_backfill, backfill, now)) for backfill in backfills]

    def read_backfills(self, keys: Sequence[BackfillKey]) -> list[Backfill | None]:
        """Return each backfill."""
        with self._lock:
            return [self.backfills.get(key) for key in keys]

    def swap_backfills(self, swaps: Sequence[Swap[Backfill]], now: int) -> list[Swapped[Backfill]]:
        """Replace each backfill that is as it was read."""
        return [self._repeatedly(partial(self._swap_backfill, swap, now)) for swap in swaps]

    def backfills_of(self, job: JobKey, after: str = "", limit: int | None = None) -> list[Backfill]:
        """Return a job's backfills."""
        with self._lock:
            own = [one for key, one in sorted(self.backfills.items()) if key.job == job and key.name > after]
            return own[:limit]

    def read_slots(self, tenants: Sequence[str]) -> list[Slots]:
        """Return each tenant's slots."""
        with self._lock:
            return [self.slots.get(tenant, Slots(tenant)) for tenant in tenants]

    def swap_slots(self, swaps: Sequence[Swap[Slots]]) -> list[Swapped[Slots]]:
        """Replace the slots of each tenant that are as they were read."""
        return [self._repeatedly(partial(self._swap_slots, swap)) for swap in swaps]

    def insert_runs(self, runs: Sequence[Run], now: int) -> list[Run | None]:
        """Insert each run that is not there."""
        return [self._repeatedly(partial(self._insert_run, run, now)) for run in runs]

    def read_runs(self, ids: Sequence[RunId], *, strong: bool = True) -> list[Run | None]:  # noqa: ARG002 - all are
        """Return each run."""
        with self._lock:
            return [self.runs.get(run_id) for run_id in ids]

    def swap_runs(self, swaps: Sequence[Swap[Run]], now: int) -> list[Swapped[Run]]:
        """Replace each run that is as it was read."""
        return [self._repeatedly(partial(self._swap_run, swap, now)) for swap in swaps]

    def runs_between(self, job: JobKey, first_at: int, last_at: int) -> list[Run]:
        """Return the schedule's runs whose fire time lies within."""
        return [
            run
            for run in self._runs_of(job)
            if run.id.origin is Origin.SCHEDULE and first_at <= run.id.fire_at <= last_at
        ]

    def live_runs(self, job: JobKey, since_at: int, through_at: int = LATEST) -> list[Run]:
        """Return the job's runs that are not over."""
        return [run for run in self._runs_of(job) if not run.is_terminal and since_at <= run.id.fire_at <= through_at]

    def ledger(self, query: LedgerQuery) -> LedgerPage:
        """Return a page, newest first."""
        matching = [
            run
            for run in reversed(self._runs_of(query.job))
            if (query.from_at is None or run.id.fire_at >= query.from_at)
            and (query.to_at is None or run.id.fire_at <= query.to_at)
            and (query.before is None or _position(run.id) < _position(query.before))
            and (not query.states or run.state in query.states)
        ]
        page = tuple(matching[: query.limit])
        return LedgerPage(page, page[-1].id if len(matching) > len(page) else None)

    def dead_letters(self, query: DeadQuery) -> list[tuple[int, RunId]]:
        """Return the dead letters of a tenant, by when they died."""
        with self._lock:
            dead = sorted(
                ((run.finished_at or 0), run.id)
                for run in self.runs.values()
                if run.is_dead_letter and run.id.job.tenant == query.tenant
            )
        within = [one for one in dead if query.from_at <= one[0] <= query.to_at]
        if query.oldest_first:
            following = [one for one in within if query.after is None or one > query.after]
        else:
            following = [one for one in reversed(within) if query.after is None or one < query.after]
        return following[: query.limit]

    def read_hosts(self, keys: Sequence[HostKey]) -> list[Host | None]:
        """Return each host's row."""
        with self._lock:
            return [self.hosts.get(key) for key in keys]

    def create_hosts(self, hosts: Sequence[Host], now: int) -> list[Host | None]:  # noqa: ARG002 - kept for good
        """Insert each host's row that is not there."""
        return [self._repeatedly(partial(self._create_host, host)) for host in hosts]

    def swap_hosts(self, swaps: Sequence[Swap[Host]], now: int) -> list[Swapped[Host]]:  # noqa: ARG002 - as above
        """Replace each host's row that is as it was read."""
        return [self._repeatedly(partial(self._swap_host, swap)) for swap in swaps]

    def save_attempts(self, attempts: Sequence[tuple[RunId, Attempt]], now: int) -> list[Attempt | None]:  # noqa: ARG002 - kept for good
        """Keep each attempt that is not kept."""
        return [self._repeatedly(partial(self._save_attempt, run_id, attempt)) for run_id, attempt in attempts]

    def replace_attempts(self, attempts: Sequence[tuple[RunId, Attempt]], now: int) -> None:  # noqa: ARG002 - kept for good
        """Keep each attempt instead of what was kept."""
        with self._lock:
            for run_id, attempt in attempts:
                self.attempts.setdefault(run_id, {})[attempt.number] = attempt

    def read_attempts(self, run: RunId) -> list[Attempt]:
        """Return what was kept of a run's attempts, by number."""
        with self._lock:
            return [attempt for _, attempt in sorted(self.attempts.get(run, {}).items())]

    def due(self, queries: Sequence[DueQuery]) -> list[DuePage]:
        """Answer from the entries as they stand."""
        with self._lock:
            return [self._due_index.page(query) for query in queries]

    def take_partition(self, partition: int, owner: Owner) -> bool:
        """Let the greater owner have the partition."""
        with self._lock:
            self.owners[partition] = max(self.owners.get(partition, owner), owner)
            return self.owners[partition] == owner

    def read_cursors(self, shards: Sequence[int]) -> dict[int, int]:
        """Return the cursors."""
        with self._lock:
            return {shard: self.cursors[shard] for shard in shards if shard in self.cursors}

    def move_cursor(self, shard: int, oldest_hour_at: int) -> None:
        """Move the cursor forward."""
        with self._lock:
            self.cursors[shard] = max(self.cursors.get(shard, 0), oldest_hour_at)

    def _repeatedly(self, write: Callable[[], _T]) -> _T:
        with self._lock:
            answer = write()
            if self._answers_to_lose > 0:
                self._answers_to_lose -= 1
                answer = write()
            return answer

    def _save_attempt(self, run_id: RunId, attempt: Attempt) -> Attempt | None:
        standing = self.attempts.setdefault(run_id, {}).setdefault(attempt.number, attempt)
        return None if standing == attempt else standing

    def _create_job(self, job: Job, now: int) -> Job | None:
        standing = self.jobs.get(job.key)
        if standing is not None:
            return None if standing == job else standing
        self.jobs[job.key] = job
        self._index(job.key, job.due_at, job.shard, now)
        return None

    def _swap_job(self, swap: Swap[Job], now: int) -> Swapped[Job]:
        standing = self.jobs.get(swap.before.key)
        after = _with_work(swap.after, standing.work) if standing and not swap.with_work else swap.after
        return self._swap(self.jobs, swap.before.key, Swap(swap.before, after), now)

    def _create_backfill(self, backfill: Backfill, now: int) -> Backfill | None:
        standing = self.backfills.get(backfill.key)
        if standing is not None:
            return None if standing == backfill else standing
        self.backfills[backfill.key] = backfill
        self._index(backfill.key, backfill.due_at, backfill.shard, now)
        return None

    def _swap_backfill(self, swap: Swap[Backfill], now: int) -> Swapped[Backfill]:
        return self._swap(self.backfills, swap.before.key, swap, now)

    def _create_host(self, host: Host) -> Host | None:
        standing = self.hosts.setdefault(host.key, host)
        return None if standing == host else standing

    def _swap_host(self, swap: Swap[Host]) -> Swapped[Host]:
        standing = self.hosts.get(swap.before.key)
        if standing is not None and standing != swap.after and standing.revision == swap.before.revision:
            standing = self.hosts[swap.before.key] = swap.after
        return Swapped(standing == swap.after, standing)

    def _swap_slots(self, swap: Swap[Slots]) -> Swapped[Slots]:
        standing = self.slots.get(swap.before.tenant)
        if (standing.revision if standing else 0) == swap.before.revision:
            standing = self.slots[swap.before.tenant] = swap.after
        return Swapped(standing == swap.after, standing)

    def _swap_run(self, swap: Swap[Run], now: int) -> Swapped[Run]:
        return self._swap(self.runs, swap.before.id, swap, now)

    def _swap(self, rows: dict[_Key, _Row], key: _Key, swap: Swap[_Row], now: int) -> Swapped[_Row]:
        standing = rows.get(key)
        if standing is None:
            return Swapped(done=False, row=None)
        if standing.revision == swap.after.revision and standing == swap.after:
            return Swapped(done=True, row=standing)
        if standing.revision != swap.before.revision:
            return Swapped(done=False, row=standing)
        rows[key] = swap.after
        if standing.due_at != swap.after.due_at:
            self._index(key, swap.after.due_at, swap.after.shard, now)
        return Swapped(done=True, row=swap.after)

    def _conclude(self, conclusion: Conclusion) -> bool:
        with self._lock:
            job = self.jobs.get(conclusion.job)
            if job is None or job.status not in conclusion.open_statuses or job.final_fire_at != conclusion.fire_at:
                return False
            self.jobs[job.key] = evolve(
                job,
                status=conclusion.status,
                updated_at=conclusion.at,
                next_fire_at=None,
                due_at=None if job.intent is None else job.due_at,
                revision=job.revision + 1,
            )
            if job.intent is None:
                self._index(job.key, None, job.shard, conclusion.at)
            return True

    def _insert_run(self, run: Run, now: int) -> Run | None:
        standing = self.runs.get(run.id)
        if standing is not None:
            return None if standing == run else standing
        self.runs[run.id] = run
        self._index(run.id, run.due_at, run.shard, now)
        return None

    def _runs_of(self, job: JobKey) -> list[Run]:
        with self._lock:
            return sorted((run for run in self.runs.values() if run.id.job == job), key=lambda run: _position(run.id))

    def _index(self, key: Owned, due_at: int | None, shard: int, now: int) -> None:
        self._due_index.put(key, due_at, shard, now)


def _position(run: RunId) -> tuple[int, str, str]:
    return run.fire_at, run.origin.value, run.series


def _with_work(job: Job, work: Work | None) -> Job:
    return job if job.work is work else evolve(job, work=work)
