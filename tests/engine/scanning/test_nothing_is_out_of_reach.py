"""Days of slow writers with skewed clocks: scans reach every row that was ever written."""

import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from tests.engine.play import Play, spec
from tests.engine.scanning.days import EMPTY, TODAY, Odd, OddJobs
from tests.engine.skewed_clock import SkewedClock
from timeball.domain.model.ids import JobKey, Shards
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.jobs.job_states import new_job
from timeball.domain.time.instants import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS
from timeball.domain.time.schedule import At
from timeball.engine.context import Context
from timeball.engine.scanning import buckets
from timeball.engine.scanning.buckets import Sweeps, day_of, note_pages, to_ask
from timeball.engine.scanning.scan import scan
from timeball.ports.due_index import DuePage, DueQuery, Owned, Owner
from timeball.testing.memory_kept import MemoryDueIndex
from timeball.testing.memory_rows import Buckets
from timeball.testing.memory_store import MemoryStore
from timeball.testing.virtual_clock import VirtualClock


class SlowMemory(Odd):
    """The state of a store whose due index lags behind its rows by up to ten minutes, in order for each key."""

    def __init__(self, clock: VirtualClock, random: Random) -> None:
        super().__init__()
        self._clock, self._random = clock, random
        self._coming: list[tuple[int, Callable[[], None]]] = []
        self._seen_at: dict[Owned, int] = {}

    def catch_up(self) -> None:
        """Make the entries visible that have reached the index by now."""
        come = [one for one in self._coming if one[0] <= self._clock.now()]
        self._coming = [one for one in self._coming if one not in come]
        for _, arrive in come:
            arrive()

    def index(self, key: Owned, due_at: int | None, shard: int, now: int) -> None:
        seen_at = self._clock.now() + self._random.choice((0, 0, SECOND_MS, 10 * MINUTE_MS))
        self._seen_at[key] = max(seen_at, self._seen_at.get(key, 0))
        index = super().index
        self._coming.append((self._seen_at[key], lambda: index(key, due_at, shard, now)))


class SlowIndex(MemoryDueIndex):
    _memory: SlowMemory

    def query(self, queries: Sequence[DueQuery]) -> list[DuePage]:
        self._memory.catch_up()
        return super().query(queries)


class Days:
    """Some days of one shard, drawn from a seed."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)  # noqa: S311 - a story must be replayable
        self.clock = VirtualClock(TODAY + self.random.randrange(DAY_MS))
        self.memory = SlowMemory(self.clock, self.random)
        self.memory.tenants = frozenset({"odd", "ill"})
        self.store = MemoryStore(self.memory, jobs=OddJobs, due=SlowIndex)
        self.play = Play(self.store)
        self.play.clock = self.clock
        self.play.queue._now = self.clock.now
        self.jobs: list[Job] = []
        self.tenants = ("acme", "ill", "odd") if self.random.random() < 0.5 else ("acme",)
        self.scanners = [self._new_scanner(), self._new_scanner()]

    def lost(self) -> list[str]:
        """Play the days, and return the jobs that should have run and never did."""
        for _ in range(self.random.randrange(3, 12)):
            for _ in range(self.random.randrange(8)):
                self._submit()
            self._pass_time()
            if self.random.random() < 0.2:
                self.scanners[self.random.randrange(2)] = self._new_scanner()
            if self.random.random() < 0.8:
                self._scan_for(self.random.randrange(30) * 5 * SECOND_MS)
        self.memory.tenants = frozenset({"odd"})
        self.clock.advance(7 * DAY_MS)
        for _ in range(6):  # processed rows stay in the index for ten minutes, and pages are short
            self._scan_for(MINUTE_MS)
            self.clock.advance(10 * MINUTE_MS)
        return [job.key.job_id for job in self.jobs if job.key.tenant != "odd" and not self.play.runs(job.key)]

    def _submit(self) -> None:
        """Store a job by a writer that may be slow. Some jobs cannot be read for now, a few never."""
        now = self.clock.now()
        due_at = now + self.random.choice((-2 * DAY_MS, 0, 0, 5 * SECOND_MS, 5 * MINUTE_MS, 6 * HOUR_MS, 2 * DAY_MS))
        key = JobKey(self.random.choice(self.tenants), f"job-{len(self.jobs)}")
        wrote_at = now - self.random.choice((0, 2 * SECOND_MS, 14 * MINUTE_MS))
        job = new_job(replace(spec("job", At(due_at)), key=key), wrote_at, Shards(1))
        self.store.jobs.insert([job], wrote_at)
        self.jobs.append(job)

    def _pass_time(self) -> None:
        """Let some time pass, often until about midnight."""
        midnight = day_of(self.clock.now()) + DAY_MS
        near = (-5 * SECOND_MS, SECOND_MS, 3 * MINUTE_MS, 3 * MINUTE_MS, HOUR_MS + 5 * SECOND_MS)
        passing = (MINUTE_MS, 20 * MINUTE_MS, 5 * HOUR_MS, 2 * DAY_MS, 5 * DAY_MS)
        to_midnight = midnight - self.clock.now() + self.random.choice(near)
        self.clock.advance(max(self.random.choice((to_midnight, self.random.choice(passing))), SECOND_MS))

    def _scan_for(self, for_ms: int) -> None:
        """Scan every five seconds, with one of the scanners at a time."""
        until = self.clock.now() + for_ms
        while self.clock.now() < until:
            context, sweeps = self.random.choice(self.scanners)
            with suppress(ValueError):
                scan(context, 0, Owner("2026", "a"), sweeps)
            self.clock.advance(5 * SECOND_MS)

    def _new_scanner(self) -> tuple[Context, Sweeps]:
        clock = SkewedClock(self.clock, self.random.randrange(-3_000, 3_001))
        return Context(self.store, self.play.queue, clock, self.play.rules, self.play.telemetry), Sweeps()


@pytest.fixture(autouse=True)
def _pages_are_short(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    if "seed" in request.fixturenames or "fault" in request.fixturenames:
        monkeypatch.setattr(buckets, "PAGE", 2)
        caplog.set_level(logging.CRITICAL)  # each scan logs unreadable rows


@pytest.mark.parametrize("seed", range(60))
def test_every_written_row_is_reached_whatever_the_days_bring(seed: int) -> None:
    assert Days(seed).lost() == []


def _empty_or_not(sweeps: Sweeps, asked: Sequence[tuple[DueQuery, DuePage]], now: int) -> dict[int, int]:
    return note_pages(sweeps, [(query, EMPTY) for query, _ in asked], now)


def _always_from_the_oldest(sweeps: Sweeps, shard: int, now: int, *through_at: Any) -> list[DueQuery]:
    sweeps.older[shard].next_at = sweeps.older[shard].oldest_at
    return to_ask(sweeps, shard, now, *through_at)


def _open_days_alone(sweeps: Sweeps, shard: int, now: int, *through_at: Any) -> list[DueQuery]:
    asked = to_ask(sweeps, shard, now, *through_at)
    return [query for query in asked if query.day_at >= day_of(now - 2 * MINUTE_MS)]


def _over_gaps(sweeps: Sweeps, asked: Sequence[tuple[DueQuery, DuePage]], now: int) -> dict[int, int]:
    """Move over each day that is drained, even if the one before it is not."""
    moved = note_pages(sweeps, asked, now)
    for query, page in asked:
        if not page.candidates and now >= query.day_at + DAY_MS + HOUR_MS:
            sweeps.older[query.shard].oldest_at = moved[query.shard] = query.day_at + DAY_MS
    return moved


_PUT = Buckets.put


def _by_the_due_time_alone(index: Buckets, key: Owned, due_at: int | None, shard: int, _: int) -> None:
    _PUT(index, key, due_at, shard, 0)


# Columns: the module and the name that are patched, and the replacement.
FAULTS: dict[str, tuple[Any, str, Any]] = {
    "the oldest day moves over one that is not empty": (buckets, "note_pages", _empty_or_not),
    "the oldest day moves over one that is not empty, to one that is": (buckets, "note_pages", _over_gaps),
    "a day is drained as soon as it is over": (buckets, "_DRAINED_AFTER_MS", 0),
    "a pass begins anew in each scan": (buckets, "to_ask", _always_from_the_oldest),
    "older days are not asked": (buckets, "to_ask", _open_days_alone),
    "a shard of which no day is stored is asked from today on": (buckets, "_UNKNOWN_DAYS", 0),
    "an entry stands on its due day, however late it is written": (Buckets, "put", _by_the_due_time_alone),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_broken_rule_loses_something(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*FAULTS[fault])
    assert any(Days(seed).lost() for seed in range(60))
