"""Lists of runs over all jobs: whatever the order, the filter and the sizes, no run is missing and none comes twice."""

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.model.jobs.job import Job, JobSpec
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.notable import is_notable, noted
from timeball.domain.model.runs.run import TERMINAL, Run, RunState
from timeball.domain.model.terms.policies import Work
from timeball.domain.model.terms.target import HttpTarget
from timeball.domain.time.schedule import Every, Schedule
from timeball.engine.context import Context, Rules
from timeball.engine.runs.list_runs import BUDGET, GROUP, RunsCursor, RunsPage, RunsQuery, TooManyError, list_runs
from timeball.engine.runs.notable_runs import RunFilter
from timeball.ports.collections import LedgerPage, LedgerQuery
from timeball.ports.rows import ListQuery
from timeball.testing.memory_collections import MemoryRuns
from timeball.testing.memory_queue import MemoryQueue
from timeball.testing.memory_store import MemoryStore
from timeball.testing.recorders import KeptTelemetry
from timeball.testing.virtual_clock import VirtualClock

NOW = 1_800_000_000_000
SECOND, MINUTE = 1_000, 60_000
WORK = Work(HttpTarget("https://target.example/hook"))


class CountedRuns(MemoryRuns):
    """Runs that count read units as DynamoDB bills them: half a unit for 4 KB of a page, with rows of 700 bytes."""

    units = 0.0
    _ids: tuple[int, dict[JobKey, list[RunId]]] = (0, {})

    def _of_job(self, job: JobKey) -> list[Run]:
        if self._ids[0] != len(self):
            by_job: dict[JobKey, list[RunId]] = {}
            for run in sorted(self):
                by_job.setdefault(run.job, []).append(run)
            self._ids = len(self), by_job
        return [self[run] for run in self._ids[1].get(job, [])]

    def ledgers(self, queries: Sequence[LedgerQuery]) -> list[LedgerPage]:
        pages = super().ledgers(queries)
        self.units += sum(_units(len(page.runs) + (page.next_before is not None)) for page in pages)
        return pages

    def notable(self, states: Sequence[RunState], query: ListQuery[RunId]) -> list[Run]:
        page = super().notable(states, query)
        partitions = 4 * len(states)
        each = min(query.limit // partitions + 4, len(page))
        self.units += partitions * _units(each)
        return page


def _units(rows: int) -> float:
    return max(1, -(-rows * 700 // 4_096)) / 2


class World:
    """A tenant's jobs and runs."""

    def __init__(self) -> None:
        self.store = MemoryStore(runs=CountedRuns)
        self.clock = VirtualClock(NOW)
        queue = MemoryQueue(self.clock.now)
        self.context = Context(self.store, queue, self.clock, Rules(), KeptTelemetry())
        self.runs: CountedRuns = self.store.runs  # type: ignore[assignment]  # as it was made

    def add_jobs(self, count: int, tenant: str = "acme", **tags: str) -> list[JobKey]:
        keys = [JobKey(tenant, f"{tenant}-{number:05d}") for number in range(count)]
        specs = [JobSpec(key, Schedule(Every(60, NOW)), WORK, "print", tags=tags) for key in keys]
        at = NOW - 90 * MINUTE
        self.store.jobs.insert([Job(spec, 0, at + n // 3, at) for n, spec in enumerate(specs)], at)
        return keys

    def add(self, *runs: Run) -> None:
        self.store.runs.insert(list(runs), NOW)

    def pages(self, asked: RunsQuery, limit: int = 50) -> list[RunsPage]:
        """Return all pages of a list; each stays within 200 units."""
        pages: list[RunsPage] = []
        following: RunsCursor | None = None
        while not pages or following is not None:
            before = self.runs.units
            pages.append(list_runs(self.context, asked, limit, following))
            assert self.runs.units - before <= 200 - 2 - GROUP / 20  # the rest is for the names of the group's jobs
            following = pages[-1].following
        return pages

    def listed(self, asked: RunsQuery, limit: int = 50) -> list[Run]:
        return [run for page in self.pages(asked, limit) for run in page.runs]


@pytest.fixture
def world() -> World:
    return World()


def plain(job: JobKey, fire_at: int, took_ms: int = 300) -> Run:
    run = Run(RunId(job, fire_at, Origin.SCHEDULE), RunState.SUCCEEDED, 1, "normal", 0, fire_at, fire_at - 4_000)
    return replace(run, attempt=1, claimed_at=fire_at - 500, first_started_at=fire_at, finished_at=fire_at + took_ms)


def ended(job: JobKey, fire_at: int, end_at: int, state: RunState = RunState.FAILED, **fields: Any) -> Run:
    return replace(plain(job, fire_at), state=state, finished_at=end_at, **fields)


def running(job: JobKey, fire_at: int, state: RunState = RunState.RUNNING) -> Run:
    return replace(noted(plain(job, fire_at)), state=state, finished_at=None)


def query(*states: RunState, by_fire: bool = False, oldest_first: bool = False, **fields: Any) -> RunsQuery:
    where = {name: fields.pop(name) for name in ("job", "reason", "tags", "bounds", "task_id") if name in fields}
    from_at = fields.pop("from_at", NOW - 60 * MINUTE)
    return RunsQuery(
        RunFilter("acme", frozenset(states), **where), from_at, by_fire=by_fire, oldest_first=oldest_first, **fields
    )


def ids(runs: Sequence[Run]) -> list[str]:
    return [str(run.id) for run in runs]


def _random_runs(world: World, draw: random.Random, jobs: Sequence[JobKey]) -> None:
    """Add runs of all kinds, and some of another tenant; the fires of a job are from seconds to minutes apart."""
    for job in (*jobs, *world.add_jobs(2, "globex")):
        step = draw.choice((1, 7, 60, 600)) * SECOND
        for fire_at in range(NOW - draw.randrange(90) * MINUTE, NOW + 4 * SECOND, step)[-draw.choice((3, 40, 150)) :]:
            kind = draw.random()
            end_at = min(NOW - 3 * SECOND, fire_at + draw.choice((200, 9_000, 40_000, 1_800_000)))
            if fire_at > NOW - 14 * SECOND:
                run = replace(plain(job, fire_at), state=RunState.QUEUED, attempt=0, claimed_at=None, finished_at=None)
                world.add(replace(run, first_started_at=None))
            elif kind < 0.8:
                world.add(plain(job, fire_at, draw.choice((100, 1_000, 9_999))))
            elif kind < 0.95:
                state = draw.choice(sorted(TERMINAL))
                world.add(ended(job, fire_at, end_at, state, reason=draw.choice((None, Reason.OVERLAP))))
            else:
                world.add(running(job, fire_at, draw.choice((RunState.RUNNING, RunState.RETRYING))))


@pytest.mark.parametrize("seed", range(8))
def test_every_list_has_each_matching_run_once_in_order(world: World, seed: int) -> None:
    draw = random.Random(seed)  # noqa: S311 - a story, and no secret
    _random_runs(world, draw, world.add_jobs(draw.choice((1, 5, 30))))
    everything = [run for run in world.store.runs.values() if run.id.job.tenant == "acme"]
    for states in ([], [RunState.FAILED], [RunState.RUNNING, RunState.FAILED], [RunState.SUCCEEDED]):
        for by_fire in (False, True):
            for oldest_first in (False, True):
                fields: dict[str, Any] = {"reason": Reason.OVERLAP} if draw.random() < 0.2 else {}
                asked = query(*states, by_fire=by_fire, oldest_first=oldest_first, to_at=NOW + 10 * SECOND, **fields)
                matching = [run for run in everything if asked.where.matches(run) and asked.has(run)]
                in_order = sorted(matching, key=asked.position, reverse=not oldest_first)
                assert ids(world.listed(asked, draw.choice((3, 50, 200)))) == ids(in_order)


def test_groups_of_jobs_are_listed_one_after_the_other_each_in_order(world: World) -> None:
    jobs = world.add_jobs(2 * GROUP + 30)
    for number, job in enumerate(jobs):
        world.add(*(plain(job, NOW - n * MINUTE - number) for n in range(1, 4)))
    world.add(*(ended(job, NOW - 5 * MINUTE, NOW - MINUTE) for job in jobs[::7]))
    for by_fire in (False, True):
        runs = world.listed(query(by_fire=by_fire))
        assert sorted(ids(runs)) == sorted(map(str, (run.id for run in world.store.runs.values())))


def test_a_job_that_fires_each_second_hides_no_others(world: World) -> None:
    jobs = world.add_jobs(40)
    for job in jobs:
        world.add(*(plain(job, NOW - n * SECOND, took_ms=9_000) for n in range(12, 72)))
    runs = world.listed(query(from_at=NOW - 2 * MINUTE), 200)
    assert len(runs) == len(set(ids(runs))) == 40 * 60


def test_a_run_that_ends_while_the_list_is_paged_is_not_listed_again(world: World) -> None:
    jobs = world.add_jobs(4)
    live = [running(job, NOW - (n + 1) * MINUTE) for n, job in enumerate(jobs)]
    world.add(*live)
    for asked in (query(), query(RunState.RUNNING, RunState.FAILED)):
        first = list_runs(world.context, asked, 2)
        assert ids(first.runs) == ids(live[:2])
        world.store.runs[live[0].id] = replace(live[0], state=RunState.FAILED, finished_at=NOW + 1)
        world.clock.advance(10)
        second = list_runs(world.context, asked, 5, first.following)
        assert ids(second.runs) == ids(live[2:])
        world.store.runs[live[0].id] = live[0]


def test_tags_bound_a_list_to_runs_of_their_jobs(world: World) -> None:
    jobs = world.add_jobs(3)
    (other,) = [JobKey("acme", "other")]
    spec = JobSpec(other, Schedule(Every(60, NOW)), WORK, "print", tags={"team": "blue"})
    world.store.jobs.insert([Job(spec, 0, NOW - 90 * MINUTE, NOW)], NOW)
    for job in (*jobs, other):
        world.add(plain(job, NOW - MINUTE), ended(job, NOW - 2 * MINUTE, NOW - MINUTE))
    for fields in ({"tags": (("team", "blue"),)}, {"bounds": {"team": "blue"}}):
        for states in ([], [RunState.FAILED]):
            runs = world.listed(query(*states, **fields), 1)
            assert {run.id.job for run in runs} == {other}
            assert len(runs) == (1 if states else 2)


def test_one_job_is_listed_without_bounds_of_time(world: World) -> None:
    job, other = world.add_jobs(2)
    world.add(*(plain(job, NOW - n * 24 * 60 * MINUTE) for n in range(1, 90)), plain(other, NOW - MINUTE))
    assert len(world.listed(query(job=job, from_at=0))) == 89


def test_more_runs_than_can_be_sorted_by_fire_time_are_refused(world: World) -> None:
    (job,) = world.add_jobs(1)
    world.add(*(ended(job, NOW - n * SECOND, NOW) for n in range(1_501)))
    with pytest.raises(TooManyError):
        list_runs(world.context, query(RunState.FAILED, by_fire=True), 50)
    assert len(world.listed(query(RunState.FAILED), 200)) == 1_501


def test_a_budget_is_left_for_the_last_reads_of_a_page() -> None:
    assert BUDGET + GROUP / 20 <= 200
    assert not is_notable(plain(JobKey("acme", "job"), NOW))
