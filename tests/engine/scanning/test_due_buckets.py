"""Due buckets: which days a scan asks, when a day is drained, and that nothing which was ever written is out of reach.

The rules are tables. That they suffice is a story of days, drawn from a seed: outages, an index that lags, writers that
take their time, two scans whose clocks differ, rows that cannot be read. Each rule is broken on purpose, and found.
"""

import logging
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import pytest

import timeball.engine.scanning.scan as scanning
from tests.engine.play import NOW, Play, spec
from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.model.job import Job
from timeball.domain.model.new_job import new_job
from timeball.domain.time.instants import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS
from timeball.domain.time.schedule import At
from timeball.engine.context import Context, Rules
from timeball.engine.scanning import buckets
from timeball.engine.scanning.buckets import PAGE, Older, Sweeps, begin, day_of, note_pages, to_ask
from timeball.engine.scanning.scan import scan
from timeball.ports.registers.due_index import DuePage, DueQuery, Owned
from timeball.ports.registers.partitions import Owner
from timeball.testing.memory_collections import MemoryJobs
from timeball.testing.memory_index import Buckets
from timeball.testing.memory_kept import MemoryDueIndex
from timeball.testing.memory_rows import Memory
from timeball.testing.memory_store import MemoryStore
from timeball.testing.virtual_clock import VirtualClock

TODAY = day_of(NOW)
KEY = RunId(JobKey("acme", "job"), NOW, Origin.SCHEDULE)
EMPTY, HELD = DuePage(()), DuePage((KEY,))


def _days(queries: Iterable[DueQuery]) -> list[int]:
    return [(query.day_at - TODAY) // DAY_MS for query in queries]


def _answer(sweeps: Sweeps, queries: Sequence[DueQuery], now: int, held: Sequence[int] = ()) -> dict[int, int]:
    """Note pages that are empty, but for the days that hold something."""
    pages = [HELD if (query.day_at - TODAY) // DAY_MS in held else EMPTY for query in queries]
    return note_pages(sweeps, zip(queries, pages, strict=True), now)


# Of each: ms from midnight, and the days that are asked in each scan (from that of two minutes ago to the horizon's).
OPEN_DAYS = {
    "in the middle of a day": (12 * HOUR_MS, [0]),
    "a minute into a day": (MINUTE_MS, [-1, 0]),
    "two minutes into a day": (2 * MINUTE_MS, [0]),
    "the horizon is in the next day": (DAY_MS - 4 * SECOND_MS, [0, 1]),
}


@pytest.mark.parametrize("case", OPEN_DAYS)
def test_the_open_days_are_asked_in_each_scan(case: str) -> None:
    past_ms, days = OPEN_DAYS[case]
    now, sweeps = TODAY + past_ms, Sweeps()
    begin(sweeps, 0, day_of(now - 2 * MINUTE_MS), now)
    assert _days(to_ask(sweeps, 0, now, now + 5_000, now + 5_000)) == days


# Of each: the stored oldest day (None: there is none), ms from midnight, and the days of the first scans of a process.
FIRST_SCANS: dict[str, tuple[int | None, int, list[list[int]]]] = {
    "all older days are drained": (0, 12 * HOUR_MS, [[0], [0]]),
    "yesterday is not yet drained": (-1, 30 * MINUTE_MS, [[0, -1], [0]]),
    "a week ago": (-7, 12 * HOUR_MS, [[0, -7, -6, -5], [0, -4, -3, -2], [0, -1], [0]]),
    "around midnight": (-4, MINUTE_MS, [[-1, 0, -4, -3], [-1, 0, -2], [-1, 0]]),
    "none is stored": (
        None,
        12 * HOUR_MS,
        [*([0, day, day + 1, day + 2] for day in range(-31, -3, 3)), [0, -1], [0]],
    ),
}


@pytest.mark.parametrize("case", FIRST_SCANS)
def test_a_pass_asks_the_older_days_from_the_oldest_on_and_no_more_than_four_days_in_a_scan(case: str) -> None:
    oldest, past_ms, scans = FIRST_SCANS[case]
    now, sweeps = TODAY + past_ms, Sweeps()
    begin(sweeps, 0, None if oldest is None else TODAY + oldest * DAY_MS, now)
    for days in scans:
        queries = to_ask(sweeps, 0, now, now + 5_000, now + 5_000)
        assert _days(queries) == days
        _answer(sweeps, queries, now)


def test_a_pass_that_was_not_answered_goes_on_where_it_was() -> None:
    sweeps = Sweeps()
    begin(sweeps, 0, TODAY - 7 * DAY_MS, NOW)
    assert to_ask(sweeps, 0, NOW, NOW, NOW) == to_ask(sweeps, 0, NOW + SECOND_MS, NOW, NOW)


def test_a_pass_follows_a_minute_later_or_at_once_if_one_found_what_may_be_worked_on() -> None:
    sweeps = Sweeps({0: Older(TODAY - DAY_MS, TODAY - DAY_MS, NOW)})

    def asked(now: int, held: Sequence[int] = ()) -> list[int]:
        queries = to_ask(sweeps, 0, now, now, now)
        _answer(sweeps, queries, now, held)
        return _days(queries)

    assert asked(NOW, held=[-1]) == [0, -1]
    assert asked(NOW, held=[-1]) == [0, -1]
    sweeps.failed[0, TODAY - DAY_MS] = frozenset({KEY})
    assert asked(NOW, held=[-1]) == [0, -1]
    assert asked(NOW + MINUTE_MS - 1) == [0]
    assert asked(NOW + MINUTE_MS) == [0, -1]


# Of each: minutes into today, which of the days since the oldest (three days ago) hold something, and the new oldest.
DRAINED: dict[str, tuple[int, list[int], int | None]] = {
    "all are empty": (60, [], 0),
    "yesterday is over for less than an hour": (59, [], -1),
    "something stands in the oldest": (600, [-3], None),
    "something stands in the next": (600, [-2], -2),
    "something stands in the first and the last": (600, [-3, -1], None),
}


@pytest.mark.parametrize("case", DRAINED)
def test_the_oldest_day_moves_over_days_that_are_empty_and_long_over_and_over_nothing_else(case: str) -> None:
    minutes, held, moved = DRAINED[case]
    now, sweeps = TODAY + minutes * MINUTE_MS, Sweeps()
    begin(sweeps, 0, TODAY - 3 * DAY_MS, now)
    to = _answer(sweeps, to_ask(sweeps, 0, now, now, now), now, held)
    assert to == ({} if moved is None else {0: TODAY + moved * DAY_MS})


class CountingIndex(MemoryDueIndex):
    """A due index that counts what it is asked."""

    asked = 0

    def query(self, queries: Sequence[DueQuery]) -> list[DuePage]:
        self.asked += len(queries)
        return super().query(queries)


@pytest.mark.parametrize("at", [NOW, TODAY + MINUTE_MS, TODAY - 2 * SECOND_MS])
@pytest.mark.parametrize("is_stored", [True, False])
def test_a_process_asks_four_shards_at_most_sixteen_times_in_its_first_scan(at: int, *, is_stored: bool) -> None:
    play = Play(store := MemoryStore(due=CountingIndex), at, Rules(shards=4))
    index = store.due
    assert isinstance(index, CountingIndex)
    for shard in range(4 if is_stored else 0):
        index.move_oldest_day(shard, TODAY - 9 * DAY_MS)
    scan(play.context(), 0, Owner("2026", "a"), sweeps := Sweeps())
    assert index.asked == 16
    for _ in range(70):
        play.clock.advance(SECOND_MS)
        scan(play.context(), 0, Owner("2026", "a"), sweeps)
    index.asked = 0
    scan(play.context(), 0, Owner("2026", "a"), sweeps)
    assert index.asked <= 8


def test_a_bucket_that_holds_more_than_a_page_is_worked_off_from_its_beginning() -> None:
    play = Play()
    jobs = play.store_jobs(spec(f"job-{number}", At(NOW + number)) for number in range(4 * PAGE))
    assert play.scan().sent == PAGE
    assert {run.id.job for run in play.queue.sent} == {job.key for job in jobs[:PAGE]}
    play.scan_all()
    assert {run.id.job for run in play.queue.sent} == {job.key for job in jobs}


class Odd(Memory):
    """The memory of a store in which nobody can make sense of some tenants' jobs."""

    tenants: frozenset[str] = frozenset()


class OddJobs(MemoryJobs):
    _memory: Odd

    def read(self, keys: Sequence[JobKey], *, strong: bool = True, with_work: bool = False) -> list[Job | None]:
        if any(key.tenant in self._memory.tenants for key in keys):
            raise ValueError("no status of a job is called so")
        return super().read(keys, strong=strong, with_work=with_work)


@pytest.mark.parametrize("days", [7, 31, 365])
def test_a_row_that_nobody_can_read_holds_back_nothing_of_the_days_behind_its_own(days: int) -> None:
    odd = Odd()
    play = Play(store := MemoryStore(odd, jobs=OddJobs))
    odd.tenants = frozenset({"odd"})
    store.due.move_oldest_day(0, TODAY)
    play.store_jobs([replace(spec("unreadable", At(NOW)), key=JobKey("odd", "job"))])
    later = play.store_jobs(spec(f"day-{day}", At(NOW + day * DAY_MS)) for day in range(days))
    play.clock.advance(days * DAY_MS)
    sweeps = Sweeps()
    for _ in range(days // 3 + 2):
        with suppress(ValueError):  # a scan that does nothing says so
            scan(play.context(), 0, Owner("2026", "a"), sweeps)
        play.clock.advance(SECOND_MS)
    assert all(play.runs(job.key) for job in later)
    assert store.due.read_oldest_days([0]) == {0: TODAY}


@pytest.mark.parametrize("days", [1, 7, 31])
@pytest.mark.parametrize("is_stored", [True, False])
def test_what_was_due_while_nobody_scanned_is_caught_up(days: int, *, is_stored: bool) -> None:
    play = Play()
    if is_stored:
        play.store.due.move_oldest_day(0, TODAY)
    jobs = play.store_jobs(spec(f"day-{day}", At(NOW + day * DAY_MS)) for day in range(days))
    play.clock.advance(days * DAY_MS)
    sweeps = Sweeps()
    for _ in range(12):
        scan(play.context(), 0, Owner("2026", "a"), sweeps)
        play.clock.advance(SECOND_MS)
    assert all(play.runs(job.key) for job in jobs)


class SlowMemory(Odd):
    """A memory whose due index follows its rows by up to ten minutes, key by key in order."""

    def __init__(self, clock: VirtualClock, random: Random) -> None:
        super().__init__()
        self._clock, self._random = clock, random
        self._coming: list[tuple[int, Callable[[], None]]] = []
        self._seen_at: dict[Owned, int] = {}

    def catch_up(self) -> None:
        """Let the index show what has reached it by now."""
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


@dataclass
class SkewedClock:
    """The clock of a process that is off by some seconds."""

    clock: VirtualClock
    skew_ms: int

    def now(self) -> int:
        return self.clock.now() + self.skew_ms

    async def sleep_until(self, at: int) -> None:
        await self.clock.sleep_until(at - self.skew_ms)


class Days:
    """Some days of one shard, as a seed tells them."""

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
        """Tell the story; return the jobs that should have run, and whose turn never came."""
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
        for _ in range(6):  # what was worked on stands there for ten minutes, and its page is short
            self._scan_for(MINUTE_MS)
            self.clock.advance(10 * MINUTE_MS)
        return [job.key.job_id for job in self.jobs if job.key.tenant != "odd" and not self.play.runs(job.key)]

    def _submit(self) -> None:
        """Store a job by a writer that may be slow; some cannot be read for now, a few never."""
        now = self.clock.now()
        due_at = now + self.random.choice((-2 * DAY_MS, 0, 0, 5 * SECOND_MS, 5 * MINUTE_MS, 6 * HOUR_MS, 2 * DAY_MS))
        key = JobKey(self.random.choice(self.tenants), f"job-{len(self.jobs)}")
        wrote_at = now - self.random.choice((0, 2 * SECOND_MS, 14 * MINUTE_MS))
        job = new_job(replace(spec("job", At(due_at)), key=key), wrote_at, 1)
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
        """Scan each five seconds, now the one and now the other."""
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
        caplog.set_level(logging.CRITICAL)  # what cannot be read is told in each scan


@pytest.mark.parametrize("seed", range(60))
def test_nothing_that_is_written_is_out_of_reach_whatever_the_days_bring(seed: int) -> None:
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
    """Move over each day that is drained, also if the one before it is not."""
    moved = note_pages(sweeps, asked, now)
    for query, page in asked:
        if not page.candidates and now >= query.day_at + DAY_MS + HOUR_MS:
            sweeps.older[query.shard].oldest_at = moved[query.shard] = query.day_at + DAY_MS
    return moved


_PUT = Buckets.put


def _by_the_due_time_alone(index: Buckets, key: Owned, due_at: int | None, shard: int, _: int) -> None:
    _PUT(index, key, due_at, shard, 0)


# Of each: what is patched, and by what.
FAULTS: dict[str, tuple[Any, str, Any]] = {
    "the oldest day moves over one that is not empty": (scanning, "note_pages", _empty_or_not),
    "the oldest day moves over one that is not empty, to one that is": (scanning, "note_pages", _over_gaps),
    "a day is drained as soon as it is over": (buckets, "_DRAINED_AFTER_MS", 0),
    "a pass begins anew in each scan": (scanning, "to_ask", _always_from_the_oldest),
    "older days are not asked": (scanning, "to_ask", _open_days_alone),
    "a shard of which no day is stored is asked from today on": (buckets, "_UNKNOWN_DAYS", 0),
    "an entry stands on its due day, however late it is written": (Buckets, "put", _by_the_due_time_alone),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_broken_rule_loses_something(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*FAULTS[fault])
    assert any(Days(seed).lost() for seed in range(60))
