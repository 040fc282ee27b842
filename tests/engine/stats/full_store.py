"""A full store: 10,000 jobs, 100,000 runs, thousands of them notable in every state, beside those of other tenants.

Reads cost what DynamoDB bills for them. Notable runs are read as the adapter reads them: from shards, in pages.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from operator import itemgetter
from typing import Any, cast

from tests.engine.runs.test_list_runs import MINUTE, NOW, SECOND, CountedRuns, World, ended, plain, running
from timeball.aws.dynamodb.listing import Listing
from timeball.aws.dynamodb.table.keys import owner_of_row
from timeball.aws.dynamodb.table.mapper import Mapper
from timeball.aws.dynamodb.table.queries import TableReader
from timeball.aws.dynamodb.table.schema import NOTABLE, Index
from timeball.domain.model.ids import JobKey, RunId
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.jobs.job_states import Among
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.notable import is_notable
from timeball.domain.model.runs.run import TERMINAL, Run, RunState
from timeball.domain.model.runs.values import Attempt, Outcome
from timeball.ports.rows import ListQuery
from timeball.testing.memory_collections import MemoryJobs
from timeball.testing.memory_store import MemoryStore

JOBS = 10_000
RUNS = 10
"""The runs of each job."""
OTHERS = 500
"""The jobs of another tenant, with as many runs each."""
_PART = 4_096
"""Half a read unit reads so many bytes."""
_NAMES = 40
"""So many names of the listing fit into them."""
_ERROR = "The target https://target.example/hook answered with status 503: the upstream is not available."


class CountedJobs(MemoryJobs):
    """Jobs that count read units: half a unit for a row, and for 40 names of the listing."""

    units = 0.0

    def read(self, keys: Sequence[JobKey], *, strong: bool = True, with_work: bool = False) -> list[Job | None]:
        self.units += len(keys) * (1 if strong else 0.5)
        return super().read(keys, strong=strong, with_work=with_work)

    def listed(self, parts: Sequence[Among], query: ListQuery[JobKey]) -> list[tuple[int, JobKey]]:
        page = super().listed(parts, query)
        self.units += max(4, len(page) / _NAMES) / 2
        return page


class NotableIndex:
    """The partitions of the index of notable runs, with the bytes of each entry, as a reader of the table."""

    def __init__(self, runs: Sequence[Run]) -> None:
        self.units = 0.0
        self._partitions: dict[str, list[dict[str, Any]]] = {}
        mapper = Mapper()
        for run in runs:
            row: dict[str, Any] = mapper.of_run(run, NOW)
            row["bytes"] = sum(len(name) + len(str(value)) for name, value in row.items())
            self._partitions.setdefault(row["notable_key"], []).append(row)
        for rows in self._partitions.values():
            rows.sort(key=itemgetter(NOTABLE.sort.name))

    def listed(
        self, _: Index, partition: str, first_at: int, last_at: int, page: int, *, forward: bool, following: int
    ) -> Iterator[dict[str, Any]]:
        """Yield the entries of a partition; each page is billed by its bytes."""
        rows = [row for row in self._partitions.get(partition, []) if first_at <= row[NOTABLE.sort.name] <= last_at]
        left = iter(rows if forward else rows[::-1])
        while True:
            read = list(islice(left, page))
            self.units += max(1, -(-sum(row["bytes"] for row in read) // _PART)) / 2
            yield from read
            if len(read) < page:
                return
            page = following


class IndexedRuns(CountedRuns):
    """Runs that also count the newest rows of ledgers, and whose notable ones are in an index."""

    _index = NotableIndex([])
    _indexed = 0

    def newest(self, jobs: Sequence[JobKey], limit: int, to_at: int) -> list[list[Run]]:
        found = [[run for run in self._of_job(job)[::-1] if run.id.fire_at <= to_at][:limit] for job in jobs]
        self.units += sum(max(1, -(-len(rows) * 700 // _PART)) / 2 for rows in found)
        return found

    def notable(self, states: Sequence[RunState], query: ListQuery[RunId]) -> list[Run]:
        if self._indexed != len(self):
            self._index, self._indexed = NotableIndex([run for run in self.values() if is_notable(run)]), len(self)
        before = self._index.units
        rows = Listing(cast(TableReader, self._index), Mapper().list_shards).rows_of_runs(states, query)
        self.units += self._index.units - before
        return [self[run] for row in rows if isinstance(run := owner_of_row(row["pk"], row["sk"]), RunId)]


class FullStore(World):
    """The world of a tenant with many jobs and runs, and of another tenant."""

    def __init__(self) -> None:
        super().__init__()
        self.store = MemoryStore(jobs=CountedJobs, runs=IndexedRuns)
        object.__setattr__(self.context, "store", self.store)
        self.runs = cast(IndexedRuns, self.store.runs)
        for tenant, count in (("acme", JOBS), ("globex", OTHERS)):
            for number, key in enumerate(self.add_jobs(count, tenant)):
                self.add(*_runs_of(key, number))

    @property
    def units(self) -> float:
        """The read units of all jobs and runs that were read."""
        return self.runs.units + cast(CountedJobs, self.store.jobs).units


def _runs_of(key: JobKey, number: int) -> list[Run]:
    """Return the runs of a job: one a minute, of which some jobs have notable ones in between."""
    fires = [NOW - minutes * MINUTE - number * 13 % 60 * SECOND - number % 1_000 for minutes in range(1, RUNS + 1)]
    found = [plain(key, fire_at) for fire_at in fires]
    states = sorted(RunState)
    if number % 4 == 0:
        found[2:4] = [_notable(key, at, states[(number // 4 + at) % len(states)]) for at in fires[2:4]]
    if number % 5 == 0:
        found[0] = _notable(key, fires[0], RunState.RUNNING if number % 2 else RunState.FAILED)
    return found


def _notable(key: JobKey, fire_at: int, state: RunState) -> Run:
    if state is RunState.QUEUED:
        run = running(key, fire_at, state)
        return replace(run, attempt=0, claimed_at=None, first_started_at=None)
    if state not in TERMINAL:
        return running(key, fire_at, state)
    last = Attempt(1, Outcome.FAILED, fire_at, fire_at, fire_at + 400, 503, _ERROR)
    reason = {RunState.FAILED: Reason.NOT_RETRIABLE, RunState.SKIPPED: Reason.OVERLAP}.get(state)
    return ended(key, fire_at, fire_at + 15 * SECOND, state, reason=reason, last=last)
