"""The cost of an answer about the present state beside 10,000 jobs and 100,000 runs."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from tests.effort import at_most
from tests.engine.runs.test_list_runs import MINUTE, NOW, SECOND, CountedRuns, World, ended, plain, running
from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.jobs.job_states import Among
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.usage.attention import Concern
from timeball.engine.digest import FRESH_MS
from timeball.engine.now import Now, read_now
from timeball.engine.scheduling.upcoming import MOST_JOBS
from timeball.ports.rows import ListQuery
from timeball.testing.memory_collections import MemoryJobs
from timeball.testing.memory_store import MemoryStore

JOBS = 10_000
OTHERS = 8
"""The units of reads that do not grow: freezes, the hour's counts, the last tick, and the due index of four shards."""
SOME = 60
"""Runs that are late, that run and that failed, of each kind."""


class CountedJobs(MemoryJobs):
    """Jobs that count read units as DynamoDB bills them: half a unit for a row, and for 40 names of the listing."""

    units = 0.0

    def read(self, keys: Sequence[JobKey], *, strong: bool = True, with_work: bool = False) -> list[Job | None]:
        self.units += len(keys) * (1 if strong else 0.5)
        return super().read(keys, strong=strong, with_work=with_work)

    def listed(self, parts: Sequence[Among], query: ListQuery[JobKey]) -> list[tuple[int, JobKey]]:
        page = super().listed(parts, query)
        self.units += max(4, len(page) / 40) / 2
        return page


class CountedLedgers(CountedRuns):
    """Runs that also count the newest rows of ledgers: half a unit for six rows."""

    def newest(self, jobs: Sequence[JobKey], limit: int, to_at: int) -> list[list[Run]]:
        found = [[run for run in self._of_job(job)[::-1] if run.id.fire_at <= to_at][:limit] for job in jobs]
        self.units += sum(max(1, -(-len(rows) * 700 // 4_096)) / 2 for rows in found)
        return found


class Watched(World):
    """A tenant with many jobs, each with ten runs, and a screen that asks."""

    def __init__(self) -> None:
        super().__init__()
        self.store = MemoryStore(jobs=CountedJobs, runs=CountedLedgers)
        object.__setattr__(self.context, "store", self.store)
        self.runs = self.store.runs  # type: ignore[assignment]  # as it was made
        keys = self.add_jobs(JOBS)
        self.add(*(plain(key, NOW - minutes * MINUTE - n) for n, key in enumerate(keys) for minutes in range(1, 11)))
        self.add(*(running(key, NOW - 10 * SECOND - n) for n, key in enumerate(keys[:SOME])))
        waiting = [running(key, NOW - 10 * SECOND - n, RunState.QUEUED) for n, key in enumerate(keys[SOME : 2 * SOME])]
        self.add(*(replace(run, attempt=0, claimed_at=None, first_started_at=None) for run in waiting))
        self.add(*(ended(key, NOW - 12 * SECOND - n, NOW - n) for n, key in enumerate(keys[:SOME])))

    def asked(self) -> tuple[Now, float]:
        """Return an answer, and the read units that it took."""
        jobs: CountedJobs = self.store.jobs  # type: ignore[assignment]  # as it was made
        before = self.runs.units + jobs.units
        found = read_now(self.context, "acme", {})
        return found, self.runs.units + jobs.units - before + OTHERS


@pytest.fixture(scope="module")
def watched() -> Watched:
    return Watched()


def test_a_digest_costs_a_unit_a_job_and_an_answer_that_finds_one_thirty(watched: Watched) -> None:
    pages = [watched.asked() for _ in range(JOBS // MOST_JOBS + 1)]
    assert [found.digest is None for found, _ in pages] == [True] * (len(pages) - 1) + [False]
    _, alone = watched.asked()
    assert alone <= 30
    whole = sum(units - alone for _, units in pages)
    assert whole <= 1.03 * JOBS
    found, _ = watched.asked()
    assert found.digest is not None
    kinds = {one.kind for one in found.needs_attention}
    assert {Concern.LATE, Concern.FAILING} <= kinds
    assert len(found.running) + sum(one.kind is Concern.LATE for one in found.needs_attention) <= 100
    watched.clock.advance(FRESH_MS)
    _, again = watched.asked()
    assert again > alone


def test_an_answer_that_finds_a_digest_takes_a_tenth_of_a_second(watched: Watched) -> None:
    while read_now(watched.context, "acme", {}).digest is None:
        pass
    notable = [run for run in watched.store.runs.values() if not run.is_terminal or run.state is RunState.FAILED]
    watched.store.runs.clear()  # the memory store examines every run where DynamoDB has an index
    watched.add(*notable)
    with at_most(100):
        watched.asked()
