"""Runs are counted in memory, and added to the stored counts now and then: seldom, all together, and never twice."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pytest

from tests.engine.play import NOW, Play, spec
from timeball.domain.model.jobs.job import Priority
from timeball.domain.time.instants import HOUR_MS, SECOND_MS
from timeball.domain.time.schedule import At
from timeball.domain.usage.hours import SHORT_MS, Counts, HourKey, hour_of
from timeball.engine.metrics import Metric
from timeball.engine.stats import read_windows
from timeball.engine.tally import FLUSH_MS, Tally, flush_on
from timeball.ports.errors import UnavailableError
from timeball.ports.telemetry import Measurement
from timeball.testing.at_work import inline
from timeball.testing.memory_kept import MemoryUsage
from timeball.testing.memory_rows import Memory

STARTED = Measurement(Metric.RUNS_STARTED, "acme", "normal")


class CountedUsage(MemoryUsage):
    """Stored counts that note how many updates each addition takes. While `broken`, additions are lost."""

    def __init__(self) -> None:
        super().__init__(Memory())
        self.updates: list[int] = []
        self.broken: Exception | None = None

    def add(self, sums: Sequence[tuple[HourKey, Counts]], now: int) -> list[bool]:
        self.updates.append(len(sums))
        if isinstance(self.broken, UnavailableError):
            return [False] * len(sums)
        if self.broken is not None:
            raise self.broken
        return super().add(sums, now)

    def total(self) -> Counter[str]:
        return sum(self.values(), Counter())


@pytest.fixture
def play() -> Play:
    return Play()


@pytest.fixture
def tally(play: Play) -> Tally:
    return play.tally


@pytest.fixture
def usage() -> CountedUsage:
    return CountedUsage()


def test_all_runs_of_a_process_within_the_interval_cost_one_update(
    play: Play, tally: Tally, usage: CountedUsage
) -> None:
    runs = 25
    play.store_jobs([spec(f"job-{n}", At(NOW + n // 10 * SECOND_MS)) for n in range(runs)])
    for _ in range(4):
        play.scan_all()
        while play.execute_next():
            tally.flush(usage)
        play.clock.advance(SECOND_MS)
    assert usage.updates == [1]  # the first batch is added at once
    play.clock.advance(FLUSH_MS)
    tally.flush(usage)
    assert usage.updates == [1, 1]
    assert usage.total()[Metric.RUNS_SUCCEEDED] == usage.total()[Metric.RUNS_STARTED] == runs
    assert play.telemetry.totals[Metric.RUNS_STARTED] == len(play.telemetry.timings[Metric.LATENESS]) == runs


def test_a_process_without_runs_adds_nothing(tally: Tally, usage: CountedUsage) -> None:
    tally.flush(usage)
    tally.note([])
    tally.flush(usage)
    assert usage.updates == []


def test_each_tenant_priority_and_hour_has_its_own_update(play: Play, tally: Tally, usage: CountedUsage) -> None:
    tally.note([STARTED, replace(STARTED, subject="high"), replace(STARTED, tenant="other"), STARTED])
    play.clock.advance(HOUR_MS)
    tally.note([STARTED])
    tally.flush(usage)
    assert usage.updates == [4]
    minutes = f"{NOW % HOUR_MS // SHORT_MS * 5:02}b"
    assert usage[HourKey("acme", hour_of(NOW), "normal")] == {"RunsStarted": 2, minutes: 2}
    assert usage[HourKey("acme", hour_of(NOW) + HOUR_MS, "normal")] == {"RunsStarted": 1, minutes: 1}


@pytest.mark.parametrize("broken", [UnavailableError("no answer"), ValueError("a wrong request")])
def test_counts_that_could_not_be_added_are_lost_and_neither_repeated_nor_raised(
    play: Play, tally: Tally, usage: CountedUsage, broken: Exception
) -> None:
    usage.broken = broken
    tally.note([STARTED])
    tally.flush(usage)
    usage.broken = None
    play.clock.advance(FLUSH_MS)
    tally.flush(usage)
    tally.note([STARTED])
    tally.flush(usage)
    assert usage.updates == [1, 1]
    assert usage.total()["RunsStarted"] == 1


def test_windows_show_the_outcomes_of_runs_by_priority(play: Play) -> None:
    now = play.clock.now()
    hours = [
        (0, "normal", {"RunsStarted": 9, "RunsSucceeded": 6, "DeadLetters.host_down": 2, "Lateness.10": 9}),
        (2, "high", {"RunsStarted": 1, "RunsSucceeded": 1, "RunsRetried.failed": 3, "Lateness.30000": 1}),
        (30, "normal", {"RunsStarted": 1, "FiresSkipped.overlap": 5, "FiresSkipped.misfired": 2, "Lateness.12": 1}),
        (31 * 24, "normal", {"RunsStarted": 1_000}),
        (0, "callers", {"AuthenticationsFailed.expired": 1_000}),
    ]
    for ago, subject, counts in hours:
        play.store.usage.add([(HourKey("acme", hour_of(now - ago * HOUR_MS), subject), counts)], now)
    hour, day, month = read_windows(play.context(), "acme", now, ("hour", "day", "month"))
    assert [window.name for window in (hour, day, month)] == ["hour", "day", "month"]
    assert [window.total.started for window in (hour, day, month)] == [9, 10, 11]
    assert hour.from_at == hour_of(now) - HOUR_MS
    assert hour.total.failure_rate == 0.25
    assert hour.by_priority[Priority.HIGH].percentile_ms(0.5) is None
    assert day.by_priority[Priority.HIGH].percentile_ms(0.5) == 30_000
    assert (day.total.retried, day.total.percentile_ms(0.5), day.total.percentile_ms(0.99)) == (3, 10, 30_000)
    assert day.total.on_time() == {1: 0.9, 5: 0.9, 30: 1.0}
    assert (month.total.skipped, month.by_priority[Priority.LOW].started) == (7, 0)
    assert all(window.total.started == 0 for window in read_windows(play.context(), "other", now))


def test_a_long_invocation_adds_its_counts_repeatedly() -> None:
    play, kept_at = Play(), list[int]()

    async def invocation() -> None:
        counting = asyncio.create_task(flush_on(play.clock, lambda: kept_at.append(play.clock.now() - NOW), inline))
        await play.clock.sleep_until(NOW + 100_000)
        counting.cancel()

    play.clock.run(invocation())
    assert kept_at == [FLUSH_MS, 2 * FLUSH_MS, 3 * FLUSH_MS]
